//! Closer looks at a case, where the experiment or the user asks for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::case::is_zero;

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

/// One of the longest samples, part by part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongSample {
    /// The repeat, from 1.
    pub repeat: u32,
    /// When it ended, from the start of the repeat.
    pub at_s: f64,
    /// Its length.
    pub ns: f64,
    /// What the core waited for, in the order in which it asked. Parts overlap where it did other things meanwhile.
    pub parts: Vec<SamplePart>,
    /// How many came after these, and are not kept; absent where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub further_parts: u64,
}

/// One thing that the core waited for in a sample.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SamplePart {
    /// When it was asked for, from the start of the sample; below 0 for what was in flight before.
    pub from_ns: f64,
    /// How long it took.
    pub ns: f64,
    /// What it was for: `data`, `code`, `a page table`, and of a `tick` loop `the stack` or `the recorder`.
    pub line: String,
    /// Where it came from: `L2`, `L3`, `another core`, `the on-chip RAM`, `memory`; or what stood before it: `an entry of
    /// the cluster's snoop filter` (or the interconnect's), `a line under way`.
    pub from: String,
    /// What made the line go: absent where it was never here, or long ago.
    pub lost: Option<String>,
    /// How long before it was asked for the line had gone.
    pub lost_before_ns: Option<f64>,
    /// How the time in the memory was spent.
    pub memory: Option<MemoryPart>,
}

/// How the time of a read in the memory was spent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPart {
    /// In front of the controller, which was full.
    pub in_front_ns: f64,
    /// For a write of the same line.
    pub for_write_ns: f64,
    /// Among the reads of its bank.
    pub in_bank_ns: f64,
    /// Reads that were before it there when it came.
    pub reads_ahead: u32,
    /// Commands that its bank gave to others meanwhile: younger reads of an open row, and writes.
    pub passed_by: u32,
    /// Refreshes of its bank meanwhile.
    pub refreshes: u32,
    /// To read it and to bring it to the core.
    pub to_read_ns: f64,
}

/// Who held how much of a shared cache, over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Occupancy {
    /// The cache's level.
    pub level: u8,
    /// Lines that it has room for.
    pub lines: u64,
    /// Its ways.
    pub ways: u32,
    /// Ways that the target's core may fill.
    pub target_ways: u32,
    /// Ways that the other cores may fill.
    pub others_ways: u32,
    /// When it was looked at, from the start of the repeat.
    pub at_s: Vec<f64>,
    /// Lines that the target's core had brought in, each time.
    pub target_lines: Vec<u64>,
    /// Lines that other cores had brought in, each time.
    pub others_lines: Vec<u64>,
}
