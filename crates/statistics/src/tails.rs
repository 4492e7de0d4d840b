//! Tail probabilities of the Poisson and the binomial distribution, for any count that a run can produce.
//!
//! Where it converges, `statrs` computes the exact tail (an incomplete gamma or beta function). Its continued fraction
//! for beta stops after 140 steps and cancels for huge arguments, so that large counts go another way; each switch is
//! made where both sides agree to at least three digits, which the tests check against an independent program.

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::{gamma_lr, gamma_ur};

/// Counts up to here take the exact incomplete gamma function; above, Wilson and Hilferty's cube root is good to 1e-6.
const LARGEST_EXACT_POISSON: u64 = 100_000;
/// If either outcome was seen fewer times than this, in at most [`MANY_TRIALS`], the incomplete beta function converges.
const FEW: u64 = 200;
/// Beyond this many trials, with fewer than [`FEW`] events, the limits by binomial and by Poisson agree to 2e-5.
const MANY_TRIALS: u64 = 1_000_000;

/// P(X <= `x`) of the standard normal distribution.
pub(super) fn normal_below(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

/// P(X <= `events`) if X is Poisson with mean `mean` (0 or more).
pub(super) fn poisson_at_most(events: u64, mean: f64) -> f64 {
    if mean <= 0.0 {
        return 1.0;
    }
    if mean.is_infinite() {
        return 0.0;
    }
    if events < LARGEST_EXACT_POISSON {
        return gamma_ur(events as f64 + 1.0, mean);
    }
    1.0 - wilson_hilferty(events as f64 + 1.0, mean)
}

/// P(X >= `events`) if X is Poisson with mean `mean` (0 or more).
pub(super) fn poisson_at_least(events: u64, mean: f64) -> f64 {
    if events == 0 {
        return 1.0;
    }
    if mean <= 0.0 {
        return 0.0;
    }
    if mean.is_infinite() {
        return 1.0;
    }
    if events <= LARGEST_EXACT_POISSON {
        return gamma_lr(events as f64, mean);
    }
    wilson_hilferty(events as f64, mean)
}

/// P(X <= `events`) if X is binomial with `trials` trials of probability `p`.
pub(super) fn binomial_at_most(events: u64, trials: u64, p: f64) -> f64 {
    1.0 - binomial_at_least(events.saturating_add(1), trials, p)
}

/// P(X >= `events`) if X is binomial with `trials` trials of probability `p`.
pub(super) fn binomial_at_least(events: u64, trials: u64, p: f64) -> f64 {
    if events == 0 {
        return 1.0;
    }
    if events > trials || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    // P(X >= k) = I_p(k, n - k + 1), Abramowitz & Stegun 26.5.24.
    let (a, b) = (events as f64, (trials - events) as f64 + 1.0);
    let rarer = events.min(trials - events);
    if rarer >= FEW {
        return beta_by_cube_roots(a, b, p);
    }
    if trials <= MANY_TRIALS {
        return beta_reg(a, b, p);
    }
    if events == rarer {
        poisson_at_least(events, trials as f64 * p)
    } else {
        poisson_at_most(trials - events, trials as f64 * (1.0 - p))
    }
}

/// The lower regularised gamma function P(a, x) for large `a`: the cube root of a chi-square variable is nearly normal
/// (Wilson & Hilferty 1931; Abramowitz & Stegun 26.4.14).
fn wilson_hilferty(a: f64, x: f64) -> f64 {
    let ninth = 1.0 / (9.0 * a);
    normal_below(((x / a).cbrt() - (1.0 - ninth)) / ninth.sqrt())
}

/// The regularised beta function I_x(a, b) for large `a` and `b` (Abramowitz & Stegun 26.5.22).
fn beta_by_cube_roots(a: f64, b: f64, x: f64) -> f64 {
    let (u, v) = ((b * x).cbrt(), (a * (1.0 - x)).cbrt());
    let distance = u * (1.0 - 1.0 / (9.0 * b)) - v * (1.0 - 1.0 / (9.0 * a));
    normal_below(3.0 * distance / (u * u / b + v * v / a).sqrt())
}

/// Where an increasing function of [`low`, `high`] crosses `wanted`, by bisection to the last bit.
pub(super) fn crossing(low: f64, high: f64, wanted: f64, increasing: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (low, high);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if increasing(middle) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
}
