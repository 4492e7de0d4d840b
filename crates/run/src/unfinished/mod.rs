//! A run that has not ended: each repeat is appended to `repeats.log` as it ends, so that a killed run loses none of them.
//!
//! One record a line: the CRC-32 of its JSON in eight hexadecimal digits, a space, the JSON. The first line is the
//! [`Header`]; then come [`JournalEntry`] lines, each synchronised to the disk before the next repeat counts.

mod read;
mod write;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use waykeeper_experiment::cases::Plan;

use crate::measurement::Measurement;
use crate::record::Run;
use crate::shard::Shard;

pub use read::{Unfinished, read};
pub(crate) use write::put;
pub use write::{Log, lock};

/// Name of the log in a run's folder.
pub const REPEATS_FILE: &str = "repeats.log";

/// Version of the log's format of a whole run.
pub const FORMAT: u32 = 1;

/// Version of the log's format of a shard: programs that know no shards must not take it for a whole run.
pub const SHARD_FORMAT: u32 = 2;

/// What a run is, as far as it is known before its first repeat has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format.
    pub format: u32,
    /// The record of the run, without cases.
    pub run: Run,
    /// The cases, in their order: the tag of the first one is `c01`.
    pub plan: Plan,
    /// What is an excursion in each case, nanoseconds.
    pub thresholds_ns: Vec<Option<f64>>,
    /// The budgets, as written.
    pub budgets: Vec<String>,
    /// How many of the longest samples of a case are explained.
    pub explain: usize,
    /// Whether simulated neighbours skip what cannot touch the target.
    pub fast: bool,
    /// The part of the run that is measured here, where it is not the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The machine that measures: a hash of its name for itself, where it has one and is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Whether wall time is left out, so that equal inputs leave equal bytes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reproducible: bool,
    /// CRC-32 of `experiment.toml` beside it.
    pub experiment_crc: u32,
    /// CRC-32 of each file that the experiment names, by its path.
    pub files: BTreeMap<String, u32>,
}

/// One line after the header.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalEntry {
    /// A repeat has ended.
    Repeat(Box<EndedRepeat>),
    /// The run was resumed.
    Resumed {
        /// When, RFC 3339.
        at: String,
    },
}

/// A repeat that has ended in its time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EndedRepeat {
    /// The tag of its case.
    pub case: String,
    /// Its number, from 1.
    pub repeat: u32,
    /// When it ended, RFC 3339.
    pub at: String,
    /// All that was measured.
    pub measurement: Measurement,
}

/// A time in which nothing was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interruption {
    /// When the last repeat before it ended, RFC 3339.
    pub from: String,
    /// When the run was resumed, RFC 3339.
    pub to: String,
    /// Repeats before it, of all cases.
    pub repeats: usize,
}

/// CRC-32 of a file's content, for [`Header`]; of a file that cannot be read, 0.
pub fn checksum(path: &str) -> u32 {
    waykeeper_platform::read_text(path).map_or(0, |text| checksum_of(&text))
}

/// CRC-32 of a text.
pub fn checksum_of(text: &str) -> u32 {
    crc32fast::hash(text.as_bytes())
}
