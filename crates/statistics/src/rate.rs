//! Rates of rare events: exact intervals, what no event at all shows, and the exact comparison of two rates.

use statrs::function::gamma::gamma_ur;

use super::tails::{binomial_at_least, binomial_at_most, crossing, poisson_at_least, poisson_at_most};

/// Two confidence limits, in the unit of what they enclose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower limit.
    pub lower: f64,
    /// The upper limit; infinite where nothing limits it.
    pub upper: f64,
}

/// How surprising a first arm is beside a second, if nothing differs between them: the two one-sided p-values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tails {
    /// The probability of a first arm as low as the one seen, or lower.
    pub lower: f64,
    /// The probability of a first arm as high as the one seen, or higher.
    pub higher: f64,
}

impl Tails {
    /// Two arms that cannot be distinguished.
    pub const NOTHING: Self = Self { lower: 1.0, higher: 1.0 };

    /// The two-sided p-value: the smaller tail, doubled, at most 1. Swapping the arms does not change it.
    pub fn two_sided(self) -> f64 {
        (2.0 * self.lower.min(self.higher)).min(1.0)
    }

    /// Whether the first arm is the lower one, so far as the two tails say.
    pub fn first_is_lower(self) -> bool {
        self.lower < self.higher
    }

    /// Whether the first arm is the higher one, so far as the two tails say.
    pub fn first_is_higher(self) -> bool {
        self.higher < self.lower
    }
}

/// The exact two-sided interval of Garwood (Biometrika 28, 1936) for the rate of a Poisson process that gave `events`
/// in `exposure_s` seconds, per second, at `confidence` (0.95 for 95 %; between 0 and 1).
///
/// Without exposure, or if the exposure is no number, nothing is known: 0 to infinity.
pub fn garwood(events: u64, exposure_s: f64, confidence: f64) -> Interval {
    if !(exposure_s > 0.0 && exposure_s.is_finite()) {
        return Interval { lower: 0.0, upper: f64::INFINITY };
    }
    let tail = (1.0 - confidence) / 2.0;
    let beyond = 2.0 * events as f64 + 1000.0;
    let lower = if events == 0 { 0.0 } else { crossing(0.0, beyond, tail, |mean| poisson_at_least(events, mean)) };
    let upper = crossing(0.0, beyond, 1.0 - tail, |mean| 1.0 - poisson_at_most(events, mean));
    Interval { lower: lower / exposure_s, upper: upper / exposure_s }
}

/// The rate, per second, that `exposure_s` seconds without a single event exclude at `confidence`, one-sided:
/// -ln(1 - confidence) / exposure, the "rule of three" since -ln 0.05 is 3.00 (Hanley & Lippman-Hand, JAMA 249, 1983).
///
/// Infinite without exposure.
pub fn rate_excluded_by_none(exposure_s: f64, confidence: f64) -> f64 {
    if exposure_s > 0.0 { -(-confidence).ln_1p() / exposure_s } else { f64::INFINITY }
}

/// The interval that is printed for a rate: [`garwood`] if there were events; if there were none, 0 to
/// [`rate_excluded_by_none`], which is one-sided because no lower limit can err.
pub fn rate_interval(events: u64, exposure_s: f64, confidence: f64) -> Interval {
    match events {
        0 => Interval { lower: 0.0, upper: rate_excluded_by_none(exposure_s, confidence) },
        _ => garwood(events, exposure_s, confidence),
    }
}

/// Events and the time, in seconds, in which they were counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counted {
    /// The number of events.
    pub events: u64,
    /// The time in which they were counted, in seconds.
    pub exposure_s: f64,
}

/// The exact conditional comparison of two Poisson rates (Przyborowski & Wilenski, Biometrika 31, 1940): if the rates
/// are equal, the first count is binomial with all events as trials and the share of the exposure as probability.
///
/// [`Tails::NOTHING`] if there was no event or an arm has no exposure.
pub fn compare_rates(first: Counted, second: Counted) -> Tails {
    let Some(events) = first.events.checked_add(second.events).filter(|events| *events > 0) else {
        return Tails::NOTHING;
    };
    let Some(share) = share_of_exposure(first, second) else { return Tails::NOTHING };
    Tails {
        lower: binomial_at_most(first.events, events, share),
        higher: binomial_at_least(first.events, events, share),
    }
}

/// The smallest two-sided p-value that [`compare_rates`] can return for these exposures and this many events in all: what
/// it returns if one arm has every event.
pub fn least_p_of_rates(first: Counted, second: Counted) -> f64 {
    let events = first.events.saturating_add(second.events);
    let all_in_first = compare_rates(Counted { events, ..first }, Counted { events: 0, ..second });
    let all_in_second = compare_rates(Counted { events: 0, ..first }, Counted { events, ..second });
    all_in_first.two_sided().min(all_in_second.two_sided())
}

/// Whether counts differ among each other by more than Poisson counts of one rate do, at 1 %: the index of dispersion,
/// sum of (seen - expected)^2 / expected, against chi-square (Fisher, Thornton & Mackenzie, Annals of Applied Biology 9,
/// 1922). Then an interval from their sum is too narrow.
///
/// False for fewer than two counts and for less than one event expected in each, where chi-square does not hold.
pub fn is_overdispersed(counts: &[Counted]) -> bool {
    let events: f64 = counts.iter().map(|count| count.events as f64).sum();
    let exposure_s: f64 = counts.iter().map(|count| count.exposure_s).sum();
    let expected = |count: &Counted| events * (count.exposure_s / exposure_s);
    if counts.len() < 2 || !counts.iter().all(|count| expected(count) >= 1.0) {
        return false;
    }
    let index: f64 = counts.iter().map(|count| (count.events as f64 - expected(count)).powi(2) / expected(count)).sum();
    let freedom = counts.len() as f64 - 1.0;
    index.is_finite() && index > 0.0 && gamma_ur(freedom / 2.0, index / 2.0) < 0.01
}

fn share_of_exposure(first: Counted, second: Counted) -> Option<f64> {
    let both_ran = first.exposure_s > 0.0 && second.exposure_s > 0.0;
    let together_s = first.exposure_s + second.exposure_s;
    (both_ran && together_s.is_finite()).then_some(first.exposure_s / together_s)
}
