//! One case of a run, its repeats and its neighbours.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_experiment::layout::CaseMetric;
use waykeeper_experiment::mitigation::NONE;
use waykeeper_experiment::published::Reference;
use waykeeper_platform::CoreId;
use waykeeper_statistics::Verdict;

use super::fast_check::FastCheck;
use super::looks::{LongSample, Occupancy, Shape};
use super::packets::PacketRecord;
use super::sampled::SampledRecord;
use crate::off_core::{OFF_CORE_MS, within_samples_s};

/// One case, its repeats merged.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseRecord {
    /// Unique within the run.
    pub name: String,
    /// Name of the target's workload.
    pub target: String,
    /// Core of the target.
    pub core: CoreId,
    /// What ran beside it; empty for a solo case.
    pub neighbours: Vec<NeighbourRecord>,
    /// `none`, or the mitigations joined by `+`.
    pub mitigation: String,
    /// Keys of the target's workload that had other values, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub target_with: BTreeMap<String, String>,
    /// The points of those sweeps that matter to this case, by the sweep's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub point: BTreeMap<String, String>,
    /// Number of samples.
    pub samples: u64,
    /// Time over which the target was observed, all repeats together.
    pub run_length_s: f64,
    /// Smallest sample.
    pub min_ns: Option<f64>,
    /// Mean of all samples.
    pub mean_ns: Option<f64>,
    /// Median.
    pub p50_ns: Option<f64>,
    /// 99th percentile, where there are samples enough.
    pub p99_ns: Option<f64>,
    /// 99.9th percentile, where there are samples enough.
    pub p99_9_ns: Option<f64>,
    /// 99.99th percentile, where there are samples enough.
    pub p99_99_ns: Option<f64>,
    /// Largest sample; it belongs to `run_length_s` and bounds nothing.
    pub max_ns: Option<f64>,
    /// Maximum minus minimum.
    pub jitter_ns: Option<f64>,
    /// Mean over the mean of the solo case under the same mitigation.
    pub slowdown: Option<f64>,
    /// What the mitigation itself costs: its solo mean over the unmitigated solo mean.
    pub cost: Option<f64>,
    /// Bytes a second of the lines that the target touched: within its samples, or in all where its throughput counts.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Bytes a second of the target and its neighbours together, where the target's throughput counts.
    pub total_bandwidth_bytes_per_s: Option<f64>,
    /// Lines that the target's core read from memory, for each sample (simulator only).
    pub misses_per_sample: Option<f64>,
    /// What the samples rest on, where they are estimates from windows of whole passes (simulator only).
    pub sampled: Option<SampledRecord>,
    /// Standard error of the slowdown of such samples, from how the windows' slowdowns differ.
    pub slowdown_standard_error: Option<f64>,
    /// The shape of the distribution, where the experiment asks for it.
    pub shape: Option<Shape>,
    /// Who held how much of the last shared cache during the first repeat, where the experiment asks for it (simulator only).
    pub occupancy: Option<Occupancy>,
    /// The longest samples with what the core waited for in them, the longest first, where that was asked for (simulator
    /// only).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longest: Vec<LongSample>,
    /// Samples beyond the histogram's range (their maximum is exact all the same).
    pub overflow: u64,
    /// Samples above this are excursions.
    pub excursion_above_ns: Option<f64>,
    /// Releases that a periodic target came too late for: whole periods in which no pass began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed_periods: u64,
    /// Samples above the threshold.
    pub excursions: u64,
    /// Separate events among them.
    pub excursion_events: u64,
    /// The repeats.
    pub repeats: Vec<RepeatRecord>,
    /// What the mitigation did, compared with none.
    pub verdict: Option<Verdict>,
    /// Published figures of this case.
    pub reference: Option<Reference>,
    /// Simulated time, all repeats together (simulator only).
    pub simulated_s: Option<f64>,
    /// Wall time that the simulation took from the end of each warm-up, all repeats together (simulator only).
    pub wall_s: Option<f64>,
    /// Of the warm-up of a repeat, simulated seconds in which caches filled without time; none where all of it was in time
    /// (simulator only).
    pub functional_warm_up_s: Option<f64>,
    /// Simulated accesses of all cores, all repeats together (simulator only).
    pub accesses: Option<u64>,
    /// Accesses that the fast path skipped, all repeats together (simulator only).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped_accesses: u64,
    /// The fast path beside the full one, at the beginning of the first repeat.
    pub fast_check: Option<FastCheck>,
}

impl RepeatRecord {
    /// How long others had the target's core, seconds, as far as that is known to lie within samples: see
    /// [`within_samples_s`].
    pub fn off_core_s(&self) -> f64 {
        let off_core_ms = self.disturbances.get(OFF_CORE_MS).copied().unwrap_or_default();
        let mean_ns = self.mean_ns.unwrap_or_default();
        within_samples_s(off_core_ms, self.waits_between_samples, self.samples, mean_ns, self.run_length_s)
    }
}

impl CaseRecord {
    /// The figure of a metric, where the case has it.
    pub fn figure(&self, metric: CaseMetric) -> Option<f64> {
        match metric {
            CaseMetric::Latency | CaseMetric::Mean => self.mean_ns,
            CaseMetric::Min => self.min_ns,
            CaseMetric::P50 => self.p50_ns,
            CaseMetric::P99 => self.p99_ns,
            CaseMetric::Max => self.max_ns,
            CaseMetric::Jitter => self.jitter_ns,
            CaseMetric::Slowdown => self.slowdown,
            CaseMetric::Cost => self.cost.or((self.mitigation == NONE).then_some(1.0)),
            CaseMetric::Bandwidth => self.bandwidth_bytes_per_s,
            CaseMetric::TotalBandwidth => self.total_bandwidth_bytes_per_s,
            CaseMetric::Misses => self.misses_per_sample,
        }
    }
}

/// A neighbour of a case.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeighbourRecord {
    /// Name of its workload.
    pub workload: String,
    /// Keys of the workload that had other values, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with: BTreeMap<String, String>,
    /// The cores that ran it.
    pub cores: Vec<CoreId>,
    /// Accesses a second on all its cores together, mean over the repeats.
    pub accesses_per_s: Option<f64>,
    /// Bytes a second of the lines that these accesses touch.
    pub bytes_per_s: Option<f64>,
    /// Whether the group it belongs to moved the unmitigated target or the sentinel.
    pub effective: Option<bool>,
    /// What that judgement rests on.
    pub effect: Option<String>,
}

/// One repeat of a case.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RepeatRecord {
    /// Number, from 1.
    pub repeat: u32,
    /// Number of samples.
    pub samples: u64,
    /// Time over which the target was observed.
    pub run_length_s: f64,
    /// Smallest sample.
    pub min_ns: Option<f64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Largest sample.
    pub max_ns: Option<f64>,
    /// Bytes a second of the lines that the target touched.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Bytes a second of the target and its neighbours together.
    pub total_bandwidth_bytes_per_s: Option<f64>,
    /// Lines that the target's core read from memory, for each sample.
    pub misses_per_sample: Option<f64>,
    /// What the samples rest on, where they are estimates from windows of whole passes (simulator only).
    pub sampled: Option<SampledRecord>,
    /// When the largest sample ended, from the start of the repeat.
    pub max_at_s: Option<f64>,
    /// When it began, RFC 3339 (machines only).
    pub started: Option<String>,
    /// The largest sample of each interval (`peak_interval_s` of the run), where the repeat has more than one. An interval in
    /// which no sample ended has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peaks: Vec<Peak>,
    /// Samples beyond the histogram's range.
    pub overflow: u64,
    /// Readings of the counter that went backwards: no sample was made of them.
    pub backwards: u64,
    /// Releases that a periodic target came too late for: whole periods in which no pass began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed_periods: u64,
    /// Samples above the threshold.
    pub excursions: u64,
    /// Separate events among them.
    pub excursion_events: u64,
    /// Tag of its histograms in `samples.hlog` and `excursions.hlog`.
    pub histogram: String,
    /// The target waits between its samples, for a time, a message or a packet: how much of the time off its core lies in
    /// them is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_between_samples: bool,
    /// It was interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// Why it does not count: the conditions of its case did not hold all the time. The figures of the case and its verdict
    /// leave it out.
    pub not_counted: Option<String>,
    /// What became of the packets, where the target is a control loop between packets.
    pub packets: Option<PacketRecord>,
    /// What a reader of its samples must know: passes that are missing, a program that ended early.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The seed of this repeat.
    pub seed: u64,
    /// Placement asked and got, by what was placed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub placement: BTreeMap<String, PlacementRecord>,
    /// Other events on the target's core, by name (`context_switches`, `page_faults`, `interrupts`, ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disturbances: BTreeMap<String, f64>,
    /// Counters of the processor or of the simulator, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// The work of each neighbour during this repeat, as far as it was seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<NeighbourWork>,
}

/// The largest sample of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Peak {
    /// When it ended, seconds from the start of the repeat.
    pub at_s: f64,
    /// Its length, nanoseconds.
    pub max_ns: f64,
}

/// The work of one neighbour during one repeat.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeighbourWork {
    /// Its core.
    pub core: CoreId,
    /// Accesses a second.
    pub accesses_per_s: Option<f64>,
    /// Processor time a second of an external command's whole process tree. It says nothing of the pressure on memory.
    pub cpu_s_per_s: Option<f64>,
}

/// Where something was asked to be, and where it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Placement")]
pub struct PlacementRecord {
    /// As asked.
    pub asked: String,
    /// As got.
    pub got: String,
}

pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}
