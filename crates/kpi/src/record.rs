//! What a session keeps beside its runs: its settings, and each boot.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_doctor::{Examination, Outcome, Severity};

use crate::settings::KpiSettings;

/// The version of the record and of the report.
pub const SCHEMA: u32 = 1;

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KpiRecord {
    /// Version of this record.
    pub schema: u32,
    /// The program that wrote it.
    pub version: String,
    /// What is measured.
    pub settings: KpiSettings,
    /// The boots, in their order.
    pub boots: Vec<BootRecord>,
}

/// What was measured with one setting of the firmware and the boot loader.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootRecord {
    /// What the user says of it, such as `tcc-mode` = `on`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// When it began, RFC 3339.
    pub started: String,
    /// The kernel's number of the boot, as a hash; absent where it cannot be read.
    pub boot: Option<String>,
    /// What the doctor found, without what is fine.
    pub doctor: Vec<DoctorFinding>,
    /// Its runs, in their order.
    pub runs: Vec<MeasuredRun>,
}

/// What one of the doctor's checks found, or could not see.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorFinding {
    /// The check.
    pub id: String,
    /// `serious`, `warning` or `note`; absent where it could not be seen.
    pub severity: Option<String>,
    /// What was found, or why it cannot be seen.
    pub what: String,
}

/// A run of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredRun {
    /// What it measures.
    pub measurand: String,
    /// Its folder, in the session's.
    pub folder: String,
}

impl DoctorFinding {
    /// Whether it would spoil a result.
    pub fn is_serious(&self) -> bool {
        self.severity.as_deref() == Some("serious")
    }

    /// What an examination found, the worst first, without what is fine.
    pub fn of(examination: &Examination) -> Vec<Self> {
        let mut found: Vec<_> =
            examination.findings.iter().filter(|finding| finding.outcome != Outcome::Fine).collect();
        found.sort_by_key(|finding| (finding.outcome == Outcome::NotSeen, finding.severity));
        let severity = |severity: Severity| match severity {
            Severity::Serious => "serious",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let of = |finding: &&waykeeper_doctor::Finding| Self {
            id: finding.id.clone(),
            severity: finding.severity.filter(|_| finding.outcome == Outcome::Found).map(|it| severity(it).to_owned()),
            what: finding.what.clone(),
        };
        found.iter().map(of).collect()
    }
}

impl BootRecord {
    /// Its labels as one text, such as `tcc-mode=on`.
    pub fn called(&self) -> String {
        let labels: Vec<_> = self.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        labels.join(", ")
    }
}
