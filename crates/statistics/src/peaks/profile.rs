//! How well excesses determine a level far above them: the profile of the likelihood.

use super::pareto::{Pareto, growth, highest};
use crate::Interval;

/// The 95 % point of chi-square with one degree of freedom, halved: by so much the logarithm of the likelihood may fall.
const DROP: f64 = 3.841_458_820_694_124 / 2.0;

/// Shapes that are considered.
const SHAPES: (f64, f64) = (-0.9, 3.0);

/// A limit is looked for up to so many times the estimate.
const FARTHEST: f64 = 1e4;

/// The highest likelihood that a distribution can have in which one in `among` excesses lies above `level`.
fn profile(excesses: &[f64], among: f64, level: f64) -> f64 {
    let height = |shape: f64| Pareto { shape, scale: level / growth(shape, among) }.log_likelihood(excesses);
    // The likelihood along shapes has one top, but it is minus infinity where an excess becomes impossible.
    let step = (SHAPES.1 - SHAPES.0) / 78.0;
    let shapes = (0..=78).map(|at| SHAPES.0 + f64::from(at) * step);
    let best = shapes.max_by(|a, b| height(*a).total_cmp(&height(*b))).unwrap_or_default();
    height(highest(best - step, best + step, height))
}

/// The 95 % interval for the level that one in `among` excesses lies above (Coles 2001, section 4.3.3); `fit` is the most
/// likely distribution. The upper limit is infinite if the excesses set none.
pub fn interval(excesses: &[f64], fit: Pareto, among: f64) -> Interval {
    let estimate = fit.exceeded_by_one_in(among);
    let least = fit.log_likelihood(excesses) - DROP;
    let holds = |level: f64| profile(excesses, among, level) >= least;
    let crossing = |mut inside: f64, mut outside: f64| {
        for _ in 0..50 {
            let middle = (inside * outside).sqrt();
            if holds(middle) { inside = middle } else { outside = middle }
        }
        (inside * outside).sqrt()
    };
    let outside = |factor: f64| {
        let mut level = estimate;
        while holds(level) {
            level *= factor;
            if !(1.0 / FARTHEST..FARTHEST).contains(&(level / estimate)) {
                return None;
            }
        }
        Some(level)
    };
    Interval {
        lower: outside(0.8).map_or(0.0, |level| crossing(level / 0.8, level)),
        upper: outside(1.25).map_or(f64::INFINITY, |level| crossing(level / 1.25, level)),
    }
}
