//! What an examination leaves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_linux::format_cpulist;

use crate::view::{ChosenBy, View};

/// How much something matters for the worst case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Tens of microseconds and more, and nothing bounds them.
    Serious,
    /// Microseconds, or rare, or only for some programs.
    Warning,
    /// To be known.
    Note,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Something is wrong.
    Found,
    /// Nothing is wrong.
    Fine,
    /// It is unknown here.
    NotSeen,
}

/// A file and what it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Seen {
    /// The file, or the register.
    pub file: String,
    /// What it holds, shortened where it is long.
    pub value: String,
}

impl Seen {
    /// A file and what it holds.
    pub fn new(file: impl Into<String>, value: impl Into<String>) -> Self {
        Self { file: file.into(), value: value.into() }
    }
}

/// What helps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "how", content = "what")]
pub enum Fix {
    /// A kernel parameter, to be added to the command line of the boot loader.
    Parameter(String),
    /// A command, as root; it holds until the machine is started again.
    Command(String),
    /// A setting of the firmware.
    Firmware(String),
    /// Something else, in words.
    Other(String),
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The check's name, which does not change between releases.
    pub id: String,
    /// What was looked at.
    pub subject: String,
    /// How it ended.
    pub outcome: Outcome,
    /// How much it matters, where something was found.
    pub severity: Option<Severity>,
    /// What was found, or what shows that nothing is wrong, or why it cannot be seen.
    pub what: String,
    /// Files and what they hold.
    pub seen: Vec<Seen>,
    /// Why it matters for latency.
    pub why: String,
    /// What helps, the best first.
    pub fixes: Vec<Fix>,
    /// Where that is written down.
    pub source: String,
}

/// What an examination leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Examination {
    /// Version of this format.
    pub format: u32,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The processor's name.
    pub processor: Option<String>,
    /// The hypervisor, where there is one.
    pub hypervisor: Option<String>,
    /// Cores that are online, as a list.
    pub online: String,
    /// The cores that are to answer in time, as a list.
    pub rt_cores: String,
    /// Who chose them.
    pub chosen_by: ChosenBy,
    /// One entry a check, in a fixed order.
    pub findings: Vec<Finding>,
}

impl Examination {
    pub(crate) fn new(view: &View, findings: Vec<Finding>) -> Self {
        Self {
            format: 1,
            kernel: view.release.clone(),
            processor: view.processor.clone(),
            hypervisor: view.hypervisor.clone(),
            online: format_cpulist(&view.online),
            rt_cores: format_cpulist(&view.rt_cores),
            chosen_by: view.chosen_by,
            findings,
        }
    }

    /// Whether anything serious was found.
    pub fn is_serious(&self) -> bool {
        self.of(Severity::Serious).next().is_some()
    }

    /// What was found of a severity.
    pub fn of(&self, severity: Severity) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.severity == Some(severity))
    }

    /// The findings that ended one way.
    pub fn ended(&self, outcome: Outcome) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.outcome == outcome)
    }
}

/// The JSON Schema of an [`Examination`].
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Examination)
}
