//! What lies beyond the last shared cache: interconnect and memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::describe::Replacement;
use crate::param::Param;
use crate::shared::SnoopFilterDescription;

/// What lies between the last shared cache and the memory.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interconnect {
    /// Nanoseconds that a read spends on its way to the memory controller and back, without waiting.
    pub crossing_ns: Param<f64>,
    /// Nanoseconds from one line to the next through the way to the memory, over all channels; no limit where absent.
    pub line_ns: Option<Param<f64>>,
    /// Control: MHz of a step of the clock of the ring and the last shared cache (Intel, MSR 0x620).
    pub ring_step_mhz: Option<Param<u64>>,
    /// The interconnect's own filter, which tracks all lines in the cluster.
    pub snoop_filter: Option<SnoopFilterDescription>,
    /// A cache at the memory's side of the interconnect (system memory cache).
    pub memory_cache: Option<MemoryCache>,
}

/// A cache at the memory's side: it holds lines whatever the clusters hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryCache {
    /// Capacity in KiB of each of its parts.
    pub size_kib: Param<u64>,
    /// Associativity.
    pub ways: Param<u64>,
    /// Independent parts; the lowest bits of the line address choose one.
    pub parts: Param<u64>,
    /// The choice of the victim.
    pub replacement: Param<Replacement>,
    /// Nanoseconds from the memory controller's door that a hit saves or costs: from request to answer of a hit.
    pub hit_ns: Param<f64>,
    /// Control: whether a read that misses allocates.
    pub read_allocation: Param<bool>,
    /// Control: whether a write of a changed line allocates.
    pub dirty_write_allocation: Param<bool>,
}

/// A file need not have the keys that its memory takes from elsewhere.
fn may_come_from_a_part(schema: &mut schemars::Schema) {
    schema.remove("required");
}

/// Memory on the chip that needs no cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnChipRam {
    /// Capacity in KiB.
    pub size_kib: Param<u64>,
    /// Nanoseconds from a first-level miss to the line.
    pub latency_ns: Param<f64>,
}

/// Memory channels and their controllers.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = may_come_from_a_part)]
pub struct MemoryDescription {
    /// One of the bundled memories (`platforms/memory/`), which supplies what is absent here. An alternative memory takes
    /// `size_mib`, `placement` and `scheduler` from the platform's `memory` where it lacks them.
    pub part: Option<String>,
    /// Kind and speed, for people.
    pub kind: String,
    /// Capacity in MiB.
    pub size_mib: Param<u64>,
    /// How physical pages are given to workloads.
    pub placement: Param<Placement>,
    /// Independent channels; 1 where absent.
    pub channels: Option<Param<u64>>,
    /// Consecutive bytes in one channel before the next follows; a line where absent.
    pub channel_interleave_bytes: Option<Param<u64>>,
    /// Whether the channel is a hash of all address bits above its pieces; it is the lowest of them where absent.
    pub channel_hash: Option<Param<bool>>,
    /// Ranks of each channel; 1 where absent.
    pub ranks: Option<Param<u64>>,
    /// Banks of each rank.
    pub banks: Param<u64>,
    /// Whether bank and rank are hashed with the lowest bits of the row; they are not where absent.
    pub bank_hash: Option<Param<bool>>,
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
    /// Column command to the first data of a write; `cl_ns` where absent.
    pub cwl_ns: Option<Param<f64>>,
    /// Activation to activation in different banks of a rank; no limit where absent.
    pub trrd_ns: Option<Param<f64>>,
    /// The time in which a rank can begin four activations; no limit where absent.
    pub tfaw_ns: Option<Param<f64>>,
    /// End of a write's data to the precharge of its bank; no limit where absent.
    pub twr_ns: Option<Param<f64>>,
    /// Read command to the precharge of its bank; 0 where absent.
    pub trtp_ns: Option<Param<f64>>,
    /// End of a write's data to the next read command of the rank; no limit where absent.
    pub twtr_ns: Option<Param<f64>>,
    /// Idle time of the data bus between a read and a write, and between ranks; 0 where absent.
    pub turnaround_ns: Option<Param<f64>>,
    /// From one refresh to the next: of all banks, or of the next bank if `refresh` is per bank.
    pub trefi_ns: Param<f64>,
    /// Length of a refresh.
    pub trfc_ns: Param<f64>,
    /// What one refresh closes; all banks of the channel where absent.
    pub refresh: Option<Param<RefreshKind>>,
    /// Error correction; none where absent.
    pub ecc: Option<Param<Ecc>>,
    /// Where inline ECC has its check bits; in the row of their data where absent.
    pub check_bits: Option<Param<CheckBits>>,
    /// Lines of check bits that the controller of each channel holds with inline ECC; 8 where absent.
    pub check_buffer_lines: Option<Param<u64>>,
    /// The controller's choice of the next command.
    pub scheduler: SchedulerDescription,
}

/// The controller's choice of the next command: reads before writes, oldest first in each bank.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulerDescription {
    /// Requests that the controller holds. Those beyond wait outside, where priorities count; inside they do not.
    pub queue_entries: Param<u64>,
    /// A write that has waited so long goes before the reads of its bank.
    pub write_age_ns: Param<f64>,
    /// Writes go first from this many waiting writes of a channel ...
    pub write_high_watermark: Param<u64>,
    /// ... until so many are left.
    pub write_low_watermark: Param<u64>,
    /// Which reads wait meanwhile; those of banks with writes where absent.
    pub drain: Option<Param<Drain>>,
    /// A read of a line that a write is waiting for goes after that write; where it lines up then.
    pub read_after_write: Param<ReadAfterWrite>,
    /// Control: classes can be given a higher priority before the controller.
    pub priorities: Param<bool>,
    /// How far a priority reaches; before the controller only where absent.
    pub priority_reach: Option<Param<PriorityReach>>,
    /// The order of the reads of one bank, and of its writes; that of their arrival where absent.
    pub order: Option<Param<CommandOrder>>,
    /// Younger requests of an open row that may pass the oldest one, with `row_hits_first`; 16 where absent.
    pub row_hits_in_a_row: Option<Param<u64>>,
    /// Writes that the controller of each channel holds at most; unlimited where absent. A further one makes its class wait:
    /// it and everything that comes after it wait in front of the controller.
    pub write_entries: Option<Param<u64>>,
}

/// How far a priority reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PriorityReach {
    /// Only where requests wait for a place in the controller.
    BeforeController,
    /// Also among the reads of each bank.
    BankQueues,
}

/// Which reads wait while writes go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Drain {
    /// Those of banks with writes.
    Banks,
    /// All of the channel, so that the data bus turns round only twice.
    Channel,
}

/// The order of the requests of one bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandOrder {
    /// Oldest first.
    Arrival,
    /// Those of the open row first, then the oldest (FR-FCFS).
    RowHitsFirst,
}

/// What one refresh closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefreshKind {
    /// All banks.
    AllBanks,
    /// One bank after the other.
    PerBank,
}

/// Error correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ecc {
    /// None.
    None,
    /// Check bits have dies of their own and travel beside the data: no further transfers.
    Sideband,
    /// Check bits lie in the same dies: a line of them covers eight lines of data, and is read with them unless the controller
    /// still has it; a write reads and writes it.
    Inline,
}

/// Where inline ECC has its check bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckBits {
    /// In the last eighth of the row whose data they cover: a row then holds an eighth less data.
    SameRow,
    /// Behind all data, as one piece.
    BehindData,
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
