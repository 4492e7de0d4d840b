//! What stands beside the figures of a run: published ones, budgets, expectations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::layout::Metric;
use crate::statistics::JudgementKind;

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
