//! The memory's parameters, in the units of the simulation.

use waykeeper_platform::ReadAfterWrite;

/// Timing in picoseconds, and the controller's rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// Banks: a power of two, at most 64.
    pub banks: usize,
    /// log2 of the lines in a row.
    pub row_lines_log2: u32,
    /// Activation to activation.
    pub trc: u64,
    /// Activation to column command.
    pub trcd: u64,
    /// Precharge to activation.
    pub trp: u64,
    /// Column command to data.
    pub cl: u64,
    /// Data bus time of a line.
    pub transfer: u64,
    /// Refresh to refresh.
    pub trefi: u64,
    /// Length of a refresh.
    pub trfc: u64,
    /// Start of the first refresh.
    pub refresh_phase: u64,
    /// Way to the controller and back.
    pub crossing: u64,
    /// Reads that the controller holds.
    pub queue_entries: usize,
    /// Age at which a write goes first.
    pub write_age: u64,
    /// Waiting writes from which writes go first.
    pub write_high: usize,
    /// Waiting writes at which reads go first again.
    pub write_low: usize,
    /// Where a read lines up that waited for a write.
    pub read_after_write: ReadAfterWrite,
}
