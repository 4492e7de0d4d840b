//! What a worker is asked, and what it answers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use waykeeper_platform::CoreId;
use waykeeper_run::measurement::{Measurement, NeighbourProgress};
use waykeeper_run::samples::{Counts, Samples};
use waykeeper_run::{PacketRecord, PlacementRecord, Privilege};
use waykeeper_workload::Pattern;

use crate::measure::{ExecutorError, PlannedRepeat};

/// A workload on a core.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobPart {
    /// What it does.
    pub pattern: Pattern,
    /// Where.
    pub core: CoreId,
}

/// Colours of a cache's pages for target and neighbours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColourPartition {
    /// Bytes of the cache.
    pub cache_bytes: u64,
    /// Its ways.
    pub ways: u64,
    pub target: Vec<u32>,
    pub neighbours: Vec<u32>,
}

/// A further target that is observed at the same time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CompanionPart {
    /// What it is.
    pub part: JobPart,
    /// `None`: nothing is an excursion.
    pub excursion_above_ticks: Option<u64>,
}

/// One repeat for a worker process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// Process number of the program that asks; without it there is nobody to answer to.
    pub parent: u32,
    /// Whose latency counts.
    pub target: JobPart,
    /// Further targets, each observed as the first one is.
    #[serde(default)]
    pub companions: Vec<CompanionPart>,
    /// The neighbours.
    pub neighbours: Vec<JobPart>,
    /// Decides orders and beginnings.
    pub seed: u64,
    /// How long the target is observed.
    pub duration_ticks: u64,
    /// Nanoseconds of a tick.
    pub tick_ns: f64,
    /// The cycle counter times the samples, in units of which so many make a tick (as a power of two); `None`: they are ticks.
    #[serde(default)]
    pub units_per_tick_log2: Option<u64>,
    /// In ticks, or units. `None`: nothing is an excursion.
    pub excursion_above_ticks: Option<u64>,
    /// Excursions within this time of the first one are one event.
    pub gap_ticks: u64,
    /// The longest sample is kept of each interval of this length.
    pub peak_interval_ticks: u64,
    /// 0: no wash.
    pub wash_bytes: u64,
    /// Whether the target runs under SCHED_FIFO.
    pub fifo: bool,
    /// Whether its memory is in huge pages.
    pub huge_pages: bool,
    /// Where the target's memory is instead: a pseudo-locked region.
    pub region: Option<PathBuf>,
    /// The colours of everybody's pages, where that matters.
    pub colours: Option<ColourPartition>,
}

/// A recorder's contents.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Recorded {
    /// Samples.
    pub samples: u64,
    /// Their sum, ticks.
    pub sum: u128,
    /// The smallest.
    pub min: Option<u64>,
    /// The largest.
    pub max: Option<u64>,
    /// When that was, seconds since the target was first observed, where it is known.
    pub max_at_s: Option<f64>,
    /// The largest of each interval, and when that was; empty where there was one interval only.
    pub peaks: Vec<(u64, f64)>,
    /// Samples beyond all buckets.
    pub overflow: u64,
    /// Pairs of readings that were none, because the counter ran backwards.
    pub backwards: u64,
    /// Whole periods in which no pass began.
    pub missed_periods: u64,
    /// Samples above the threshold.
    pub excursions: u64,
    /// Excursions, those within the gap counted once.
    pub events: u64,
    /// Each may have been longer by up to so many nanoseconds: the program that counted them rounds down.
    #[serde(default)]
    pub rounded_down_ns: f64,
    /// Lowest value of a bucket and its count.
    pub counts: Vec<(u64, u64)>,
    /// The same of the longest samples of events.
    pub event_counts: Vec<(u64, u64)>,
}

/// What a worker found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkerAnswer {
    /// The samples.
    pub recorded: Recorded,
    /// How long the target was observed, seconds.
    pub observed_s: f64,
    /// Accesses of each neighbour while the target was observed; `None` for external commands.
    pub accesses: Vec<Option<u64>>,
    /// Processor time a second of each external command's process tree, from the opening of the gate to the target's end;
    /// `None` for others, and where it was not seen.
    pub cpu_s_per_s: Vec<Option<f64>>,
    /// Where everything ran and lay.
    pub placement: BTreeMap<String, PlacementRecord>,
    /// What was asked of the system.
    pub privileges: Vec<Privilege>,
    /// Other events on the target's core.
    pub disturbances: BTreeMap<String, f64>,
    /// Hardware counters of the target's core.
    pub counters: BTreeMap<String, u64>,
    /// Whether it was stopped before its time.
    pub cut_short: bool,
    /// Why it does not count, where the conditions of its case did not hold all the time.
    pub not_counted: Option<String>,
    /// What a reader of its samples must know.
    pub remarks: Vec<String>,
    /// What became of the packets, where the target is a control loop between packets.
    #[serde(default)]
    pub packets: Option<PacketRecord>,
    /// What was found about each further target.
    #[serde(default)]
    pub companions: Vec<WorkerAnswer>,
}

impl Job {
    /// The same with a further target in the place of the first one.
    pub fn of_companion(&self, companion: &CompanionPart) -> Self {
        Self {
            target: companion.part.clone(),
            companions: Vec::new(),
            excursion_above_ticks: companion.excursion_above_ticks,
            // The first target does it.
            wash_bytes: 0,
            ..self.clone()
        }
    }
}

impl WorkerAnswer {
    pub(crate) fn into_measurement(
        self,
        assignment: &PlannedRepeat<'_>,
        tick_ns: f64,
        line_bytes: u64,
        stopped: bool,
    ) -> Result<Measurement, ExecutorError> {
        if self.recorded.samples == 0 && stopped {
            return Err(ExecutorError::Stopped);
        }
        let observed_s = self.observed_s;
        let neighbours = assignment.case.neighbours.iter().zip(self.accesses.iter().zip(&self.cpu_s_per_s)).map(
            |(neighbour, (accesses, cpu_s_per_s))| NeighbourProgress {
                cpu_s_per_s: *cpu_s_per_s,
                core: neighbour.core,
                accesses_per_s: accesses.filter(|_| observed_s > 0.0).map(|accesses| accesses as f64 / observed_s),
                per_second: accesses
                    .zip(neighbour.pattern.bytes_per_access(line_bytes))
                    .filter(|_| observed_s > 0.0)
                    .map(|(accesses, bytes)| {
                        let rate = accesses as f64 / observed_s;
                        (rate, rate * bytes as f64)
                    }),
            },
        );
        let target = &assignment.case.target.pattern;
        let bytes_per_sample = target.accesses_per_sample().zip(target.bytes_per_access(line_bytes));
        Ok(Measurement {
            seed: assignment.seed,
            started: None,
            bytes_per_sample: bytes_per_sample.map(|(accesses, bytes)| accesses * bytes),
            target_bytes_per_s: None,
            misses: None,
            occupancy: None,
            sampled: None,
            longest: Vec::new(),
            neighbours: neighbours.collect(),
            samples: self.recorded.into_samples(tick_ns),
            observed_s,
            placement: self.placement,
            privileges: self.privileges,
            disturbances: self.disturbances,
            counters: self.counters,
            waits_between_samples: target.waits_between_samples(),
            cut_short: self.cut_short,
            not_counted: self.not_counted,
            remarks: self.remarks,
            packets: self.packets,
            simulation: None,
        })
    }
}

impl Recorded {
    fn into_samples(self, tick_ns: f64) -> Samples {
        let mut samples = Samples::new(tick_ns);
        samples.counts = Counts::new(self.counts);
        samples.event_counts = Counts::new(self.event_counts);
        samples.count = self.samples;
        samples.sum = self.sum;
        samples.min = self.min;
        samples.max = self.max.map(|max| (max, self.max_at_s));
        samples.peaks = self.peaks;
        samples.overflow = self.overflow;
        samples.backwards = self.backwards;
        samples.missed_periods = self.missed_periods;
        samples.excursions = self.excursions;
        samples.excursion_events = self.events;
        samples.rounded_down_ns = self.rounded_down_ns;
        samples
    }
}
