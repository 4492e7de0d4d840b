//! What an executor brings home from one repeat of one case.

use std::collections::BTreeMap;

use waykeeper_platform::CoreId;

use crate::run::{Placement, Privilege};
use crate::samples::Samples;

/// What one repeat gave.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// The seed of this repeat.
    pub seed: u64,
    /// The target's samples.
    pub samples: Samples,
    /// How long the target was observed, seconds.
    pub observed_s: f64,
    /// What each neighbour did meanwhile, in the case's order.
    pub neighbours: Vec<NeighbourProgress>,
    /// Placement asked and got.
    pub placement: BTreeMap<String, Placement>,
    /// What was asked of the system, and what it gave.
    pub privileges: Vec<Privilege>,
    /// What else disturbed the target's core.
    pub disturbances: BTreeMap<String, f64>,
    /// Counters by name.
    pub counters: BTreeMap<String, u64>,
    /// It was interrupted before its time.
    pub cut_short: bool,
    /// How it was simulated, where it was.
    pub simulation: Option<Simulation>,
}

/// The name under which the time off the core stands among the disturbances, milliseconds.
pub const OFF_CORE_MS: &str = "off_core_ms";

impl Measurement {
    /// How long the scheduler gave the target's core to others while the target wanted to run, seconds.
    pub fn off_core_s(&self) -> f64 {
        self.disturbances.get(OFF_CORE_MS).map_or(0.0, |ms| (ms / 1e3).clamp(0.0, self.observed_s))
    }

    /// The mean of the samples without the time off the core, nanoseconds.
    pub fn on_core_mean_ns(&self) -> Option<f64> {
        let count = self.samples.count as f64;
        Some((self.samples.mean_ns()? - self.off_core_s() * 1e9 / count).max(0.0))
    }
}

/// What one neighbour did during a repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighbourProgress {
    /// Its core.
    pub core: CoreId,
    /// Accesses and bytes a second; `None` for external commands.
    pub per_second: Option<(f64, f64)>,
}

/// What a simulated repeat took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Simulation {
    /// Wall time, seconds.
    pub wall_s: f64,
    /// Accesses of all cores.
    pub accesses: u64,
}

/// All repeats of one case.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Samples above this many nanoseconds are excursions.
    pub excursion_above_ns: Option<f64>,
    /// The repeats, in order.
    pub repeats: Vec<Measurement>,
}
