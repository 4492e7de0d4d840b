//! What lies beyond the last shared cache: interconnect and memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::param::Param;
use crate::shared::SnoopFilter;

/// What lies between the last shared cache and the memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interconnect {
    /// Nanoseconds that a read spends on its way to the memory controller and back, without waiting.
    pub crossing_ns: Param<f64>,
    /// The interconnect's own filter, which tracks all lines in the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snoop_filter: Option<SnoopFilter>,
}

/// A memory channel and its controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Kind and speed, for people.
    pub kind: String,
    /// Capacity in MiB.
    pub size_mib: Param<u64>,
    /// How physical pages are given to workloads.
    pub placement: Param<Placement>,
    /// Banks.
    pub banks: Param<u64>,
    /// Consecutive bytes in one bank before the next bank follows; also the bytes of one open row.
    pub row_bytes: Param<u64>,
    /// Activation to activation in one bank.
    pub trc_ns: Param<f64>,
    /// Activation to column command.
    pub trcd_ns: Param<f64>,
    /// Precharge to activation.
    pub trp_ns: Param<f64>,
    /// Column command to the first data of a read.
    pub cl_ns: Param<f64>,
    /// Data bus time of one line.
    pub line_transfer_ns: Param<f64>,
    /// From one refresh of all banks to the next.
    pub trefi_ns: Param<f64>,
    /// Length of a refresh.
    pub trfc_ns: Param<f64>,
    /// The controller's choice of the next command.
    pub scheduler: Scheduler,
}

/// The controller's choice of the next command: reads before writes, oldest first in each bank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scheduler {
    /// Requests that the controller holds. Those beyond wait outside, where priorities count; inside they do not.
    pub queue_entries: Param<u64>,
    /// A write that has waited so long goes before the reads of its bank.
    pub write_age_ns: Param<f64>,
    /// Writes go first from this many waiting writes ...
    pub write_high_watermark: Param<u64>,
    /// ... until so many are left.
    pub write_low_watermark: Param<u64>,
    /// A read of a line that a write is waiting for goes after that write; where it lines up then.
    pub read_after_write: Param<ReadAfterWrite>,
    /// Control: classes can be given a higher priority before the controller.
    pub priorities: Param<bool>,
}

/// Where a read lines up that had to wait for a write of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadAfterWrite {
    /// Before the other reads of its bank, as it is the oldest.
    First,
    /// Behind the other reads of its bank.
    Last,
}

/// How physical pages are given to workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Each buffer is one physically contiguous piece, as without an operating system.
    Contiguous,
    /// Each page of 4 KiB lies anywhere, as under an operating system.
    RandomPages,
}
