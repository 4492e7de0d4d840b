//! The memory's parameters, in the units of the simulation: picoseconds, and lines of the caches.

use waykeeper_platform::ReadAfterWrite;

use crate::memory::layout::Layout;
use crate::memory::regulator::Scheme;
use crate::memory::side_cache::SideCacheParameters;

/// All of a memory's parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryParameters {
    /// Bytes in a line.
    pub line_bytes: u64,
    /// Where lines lie.
    pub layout: Layout,
    /// Times between commands.
    pub timing: Timing,
    /// Refreshes.
    pub refresh: RefreshRule,
    /// Lines of check bits that a controller with inline ECC holds.
    pub check_lines: usize,
    /// Way to the controller and back.
    pub crossing: u64,
    /// The controller's choice of the next command.
    pub scheduler: Scheduler,
    /// From one line to the next on the way to the memory; 0 for no limit.
    pub line_time: u64,
    /// Regulation of classes, and how many requests it sees at one time.
    pub regulation: Option<(Scheme, usize)>,
    /// A cache at the memory's side.
    pub cache: Option<SideCacheParameters>,
}

/// Times between the commands of a channel, and the length of a transfer. 0 is no limit, except for the first six.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timing {
    /// Activation to activation in one bank.
    pub trc: u64,
    /// Activation to column command.
    pub trcd: u64,
    /// Precharge to activation.
    pub trp: u64,
    /// Column command to the data of a read.
    pub cl: u64,
    /// Column command to the data of a write.
    pub cwl: u64,
    /// Data bus time of a line.
    pub transfer: u64,
    /// Activation to activation in a rank.
    pub trrd: u64,
    /// First to fifth activation in a rank.
    pub tfaw: u64,
    /// End of written data to precharge.
    pub twr: u64,
    /// Read command to precharge.
    pub trtp: u64,
    /// End of written data to the next read command in the rank.
    pub twtr: u64,
    /// Idle time of the data bus between a read and a write, and between ranks.
    pub turnaround: u64,
}

/// When what is refreshed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefreshRule {
    /// One bank of each rank after the other, instead of all at once.
    pub per_bank: bool,
    /// From one refresh to the next.
    pub trefi: u64,
    /// Length of a refresh.
    pub trfc: u64,
    /// Start of the first one.
    pub phase: u64,
}

/// The controller's choice of the next command. Counts are those of each channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduler {
    /// Reads that the controller holds.
    pub queue_entries: usize,
    /// Age at which a write goes first.
    pub write_age: u64,
    /// Writes that the controller holds.
    pub write_entries: usize,
    /// Waiting writes from which writes go first.
    pub write_high: usize,
    /// Waiting writes at which reads go first again.
    pub write_low: usize,
    /// Whether no read of the channel begins while writes go first, rather than none of banks with writes.
    pub drains_channel: bool,
    /// Where a read lines up that waited for a write.
    pub read_after_write: ReadAfterWrite,
    /// Whether priorities count among the reads of a bank too.
    pub priorities_in_banks: bool,
    /// Younger requests of the open row that may pass the oldest request of a bank; 0 for the order of arrival.
    pub row_hits_in_a_row: u32,
}
