//! How an experiment is run, who hears of it, and what one repeat is asked for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use waykeeper_experiment::cases::{Case, Plan, Purpose};
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_run::measurement::{Measured, Measurement};
use waykeeper_run::{Shard, ShardRepeats};
use waykeeper_workload::Xorshift;

use crate::measure::{ExecutorError, Pace, PlannedRepeat};

/// How an experiment is run.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// Length of a case and repeat, seconds.
    pub duration_s: f64,
    /// In the simulator a repeat ends with so many samples, if they come before its duration.
    pub simulated_samples: Option<u64>,
    /// In the simulator all of the warm-up is simulated in time.
    pub timed_warm_up: bool,
    /// Whether it is followed who holds how much of the last shared cache, where the place can tell.
    pub occupancy: bool,
    /// How many of the longest samples of a case are explained, where the place can.
    pub explain: usize,
    /// Whether simulated neighbours skip what cannot touch the target, where they can.
    pub fast: bool,
    /// Repeats of each case.
    pub repeats: u32,
    /// The seed.
    pub seed: u64,
    /// A sample this far over the minimum of the unmitigated solo case is an excursion; else a pilot's spread decides.
    pub excursion_over_min_ns: Option<f64>,
    /// Excursions within this time of the first one are one event, nanoseconds.
    pub gap_ns: f64,
    /// The longest sample is kept of each interval of this length, nanoseconds.
    pub peak_interval_ns: f64,
    /// The part of the run that is measured, where it is not the whole run.
    pub shard: Option<Shard>,
    /// Wall time is left out of what is measured, so that equal inputs leave equal bytes.
    pub reproducible: bool,
}

impl RunSettings {
    /// The repeats that a shard measures; none where all are measured.
    pub(super) fn share(&self, plan: &Plan, place: ExecutorKind) -> Option<ShardRepeats> {
        self.shard.map(|shard| ShardRepeats::new(shard, plan, self.repeats, place))
    }
}

/// What is going on.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The case that has just been measured, or is about to be.
    pub case: &'a str,
    /// Repeats done.
    pub done: usize,
    /// Repeats in all.
    pub total: usize,
    /// What the repeat that has just ended shows; none before one.
    pub figure: Option<FigureOfRepeat>,
}

/// What one repeat shows: the first figures of a run long before its end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FigureOfRepeat {
    /// Mean.
    pub mean_ns: f64,
    /// The largest sample; it belongs to this length.
    pub max_ns: f64,
    /// The time that was observed, seconds.
    pub length_s: f64,
}

impl FigureOfRepeat {
    /// Of a repeat that counts and has samples.
    pub(super) fn of(repeat: &Measurement) -> Option<Self> {
        let samples = Some(&repeat.samples).filter(|_| repeat.not_counted.is_none())?;
        Some(Self { mean_ns: samples.mean_ns()?, max_ns: repeat.max_ns()?, length_s: repeat.observed_s })
    }
}

/// What an experiment gave.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The repeats of each case of the plan, in its order.
    pub measured: Vec<Measured>,
    /// It was interrupted.
    pub cut_short: bool,
    /// It ended early because the place turned out to be unable to go on.
    pub failed: Option<ExecutorError>,
}

/// What there is of a run that goes on.
#[derive(Debug, Clone, Default)]
pub struct Begun {
    /// What is an excursion in each case, nanoseconds.
    pub thresholds_ns: Vec<Option<f64>>,
    /// The complete repeats, by the places of the case and of the repeat, from 0.
    pub repeats: BTreeMap<(usize, usize), Measurement>,
}

/// Keeps what a run measures while it goes on.
pub trait Keeper: Sync {
    /// What is an excursion in each case is decided; the first repeat comes next.
    fn begin(&self, thresholds_ns: &[Option<f64>]);

    /// A repeat is complete. The places of the case and of the repeat are from 0.
    fn keep(&self, case: usize, repeat: usize, measurement: &Measurement);
}

/// A repeat of which nothing is asked but its samples.
pub(super) fn bare_repeat<'a>(
    case: &'a Case,
    seed: u64,
    settings: &RunSettings,
    under_test: &'a [String],
) -> PlannedRepeat<'a> {
    PlannedRepeat {
        case,
        seed,
        duration_s: settings.duration_s,
        simulated_samples: settings.simulated_samples,
        timed_warm_up: settings.timed_warm_up,
        occupancy: false,
        explain: 0,
        fast: settings.fast,
        check_fast: false,
        excursion_above_ns: None,
        companions_above_ns: &[],
        gap_ns: settings.gap_ns,
        peak_interval_ns: settings.peak_interval_ns,
        wash: false,
        under_test,
    }
}

/// The seed of a repeat: the same for all cases, so that they are compared under the same placement.
pub(super) fn repeat_seed(seed: u64, repeat: usize) -> u64 {
    // JSON readers keep integers exactly up to 2^53.
    Xorshift::new(seed.wrapping_add((repeat as u64).wrapping_mul(0x9e37_79b9))).next_u64() >> 11
}

pub(super) fn length(case: &Case, duration_s: f64, pace: Pace) -> f64 {
    match case.purpose {
        Purpose::Case => duration_s,
        Purpose::Sentinel => duration_s.min(pace.sentinel_s),
    }
}
