//! What stands beside the figures of a run: budgets, expectations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_experiment::layout::CaseMetric;
use waykeeper_statistics::JudgementKind;

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
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectationRecord {
    /// What is said, in words.
    pub says: String,
    /// Where it is said.
    pub source: Option<String>,
    /// The statement.
    pub statement: String,
    /// The figure that it is about.
    pub metric: CaseMetric,
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
