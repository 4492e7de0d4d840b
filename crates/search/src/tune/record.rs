//! What a search leaves behind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_statistics::JudgementKind;

use super::dimension::TuneOver;

/// Version of the record.
pub const SCHEMA: u32 = 1;

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tuned {
    /// Version of this record.
    pub schema: u32,
    /// The experiment.
    pub experiment: String,
    /// Where it was searched.
    pub platform: String,
    /// What ran the cases.
    pub executor: ExecutorKind,
    /// The target: workload and core.
    pub target: String,
    /// What ran beside it, a text for each setting.
    pub settings: Vec<String>,
    /// The budgets, as written.
    pub budgets: Vec<String>,
    /// How long the search took, seconds.
    pub took_s: f64,
    /// The time ran out, or it was stopped.
    pub cut_short: bool,
    /// The budgets hold without any measure.
    pub already_met: bool,
    /// The answer: the candidate of `candidates` that takes the least of those that were confirmed.
    pub answer: Option<String>,
    /// The policy file of the answer.
    pub policy: Option<String>,
    /// Candidates by which one pays more to get more: none takes less and has a smaller largest sample.
    pub front: Vec<String>,
    /// The target under no measure.
    pub none: Candidate,
    /// What breaks a budget where the target runs alone and without any measure, as a sentence; none where nothing does, or that was
    /// not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone_broken: Option<String>,
    /// Each kind of measure, and how its search ended.
    pub families: Vec<FamilyRecord>,
}

/// How the search of one kind of measure ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FamilyOutcome {
    /// A candidate was confirmed.
    Holds,
    /// The strongest candidate was seen broken.
    NoneHolds,
    /// A candidate was not seen broken, in too little data.
    TooThin,
    /// The place refuses it.
    Refused,
    /// There was no time for it.
    NotTried,
}

/// One kind of measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FamilyRecord {
    /// What it is.
    pub what: String,
    /// What of the machine it uses.
    pub dimensions: Vec<TuneOver>,
    /// How its search ended.
    pub outcome: FamilyOutcome,
    /// Why some of its candidates were refused, or all of them: those are not listed.
    pub why: Option<String>,
    /// Its answer.
    pub answer: Option<String>,
    /// The candidate that needs no more misses than the whole cache, by computation.
    pub computed: Option<String>,
    /// Candidates, from the smallest share to the largest, also those that were not tried.
    pub candidates: Vec<Candidate>,
}

impl FamilyRecord {
    /// The candidate that is its answer.
    pub fn answered(&self) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| Some(&candidate.name) == self.answer.as_ref())
    }
}

/// A candidate and what was seen of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// Short; its policy is in the file of that name.
    pub name: String,
    /// What it is.
    pub called: String,
    /// What it takes from everyone else, as a share of what there is.
    pub taken: f64,
    /// Broken, not seen broken, or too thin to say; none where it was not measured.
    pub judged: Option<JudgementKind>,
    /// The same as a sentence.
    pub judgement: Option<String>,
    /// What was seen of it.
    pub seen: Option<SeenRecord>,
}

/// What was seen of a candidate, over all settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenRecord {
    /// Whether these are the fresh repeats of a confirmation.
    pub fresh: bool,
    /// Repeats, each with memory placed anew.
    pub placements: u64,
    /// With 95 % confidence, fewer placements than this share break the budget, where none was seen to.
    pub placements_below: Option<f64>,
    /// Repeats that do not count besides, and why, as a text for each setting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_counted: Vec<String>,
    /// Samples.
    pub samples: u64,
    /// The time in which they were taken, seconds.
    pub exposure_s: f64,
    /// The largest sample, nanoseconds.
    pub max_ns: Option<f64>,
    /// The mean, nanoseconds.
    pub mean_ns: Option<f64>,
    /// Misses a sample.
    pub misses_per_sample: Option<f64>,
    /// Mean beside the neighbours over the mean alone without any measure.
    pub slowdown: Option<f64>,
    /// Mean alone over the mean alone without any measure.
    pub cost_alone: Option<f64>,
    /// Accesses of the neighbours a second over those without any measure.
    pub neighbours: Option<f64>,
}

/// The JSON Schema of a search's result.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Tuned)
}
