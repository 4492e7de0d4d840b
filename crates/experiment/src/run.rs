//! What a run leaves: the schema of `run.json`.
//!
//! A key that does not apply is absent, never null or 0. Times are nanoseconds unless the key says otherwise.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_platform::CoreId;

use crate::layout::{Metric, TableLayout};
use crate::site::ExecutorKind;
use crate::statistics::{JudgementKind, Verdict};

/// The version of the schema that this program writes, and the newest that it reads.
pub const SCHEMA: u32 = 1;

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Version of this schema.
    pub schema: u32,
    /// Name and version of the program that wrote it.
    pub tool: Tool,
    /// The command line.
    pub command_line: Vec<String>,
    /// When it began, RFC 3339.
    pub started: String,
    /// Name of the experiment.
    pub experiment: String,
    /// Its title.
    pub title: String,
    /// The platform: `host`, or the name of a platform file.
    pub platform: String,
    /// What ran the cases.
    pub executor: ExecutorKind,
    /// Length of a case and repeat as asked, seconds.
    pub duration_s: f64,
    /// Repeats as asked.
    pub repeats: u32,
    /// The seed.
    pub seed: u64,
    /// The run was interrupted: what was measured until then is here.
    pub cut_short: bool,
    /// The clock that timed the samples.
    pub clock: Clock,
    /// The machine that it ran on.
    pub machine: Machine,
    /// What the platform's figures rest on (simulator only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Parameters>,
    /// What was asked of the system, and what it gave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub privileges: Vec<Privilege>,
    /// What this place could not do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refusal>,
    /// The sweeps of the experiment, with the points that were run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<SweepRecord>,
    /// What the tables show, where the experiment says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<TableLayout>,
    /// The cases, in the order of the experiment.
    pub cases: Vec<CaseRecord>,
    /// The sentinel's cases: they witness whether the neighbours have an effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sentinels: Vec<CaseRecord>,
    /// How each budget ended, for each case that it covers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<BudgetRecord>,
    /// What the experiment expects to show, and whether it did. These are statements on a model or a machine; they break
    /// nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<ExpectationRecord>,
    /// What a reader of the figures must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A sweep as it was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepRecord {
    /// Its name.
    pub name: String,
    /// The names of the points that were run, in their order.
    pub points: Vec<String>,
}

/// The program that wrote a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `waykeeper`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The clock that timed the samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// `TSC`, `CNTVCT`, or the simulated counter.
    pub name: String,
    /// Ticks in a second.
    pub frequency_hz: f64,
    /// Length of a tick.
    pub tick_ns: f64,
    /// The smallest step that was seen between two readings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_ns: Option<f64>,
    /// Median time of one reading; it is part of every sample and is not subtracted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_overhead_ns: Option<f64>,
    /// Spread of repeated measurements of the frequency against the system's clock, parts in a million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability_ppm: Option<f64>,
    /// Whether the processor says that the counter runs at one rate in all power states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invariant: Option<bool>,
}

/// The machine that a run ran on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Processor model as the system names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// Instruction set.
    pub architecture: String,
    /// Number of cores that could be used.
    pub cores: u32,
    /// Caches of the target's core, such as `L1d 48 KiB 12-way`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<String>,
    /// Kernel release and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Kernel command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_command_line: Option<String>,
    /// Preemption model, where the kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// The clock source of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocksource: Option<String>,
    /// Frequency governor of the target's core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Whether SMT is on, as the kernel says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smt: Option<String>,
    /// Cores that the kernel isolates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolated: Option<String>,
    /// Cores without a scheduling tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nohz_full: Option<String>,
    /// The hypervisor, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// Transparent huge pages setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transparent_hugepages: Option<String>,
    /// Share of time that real-time tasks may take, as `runtime_us/period_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realtime_throttling: Option<String>,
}

/// Something asked of the system.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Privilege {
    /// What was asked for, such as `SCHED_FIFO`.
    pub what: String,
    /// Whether it was given.
    pub granted: bool,
    /// What was got, or why it was refused.
    pub detail: String,
}

/// Something that this place cannot do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
}

/// What the figures of a simulated platform rest on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    /// How many parameters are documented, measured, assumed, fitted and imposed.
    pub counts: BTreeMap<String, u32>,
    /// Every parameter.
    pub list: Vec<Parameter>,
}

/// One parameter of a simulated platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameter {
    /// Path of its key in the platform file.
    pub key: String,
    /// Its value as TOML.
    pub value: String,
    /// `documented`, `measured`, `assumed`, `fitted` or `imposed`.
    pub is: String,
    /// Source, range and reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// One case, its repeats merged.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<f64>,
    /// Mean of all samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// Median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<f64>,
    /// 99th percentile, where there are samples enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<f64>,
    /// 99.9th percentile, where there are samples enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9_ns: Option<f64>,
    /// 99.99th percentile, where there are samples enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_99_ns: Option<f64>,
    /// Largest sample; it belongs to `run_length_s` and bounds nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<f64>,
    /// Maximum minus minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_ns: Option<f64>,
    /// Mean over the mean of the solo case under the same mitigation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    /// What the mitigation itself costs: its solo mean over the unmitigated solo mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Bytes a second of the lines that the target touched: within its samples, or in all where its throughput counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Bytes a second of the target and its neighbours together, where the target's throughput counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bandwidth_bytes_per_s: Option<f64>,
    /// Lines that the target's core read from memory, for each sample (simulator only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misses_per_sample: Option<f64>,
    /// The shape of the distribution, where the experiment asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// Samples beyond the histogram's range (their maximum is exact all the same).
    pub overflow: u64,
    /// Samples above this are excursions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Published figures of this case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// Simulated time, all repeats together (simulator only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_s: Option<f64>,
    /// Wall time that the simulation took, all repeats together (simulator only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
    /// Simulated accesses of all cores, all repeats together (simulator only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accesses: Option<u64>,
}

/// The shape of a distribution: counts of samples in equal steps. All cases of a run have the same steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shape {
    /// Where the first step begins.
    pub from_ns: f64,
    /// Length of a step.
    pub step_ns: f64,
    /// Samples in each.
    pub counts: Vec<u64>,
}

/// A neighbour of a case.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accesses_per_s: Option<f64>,
    /// Bytes a second of the lines that these accesses touch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<f64>,
    /// Whether the group it belongs to moved the unmitigated target or the sentinel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<bool>,
    /// What that judgement rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

/// One repeat of a case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RepeatRecord {
    /// Number, from 1.
    pub repeat: u32,
    /// Number of samples.
    pub samples: u64,
    /// Time over which the target was observed.
    pub run_length_s: f64,
    /// Smallest sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<f64>,
    /// Mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// Largest sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<f64>,
    /// Bytes a second of the lines that the target touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Bytes a second of the target and its neighbours together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bandwidth_bytes_per_s: Option<f64>,
    /// Lines that the target's core read from memory, for each sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misses_per_sample: Option<f64>,
    /// When the largest sample ended, from the start of the repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_at_s: Option<f64>,
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
    /// It was interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// The seed of this repeat.
    pub seed: u64,
    /// Placement asked and got, by what was placed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub placement: BTreeMap<String, Placement>,
    /// What else disturbed the target's core, by name (`context_switches`, `page_faults`, `interrupts`, ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disturbances: BTreeMap<String, f64>,
    /// Counters of the processor or of the simulator, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
}

/// Where something was asked to be, and where it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// As asked.
    pub asked: String,
    /// As got.
    pub got: String,
}

/// Published figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reference {
    /// Published minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<f64>,
    /// Published mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// Published maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<f64>,
    /// Published slowdown by the neighbours, under the same mitigation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    /// Published bandwidth of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Published bandwidth of the target and its neighbours together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bandwidth_bytes_per_s: Option<f64>,
    /// Published reads of the memory in one sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misses_per_sample: Option<f64>,
    /// How long it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_length_s: Option<f64>,
    /// How many samples it is of, where that was published in place of a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_samples: Option<u64>,
    /// Where it stands.
    pub source: String,
    /// Figures that were imposed on the model: they agree by construction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imposed: Vec<String>,
    /// Figures that parameters of the model were fitted on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted: Vec<String>,
}

/// How a budget ended for one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetRecord {
    /// The budget as written.
    pub budget: String,
    /// The case.
    pub case: String,
    /// How it ended.
    pub kind: JudgementKind,
    /// The figures behind it, in words.
    pub text: String,
}

/// Whether a run met a statement of its experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectationRecord {
    /// What is said, in words.
    pub says: String,
    /// Where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The statement.
    pub statement: String,
    /// The figure that it is about.
    pub metric: Metric,
    /// How it ended.
    pub kind: Met,
    /// The numbers seen, in words.
    pub text: String,
}

/// How a statement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Met {
    /// It holds, in all repeats together and in each of them.
    Met,
    /// It does not hold, neither in all repeats together nor in any of them.
    NotMet,
    /// The repeats disagree, or figures are missing.
    CannotTell,
}

impl std::fmt::Display for Met {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Met => "met",
            Self::NotMet => "NOT MET",
            Self::CannotTell => "cannot tell",
        })
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
