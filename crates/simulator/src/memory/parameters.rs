//! The memory's parameters, in the units of the simulation: picoseconds, and lines of the caches.

use waykeeper_platform::ReadAfterWrite;

use crate::memory::layout::Layout;
use crate::memory::regulator::Scheme;
use crate::memory::side_cache::SideCacheParameters;
use crate::time::Ps;

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
    pub crossing: Ps,
    /// The controller's choice of the next command.
    pub scheduler: Scheduler,
    /// From one line to the next on the way to the memory; 0 for no limit.
    pub line_time: Ps,
    /// Regulation of classes, and how many requests it sees at one time.
    pub regulation: Option<(Scheme, usize)>,
    /// A cache at the memory's side.
    pub cache: Option<SideCacheParameters>,
}

/// Times between the commands of a channel, and the length of a transfer. 0 is no limit, except for the first six.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timing {
    /// Activation to activation in one bank.
    pub trc: Ps,
    /// Activation to column command.
    pub trcd: Ps,
    /// Precharge to activation.
    pub trp: Ps,
    /// Column command to the data of a read.
    pub cl: Ps,
    /// Column command to the data of a write.
    pub cwl: Ps,
    /// Data bus time of a line.
    pub transfer: Ps,
    /// Activation to activation in a rank.
    pub trrd: Ps,
    /// First to fifth activation in a rank.
    pub tfaw: Ps,
    /// End of written data to precharge.
    pub twr: Ps,
    /// Read command to precharge.
    pub trtp: Ps,
    /// End of written data to the next read command in the rank.
    pub twtr: Ps,
    /// Idle time of the data bus between a read and a write, and between ranks.
    pub turnaround: Ps,
}

/// When what is refreshed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefreshRule {
    /// One bank of each rank after the other, instead of all at once.
    pub per_bank: bool,
    /// From one refresh to the next.
    pub trefi: Ps,
    /// Length of a refresh.
    pub trfc: Ps,
    /// Start of the first one.
    pub phase: Ps,
}

/// The controller's choice of the next command. Counts are those of each channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduler {
    /// Reads that the controller holds.
    pub queue_entries: usize,
    /// Age at which a write goes first.
    pub write_age: Ps,
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
