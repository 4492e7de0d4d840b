//! What an executor brings home from one repeat of one case.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use waykeeper_platform::CoreId;

use crate::off_core::{OFF_CORE_MS, within_samples_s};
use crate::record::{FastCheck, LongSample, Occupancy, PacketRecord, PlacementRecord, Privilege, SampledRecord};
use crate::samples::Samples;

/// What one repeat gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measurement {
    /// The seed of this repeat.
    pub seed: u64,
    /// When it began, RFC 3339; none in simulated time.
    #[serde(default)]
    pub started: Option<String>,
    /// The target's samples.
    pub samples: Samples,
    /// How long the target was observed, seconds.
    pub observed_s: f64,
    /// Bytes of the lines that one sample touches, where that is counted.
    pub bytes_per_sample: Option<u64>,
    /// Bytes a second of the target, where its throughput counts and it takes no samples.
    pub target_bytes_per_s: Option<f64>,
    /// Lines that the target's core read from memory, where that is counted.
    pub misses: Option<u64>,
    /// Who held how much of the last shared cache, where that was asked for.
    pub occupancy: Option<Occupancy>,
    /// What its samples rest on, where they are estimates from windows.
    pub sampled: Option<SampledRecord>,
    /// Its longest samples, the longest first, where that was asked for.
    pub longest: Vec<LongSample>,
    /// What each neighbour did meanwhile, in the case's order.
    pub neighbours: Vec<NeighbourProgress>,
    /// Placement asked and got.
    pub placement: BTreeMap<String, PlacementRecord>,
    /// What was asked of the system, and what it gave.
    pub privileges: Vec<Privilege>,
    /// Other events on the target's core.
    pub disturbances: BTreeMap<String, f64>,
    /// Counters by name.
    pub counters: BTreeMap<String, u64>,
    /// The target waits between its samples, for a time, a message or a packet.
    #[serde(default)]
    pub waits_between_samples: bool,
    /// It was interrupted before its time.
    pub cut_short: bool,
    /// Why it does not count, where the conditions of its case did not hold all the time.
    #[serde(default)]
    pub not_counted: Option<String>,
    /// What a reader of its samples must know: passes that are missing, a program that ended early.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// What became of the packets, where the target is a control loop between packets.
    #[serde(default)]
    pub packets: Option<PacketRecord>,
    /// How it was simulated, where it was.
    pub simulation: Option<Simulation>,
}

impl Measurement {
    /// How long the scheduler gave the target's core to others while the target wanted to run, seconds, as far as that is
    /// known to lie within samples: see [`within_samples_s`].
    pub fn off_core_s(&self) -> f64 {
        let off_core_ms = self.disturbances.get(OFF_CORE_MS).copied().unwrap_or_default();
        let (count, mean_ns) = (self.samples.count, self.samples.mean_ns().unwrap_or_default());
        within_samples_s(off_core_ms, self.waits_between_samples, count, mean_ns, self.observed_s)
    }

    /// Bytes a second of the target: in all, or within its samples.
    pub fn bandwidth_bytes_per_s(&self) -> Option<f64> {
        let of_samples = || Some(self.bytes_per_sample? as f64 * 1e9 / self.samples.mean_ns()?);
        self.target_bytes_per_s.or_else(of_samples).filter(|bandwidth| bandwidth.is_finite())
    }

    /// Bytes a second of the target and its neighbours together; none where one of them is not counted.
    pub fn total_bytes_per_s(&self) -> Option<f64> {
        let neighbours: Option<f64> = self.neighbours.iter().map(|n| Some(n.per_second?.1)).sum();
        Some(self.bandwidth_bytes_per_s()? + neighbours?)
    }

    /// Lines that the target's core read from memory, for each sample.
    pub fn misses_per_sample(&self) -> Option<f64> {
        (self.samples.count > 0).then_some(self.misses? as f64 / self.samples.count as f64)
    }

    /// The mean of the samples without the time off the core, nanoseconds.
    pub fn on_core_mean_ns(&self) -> Option<f64> {
        let count = self.samples.count as f64;
        Some((self.samples.mean_ns()? - self.off_core_s() * 1e9 / count).max(0.0))
    }
}

/// What one neighbour did during a repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NeighbourProgress {
    /// Its core.
    pub core: CoreId,
    /// Accesses a second; `None` for external commands.
    pub accesses_per_s: Option<f64>,
    /// The same with the bytes a second of the lines that they touch, where an access has a size.
    pub per_second: Option<(f64, f64)>,
    /// Processor time a second of an external command's whole process tree; `None` for others, and where it was not seen.
    pub cpu_s_per_s: Option<f64>,
}

/// What a simulated repeat took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// Wall time, seconds; none where the run leaves out what differs from one process to the next.
    #[serde(default)]
    pub wall_s: Option<f64>,
    /// Of the warm-up, simulated seconds without time; `None` where all of it was in time.
    pub functional_warm_up_s: Option<f64>,
    /// Accesses of all cores that were simulated.
    pub accesses: u64,
    /// Those that were skipped by the fast path.
    pub skipped_accesses: u64,
    /// The fast path beside the full one, where that was asked for.
    pub fast_check: Option<FastCheck>,
}

/// All repeats of one case.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Samples above this many nanoseconds are excursions.
    pub excursion_above_ns: Option<f64>,
    /// The repeats, in order.
    pub repeats: Vec<Measurement>,
}

impl Measured {
    /// The repeats that figures and verdicts rest on.
    pub fn counted(&self) -> impl Iterator<Item = &Measurement> {
        self.repeats.iter().filter(|repeat| repeat.not_counted.is_none())
    }
}
