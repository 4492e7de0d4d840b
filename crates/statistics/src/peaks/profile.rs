//! How well excesses determine a level far above them: the profile of the likelihood.

use super::pareto::{FINEST, Pareto, growth, highest};
use crate::Interval;

/// The 95 % point of chi-square with one degree of freedom, halved: by so much the logarithm of the likelihood may fall.
const DROP: f64 = 3.841_458_820_694_124 / 2.0;

/// Shapes that are considered.
const SHAPES: (f64, f64) = (-0.9, 3.0);

/// A limit is looked for up to so many times the estimate.
const FARTHEST: f64 = 1e4;

/// Steps between them in the first, coarse search.
const COARSE: usize = 78;

/// A likelihood that is larger than another by more than this is larger, whatever rounding does.
const ROUNDING: f64 = 1e-6;

/// The distributions in which one in `among` excesses lies above some level, by their shape.
struct Profile<'e> {
    excesses: &'e [f64],
    largest: f64,
    among: f64,
    /// The best of the coarse shapes for the last level, where the search for the next one begins.
    best: usize,
}

impl<'e> Profile<'e> {
    fn new(excesses: &'e [f64], fit: Pareto, among: f64) -> Self {
        let largest = excesses.iter().copied().fold(0.0, f64::max);
        let best = ((fit.shape - SHAPES.0) / Self::step()).round().clamp(0.0, COARSE as f64) as usize;
        Self { excesses, largest, among, best }
    }

    fn step() -> f64 {
        (SHAPES.1 - SHAPES.0) / COARSE as f64
    }

    /// The likelihood along shapes, of distributions with that level; minus infinity where an excess is impossible.
    fn height(&self, level: f64, shape: f64) -> f64 {
        let of = Pareto { shape, scale: level / growth(shape, self.among) };
        if 1.0 + shape * (self.largest / of.scale) <= 0.0 {
            return f64::NEG_INFINITY;
        }
        of.log_likelihood(self.excesses)
    }

    /// The best of the coarse shapes, and its likelihood. The likelihood along shapes has one top: it is climbed.
    fn climb(&mut self, level: f64) -> (f64, f64) {
        let shape = |at: usize| SHAPES.0 + at as f64 * Self::step();
        let mut at = self.best;
        let mut top = self.height(level, shape(at));
        // Where excesses are impossible it is flat; heavier tails allow all of them.
        while top == f64::NEG_INFINITY && at < COARSE {
            at += 1;
            top = self.height(level, shape(at));
        }
        // Of equal ones the last, as a look at all of them would have it.
        while at < COARSE {
            let next = self.height(level, shape(at + 1));
            if next < top {
                break;
            }
            (at, top) = (at + 1, next);
        }
        while at > 0 {
            let next = self.height(level, shape(at - 1));
            if next <= top {
                break;
            }
            (at, top) = (at - 1, next);
        }
        self.best = at;
        (shape(at), top)
    }

    /// Whether one of the distributions with that level is as likely as this.
    fn reaches(&mut self, level: f64, least: f64) -> bool {
        let (best, coarse) = self.climb(level);
        if coarse >= least + ROUNDING * least.abs().max(1.0) {
            return true;
        }
        let height = |shape: f64| self.height(level, shape);
        height(highest(best - Self::step(), best + Self::step(), FINEST, height)) >= least
    }
}

/// The 95 % interval for the level that one in `among` excesses lies above (Coles 2001, section 4.3.3); `fit` is the most
/// likely distribution. The upper limit is infinite if the excesses set none.
pub fn interval(excesses: &[f64], fit: Pareto, among: f64) -> Interval {
    let estimate = fit.exceeded_by_one_in(among);
    let least = fit.log_likelihood(excesses) - DROP;
    let limit = |factor: f64| {
        let mut profile = Profile::new(excesses, fit, among);
        let mut level = estimate;
        while profile.reaches(level, least) {
            level *= factor;
            if !(1.0 / FARTHEST..FARTHEST).contains(&(level / estimate)) {
                return None;
            }
        }
        let (mut inside, mut outside) = (level / factor, level);
        for _ in 0..50 {
            let middle = (inside * outside).sqrt();
            if profile.reaches(middle, least) { inside = middle } else { outside = middle }
        }
        Some((inside * outside).sqrt())
    };
    Interval { lower: limit(0.8).unwrap_or(0.0), upper: limit(1.25).unwrap_or(f64::INFINITY) }
}
