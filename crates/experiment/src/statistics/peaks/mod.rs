//! Peaks over a threshold: what the maxima of the excursions seen say about the maximum of a longer run.
//!
//! A maximum that was seen bounds nothing, and neither does one that is worked out here: it is what a run of some length
//! would show, as long as what makes the highest peaks so far goes on making them. Whether the tail supports that much is
//! asked first, and "it has not settled" is an answer. `docs/statistics.md` gives the method.

mod goodness;
mod pareto;
mod profile;
#[cfg(test)]
mod tests;

pub use pareto::Pareto;

use super::{Counted, Interval, is_overdispersed};

/// Fewer peaks above a threshold show no tail.
pub const LEAST_PEAKS: usize = 50;

/// So many of the highest peaks are looked at, most first: thresholds from low to high.
const HIGHEST: [usize; 9] = [1000, 700, 500, 350, 250, 175, 125, 85, LEAST_PEAKS];

/// A fit is bad if draws from it fit worse with less than this probability.
const BAD_FIT: f64 = 0.05;

/// The maxima of the events of one repeat.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Heights {
    /// Heights, and how many events had each, in any order.
    pub peaks: Vec<(f64, u64)>,
    /// The time in which they were seen, in seconds.
    pub exposure_s: f64,
}

/// What the peaks say about the maximum of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Outlook {
    /// The tail has settled.
    Settled(Box<Forecast>),
    /// It has not, for this reason.
    Unsettled(Unsettled),
}

/// The maximum that runs of some length would show. Heights are in the unit of the peaks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Peaks above it were used.
    pub threshold: f64,
    /// How many.
    pub peaks: usize,
    /// What was fitted to what they exceed the threshold by.
    pub fit: Pareto,
    /// The probability of a fit as bad or worse if it is right.
    pub goodness: f64,
    /// Half of the runs would show less.
    pub median: f64,
    /// The 95 % interval for [`Forecast::median`]; the upper end is infinite where the peaks set none.
    pub interval: Interval,
    /// Between these 95 of 100 runs would lie, if the fit were right.
    pub runs: Interval,
    /// Repeats differ in the rate of such peaks by more than chance: they may have tails of their own.
    pub repeats_differ: bool,
}

/// Why peaks say nothing about a longer run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unsettled {
    /// There are so few.
    Few(usize),
    /// No distribution of this family fits the highest ones, at any threshold.
    Misfit,
    /// What the lower thresholds say disagrees with the higher ones: what the lowest and the highest say of the median of
    /// the maximum, each with its number of peaks.
    Drifts([(usize, f64); 2]),
}

/// The peaks above one threshold, and the tail fitted to them.
struct Candidate {
    threshold: f64,
    /// In rising order.
    excesses: Vec<f64>,
    fit: Pareto,
    /// One in so many excesses is above the median of the maximum.
    among: f64,
    interval: Interval,
}

impl Candidate {
    fn median(&self) -> f64 {
        self.threshold + self.fit.exceeded_by_one_in(self.among)
    }
}

/// What the peaks of all repeats together say about the maximum of a run of `horizon_s` seconds. The lowest threshold is
/// used at which a tail fits and with which every higher one agrees.
pub fn outlook(repeats: &[Heights], horizon_s: f64) -> Outlook {
    let exposure_s: f64 = repeats.iter().map(|repeat| repeat.exposure_s).sum();
    let sorted = highest(repeats);
    if sorted.len() <= LEAST_PEAKS {
        return Outlook::Unsettled(Unsettled::Few(sorted.len()));
    }
    let candidates = candidates(&sorted, horizon_s / exposure_s);
    let mut fits = false;
    for (at, candidate) in candidates.iter().enumerate() {
        let agrees = |higher: &Candidate| {
            let level = candidate.median() - higher.threshold;
            higher.interval.lower <= level && level <= higher.interval.upper
        };
        let higher = &candidates[at + 1..];
        if higher.is_empty() || !higher.iter().all(agrees) {
            continue;
        }
        let goodness = goodness::probability_of_worse(&candidate.excesses, candidate.fit, 1);
        if goodness < BAD_FIT {
            continue;
        }
        fits = true;
        if let Some(forecast) = forecast(candidate, goodness, horizon_s / exposure_s) {
            let repeats_differ = differ(repeats, candidate.threshold);
            return Outlook::Settled(Box::new(Forecast { repeats_differ, ..forecast }));
        }
    }
    let misfit =
        |candidate: &Candidate| goodness::probability_of_worse(&candidate.excesses, candidate.fit, 1) < BAD_FIT;
    let says = |candidate: &Candidate| (candidate.excesses.len(), candidate.median());
    match (candidates.first(), candidates.last()) {
        (Some(low), Some(high)) if fits || !candidates.iter().all(misfit) => {
            Outlook::Unsettled(Unsettled::Drifts([says(low), says(high)]))
        }
        _ => Outlook::Unsettled(Unsettled::Misfit),
    }
}

/// The highest peaks of all repeats, in falling order: as many as are ever looked at, and one to be a threshold.
fn highest(repeats: &[Heights]) -> Vec<f64> {
    let mut all: Vec<(f64, u64)> = repeats.iter().flat_map(|repeat| &repeat.peaks).copied().collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let each = all.into_iter().flat_map(|(height, count)| std::iter::repeat_n(height, count as usize));
    each.take(HIGHEST[0] + 1).collect()
}

/// The thresholds at which a tail could be fitted, from low to high; `runs` is the length of the run that is asked about
/// over the time in which the peaks were seen.
fn candidates(falling: &[f64], runs: f64) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let all = (falling.len() - 1).min(HIGHEST[0]);
    for wanted in std::iter::once(all).chain(HIGHEST.into_iter().filter(|wanted| *wanted < all)) {
        let threshold = falling[wanted];
        let mut excesses: Vec<f64> =
            falling.iter().map(|height| height - threshold).take_while(|excess| *excess > 0.0).collect();
        excesses.reverse();
        let known = candidates.iter().any(|known| known.excesses.len() == excesses.len());
        if known || excesses.len() < LEAST_PEAKS {
            continue;
        }
        let among = excesses.len() as f64 * runs / std::f64::consts::LN_2;
        let Some(fit) = Pareto::fit(&excesses).filter(|_| among > 1.0) else { continue };
        let interval = profile::interval(&excesses, fit, among);
        candidates.push(Candidate { threshold, excesses, fit, among, interval });
    }
    candidates
}

fn forecast(of: &Candidate, goodness: f64, runs: f64) -> Option<Forecast> {
    let peaks = of.excesses.len();
    // P(maximum <= x) = exp(-n P(excess > x)) for n peaks expected.
    let quantile = |share: f64| {
        let among = peaks as f64 * runs / -f64::ln(share);
        (among > 1.0).then(|| of.threshold + of.fit.exceeded_by_one_in(among))
    };
    Some(Forecast {
        threshold: of.threshold,
        peaks,
        fit: of.fit,
        goodness,
        median: of.median(),
        interval: Interval { lower: of.threshold + of.interval.lower, upper: of.threshold + of.interval.upper },
        runs: Interval { lower: quantile(0.025)?, upper: quantile(0.975)? },
        repeats_differ: false,
    })
}

/// Whether repeats differ in how often they have a peak above the threshold.
fn differ(repeats: &[Heights], threshold: f64) -> bool {
    let counts: Vec<Counted> = repeats
        .iter()
        .map(|repeat| Counted {
            events: repeat.peaks.iter().filter(|(height, _)| *height > threshold).map(|(_, count)| count).sum(),
            exposure_s: repeat.exposure_s,
        })
        .collect();
    is_overdispersed(&counts)
}
