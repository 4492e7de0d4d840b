//! Peaks over a threshold: what the maxima of the excursions seen say about the maximum of a longer run.
//!
//! A maximum that was seen bounds nothing, and neither does one that is worked out here: it is what a run of some length
//! would show, as long as what makes the highest peaks so far goes on making them. Whether the tail supports that much is
//! asked first, and "it has not settled" is an answer. `docs/statistics.md` describes the method.

mod goodness;
mod pareto;
mod profile;
#[cfg(test)]
mod tests;

pub use pareto::Pareto;

use std::cell::OnceCell;

use super::{Counted, Interval, is_overdispersed};

/// Fewer peaks above a threshold show no tail.
pub const LEAST_PEAKS: usize = 50;

/// So many of the highest peaks are looked at, most first: thresholds from low to high.
const HIGHEST: [usize; 9] = [1000, 700, 500, 350, 250, 175, 125, 85, LEAST_PEAKS];

/// A fit is bad if draws from it fit worse with less than this probability.
const BAD_FIT: f64 = 0.05;

/// Equal peaks say the same each time.
const SEED: u64 = 1;

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
    /// So many are above the only threshold that they allow: no higher one can agree with it.
    One(usize),
    /// The run that is asked about is so short that even the highest threshold has next to no peak in it.
    Short,
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
    goodness: OnceCell<f64>,
}

impl Candidate {
    /// The probability of a fit as bad or worse if it is right. It takes a while, and is worked out where it is asked for.
    fn goodness(&self) -> f64 {
        *self.goodness.get_or_init(|| goodness::probability_of_worse(&self.excesses, self.fit, SEED))
    }

    /// Whether that is not small.
    fn fits(&self) -> bool {
        match self.goodness.get() {
            Some(goodness) => *goodness >= BAD_FIT,
            None => goodness::is_worse_as_often_as(BAD_FIT, &self.excesses, self.fit, SEED),
        }
    }

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
    let runs = horizon_s / exposure_s;
    // Otherwise the lower end of where 95 of 100 maxima lie would be below the highest thresholds.
    if among(LEAST_PEAKS, runs, LOWER) <= 1.0 {
        return Outlook::Unsettled(Unsettled::Short);
    }
    let candidates = candidates(&sorted, runs);
    for (at, candidate) in candidates.iter().enumerate() {
        let agrees = |higher: &Candidate| {
            let level = candidate.median() - higher.threshold;
            higher.interval.lower <= level && level <= higher.interval.upper
        };
        let higher = &candidates[at + 1..];
        if !higher.is_empty() && higher.iter().all(agrees) && candidate.goodness() >= BAD_FIT {
            let repeats_differ = differ(repeats, candidate.threshold);
            return Outlook::Settled(Box::new(Forecast { repeats_differ, ..forecast(candidate, runs) }));
        }
    }
    let says = |candidate: &Candidate| (candidate.excesses.len(), candidate.median());
    let one_fits = candidates.iter().any(Candidate::fits);
    Outlook::Unsettled(match candidates.as_slice() {
        [only] if one_fits => Unsettled::One(only.excesses.len()),
        [low, .., high] if one_fits => Unsettled::Drifts([says(low), says(high)]),
        _ => Unsettled::Misfit,
    })
}

/// The shares of maxima that lie below the ends of where 95 of 100 lie.
const LOWER: f64 = 0.025;
const UPPER: f64 = 0.975;

/// One in so many peaks lies above what a share of the maxima of runs lie below: P(maximum <= x) = exp(-n P(peak > x)), where n
/// peaks are expected in a run.
fn among(peaks: usize, runs: f64, share: f64) -> f64 {
    peaks as f64 * runs / -share.ln()
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
        let Some(fit) = Pareto::fit(&excesses) else { continue };
        let among = among(excesses.len(), runs, 0.5);
        let interval = profile::interval(&excesses, fit, among);
        candidates.push(Candidate { threshold, excesses, fit, among, interval, goodness: OnceCell::new() });
    }
    candidates
}

fn forecast(of: &Candidate, runs: f64) -> Forecast {
    let peaks = of.excesses.len();
    let below = |share: f64| of.threshold + of.fit.exceeded_by_one_in(among(peaks, runs, share));
    Forecast {
        threshold: of.threshold,
        peaks,
        fit: of.fit,
        goodness: of.goodness(),
        median: of.median(),
        interval: Interval { lower: of.threshold + of.interval.lower, upper: of.threshold + of.interval.upper },
        runs: Interval { lower: below(LOWER), upper: below(UPPER) },
        repeats_differ: false,
    }
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
