//! Proportions: the exact interval for the share of samples above a limit.

use super::rate::Interval;
use super::tails::{binomial_at_least, binomial_at_most, crossing};

/// The exact two-sided interval of Clopper & Pearson (Biometrika 26, 1934) for a proportion of which `events` were seen
/// in `trials`, at `confidence` (0.95 for 95 %; between 0 and 1).
///
/// Each limit alone is a one-sided limit at (1 + confidence) / 2: take a confidence of 0.90 for one-sided limits at
/// 95 %. Without trials, or with more events than trials, nothing is known: 0 to 1.
pub fn clopper_pearson(events: u64, trials: u64, confidence: f64) -> Interval {
    if trials == 0 || events > trials {
        return Interval { lower: 0.0, upper: 1.0 };
    }
    let tail = (1.0 - confidence) / 2.0;
    let lower = match events {
        0 => 0.0,
        _ => crossing(0.0, 1.0, tail, |p| binomial_at_least(events, trials, p)),
    };
    let upper = match events {
        _ if events == trials => 1.0,
        // The closed form keeps its digits where the share is tiny.
        0 => -(tail.ln() / trials as f64).exp_m1(),
        _ => crossing(0.0, 1.0, 1.0 - tail, |p| 1.0 - binomial_at_most(events, trials, p)),
    };
    Interval { lower, upper }
}

/// The fewest samples that, if none of them is above a limit, show at `confidence` (one-sided) that the share above is at
/// most `share`: ln(1 - confidence) / ln(1 - share), rounded up. 2995 for 0.001 at 95 %.
pub fn samples_to_exclude(share: f64, confidence: f64) -> u64 {
    // A float that is too large saturates, and no run has that many samples.
    ((-confidence).ln_1p() / (-share).ln_1p()).ceil() as u64
}
