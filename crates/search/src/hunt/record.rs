//! What a hunt leaves behind.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_experiment::site::ExecutorKind;

/// Version of the record.
pub const SCHEMA: u32 = 1;

/// What a hunt found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HuntRecord {
    /// Version of this record.
    pub schema: u32,
    /// The experiment.
    pub experiment: String,
    /// Where it was hunted.
    pub platform: String,
    /// What ran the cases.
    pub executor: ExecutorKind,
    /// The target: workload and core.
    pub target: String,
    /// The cores of the neighbour.
    pub cores: Vec<u32>,
    /// What of the target counts: `mean`, `p99.99` or `max`.
    pub objective: String,
    /// The target's period, nanoseconds, where bursts with chosen offsets to it were among the candidates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_period_ns: Option<u64>,
    /// The target's buffer, bytes, where neighbours that access it in the place of their own were among the candidates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_buffer_bytes: Option<u64>,
    /// Unfair bundled workloads that were tried because they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// What the kernel does with split locks, where they were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_locks: Option<String>,
    /// stress-ng beside the others, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stress_ng: Option<StressNgRecord>,
    /// What the worst one found rests on, on a simulated platform.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<ReachedMechanism>,
    /// The rank of the worst one found where the platform's assumed parameters have other values, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<MemberRanks>,
    /// Candidates that were tried, also the bundled ones.
    pub tried: u64,
    /// How long it took, seconds.
    pub took_s: f64,
    /// It was stopped: the figures are from the repeats that chose the candidates.
    pub cut_short: bool,
    /// The best ones found and the bundled ones in fresh repeats, the worst neighbour first.
    pub candidates: Vec<Candidate>,
    /// The figure beside the worst neighbour found over that beside the worst bundled one, paired by repeat: mean and the limits of
    /// its t-interval, 95 % in all. Those that access the target's buffer are left out: no bundled one does.
    pub over_bundled: Option<[f64; 3]>,
    /// The figure beside the worst neighbour that accesses the target's buffer over that beside the worst one that does not, found or
    /// bundled, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing_over_others: Option<[f64; 3]>,
}

fn is_none_of_them(count: &u64) -> bool {
    *count == 0
}

/// stress-ng's stressors beside the other neighbours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StressNgRecord {
    /// What it says its version is.
    pub version: String,
    /// The stressors that were measured, the best of them more often.
    pub tried: Vec<String>,
    /// The installed stressors of its cache, memory and vm classes that were not.
    pub left_out: Vec<LeftOut>,
    /// The stressor with the largest mean slowdown in the fresh repeats.
    pub worst: Option<String>,
    /// The mean excess slowdown (s - 1) beside the worst neighbour that is no stressor over that beside the worst stressor, paired by
    /// repeat: the ratio and the limits of its interval, 95 % in all (Fieller); none where the stressor is not shown to slow the target.
    pub excess_ratio: Option<[f64; 3]>,
}

/// A part of a simulated platform that the figure of a neighbour rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReachedMechanism {
    /// The part.
    pub name: String,
    /// How many of its parameters are documented, measured, assumed, fitted and imposed.
    pub standing: BTreeMap<String, u32>,
    /// The keys of those that are neither documented nor measured.
    pub open: Vec<String>,
}

/// The worst neighbour found beside the bundled ones, on platforms whose assumed parameters were drawn from their ranges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberRanks {
    /// What each set of parameters says.
    pub sets: Vec<MemberSet>,
    /// Sets that were drawn and cannot be simulated.
    pub unusable: u64,
    /// Repeats of each neighbour in each.
    pub repeats: u64,
}

/// One set of parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberSet {
    /// Which neighbour it names.
    pub answer: MemberAnswer,
    /// Bundled ones that are shown to be worse than the winner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worse: Vec<String>,
    /// The winner, then the bundled ones.
    pub neighbours: Vec<MemberNeighbour>,
}

/// Which neighbour a set of parameters names as the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberAnswer {
    /// The winner: it is shown to be worse than every bundled one.
    Winner,
    /// Another: a bundled one is shown to be worse.
    Another,
    /// None: the differences lie within the noise of the repeats, or nothing has an effect.
    Nothing,
}

/// A neighbour in a set of parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberNeighbour {
    /// A bundled workload, or none for the winner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundled: Option<String>,
    /// The target's figure beside it over that alone, by repeat; none where it could not be measured.
    pub ratios: Vec<f64>,
    /// Mean of these; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
}

/// Stressors that were not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Why not.
    pub why: String,
    /// Their names.
    pub names: Vec<String>,
}

/// A neighbour and what it does to the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// A bundled workload, or none for one that was found.
    pub bundled: Option<String>,
    /// A program of others, as its command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What it does.
    pub called: String,
    /// It, or one of its patterns, accesses the target's buffer: neighbours that share no data with the target cannot do that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_lines: bool,
    /// The workload as a file, for one that was found, runs the same on all cores and has a buffer of its own.
    pub workload: Option<String>,
    /// For one that was found and differs by core or accesses the target's buffer: its workloads and on which core each runs, as in an
    /// experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<String>,
    /// The target's figure beside it over that alone, by fresh repeat.
    pub ratios: Vec<f64>,
    /// Mean of these.
    pub mean: f64,
    /// Limits of the mean's t-interval, 95 % in all; absent for a single repeat, which has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Repeats in which no sample of the target ended: their ratio is that of the repeat's length, and the true one is larger.
    #[serde(default, skip_serializing_if = "is_none_of_them")]
    pub unended: u64,
}

impl Candidate {
    /// One that was found, as a file that `--against` takes.
    pub fn file(&self) -> Option<&str> {
        self.workload.as_deref().or(self.neighbours.as_deref())
    }
}

/// The JSON Schema of a hunt's result.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(HuntRecord)
}
