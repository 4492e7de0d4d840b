//! What became of a read on its way through the memory.

/// How a read got through its channel. Times are in picoseconds from time 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadPath {
    /// When the controller took it.
    pub admitted_ps: u64,
    /// Until when it waited for a write of the same line, if it did.
    pub held_until_ps: Option<u64>,
    /// When its command was issued.
    pub issued_ps: u64,
    /// Reads of its bank that were before it when it came.
    pub reads_ahead: u32,
    /// Commands of its bank meanwhile that were none of these: writes, and reads that went first.
    pub passed_by: u32,
    /// Refreshes of its bank that it met.
    pub refreshes: u32,
}
