//! What a run leaves: the schema of `run.json`.
//!
//! A key that does not apply is absent, never null or 0. Times are nanoseconds unless the key says otherwise.

mod case;
mod fast_check;
mod figures;
mod looks;
mod packets;
mod place;
mod ranges;
mod sampled;

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_experiment::layout::TableLayout;
use waykeeper_experiment::site::{ExecutorKind, RefusalRecord};
use waykeeper_experiment::sweep::SweepRecord;

pub use case::{CaseRecord, NeighbourRecord, NeighbourWork, Peak, PlacementRecord, RepeatRecord};
pub use fast_check::FastCheck;
pub use figures::{BudgetRecord, ExpectationRecord, Met};
pub use looks::{LongSample, MemoryPart, Occupancy, SamplePart, Shape};
pub use packets::{GeneratorAccount, LatePacket, PacketRecord};
pub use place::{ClockRecord, ImportRecord, MachineRecord, ParameterRecord, Parameters, Privilege, Provenance, Tool};
pub(crate) use ranges::check_numbers;
pub use sampled::SampledRecord;

/// The version of the schema that this program writes, and the newest that it reads.
pub const SCHEMA: u32 = 1;

/// A whole run.
#[skip_serializing_none]
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
    /// The tool that took the samples, where they were imported.
    pub imported: Option<ImportRecord>,
    /// Length of a case and repeat as asked, seconds.
    pub duration_s: f64,
    /// A repeat of a case with samples ends with so many, if they come before that length (simulator only).
    pub simulated_samples: Option<u64>,
    /// The interval of `peaks`, seconds, where a repeat is longer.
    pub peak_interval_s: Option<f64>,
    /// Repeats as asked.
    pub repeats: u32,
    /// The seed.
    pub seed: u64,
    /// The run was interrupted: what was measured until then is here.
    pub cut_short: bool,
    /// The clock that timed the samples.
    pub clock: ClockRecord,
    /// The machine that it ran on.
    pub machine: MachineRecord,
    /// What the platform's figures rest on (simulator only).
    pub parameters: Option<Parameters>,
    /// Hashes of what it was made from.
    pub provenance: Option<Provenance>,
    /// What was asked of the system, and what it gave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub privileges: Vec<Privilege>,
    /// What this place could not do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusalRecord>,
    /// The sweeps of the experiment, with the points that were run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<SweepRecord>,
    /// What the tables show, where the experiment says so.
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

/// The JSON Schema of `run.json`.
pub fn schema() -> Schema {
    schema_for!(Run)
}
