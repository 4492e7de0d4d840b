//! What answers cost one core.

/// The deepest level of a shared cache, and 1.
pub const LEVELS: usize = 5;

/// Latencies of one core, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latencies {
    /// One clock cycle.
    pub cycle: u64,
    /// Instructions without memory that run in a thousand cycles.
    pub in_1000_cycles: u64,
    /// The pace of independent accesses: a cycle divided by the width.
    pub pace: u64,
    /// From a branch that went another way than foreseen to the next instruction; none if all are foreseen.
    pub misprediction: Option<u64>,
    /// First level.
    pub l1: u64,
    /// Private second level.
    pub l2: u64,
    /// Shared caches, by level.
    pub shared: [u64; LEVELS],
    /// The on-chip RAM.
    pub on_chip: u64,
    /// Another core's cache: the outermost shared cache asks that core, whose second level answers.
    pub other_core: u64,
    /// Until a line that is written in full has left the core.
    pub stream: u64,
    /// Between two attempts at a full set of a snoop filter: the cores' own cluster's, and the interconnect's.
    pub retry: [u64; 2],
}

impl Latencies {
    /// Picoseconds that so many instructions without memory take; a recording may claim any number of them.
    #[inline]
    pub fn instructions(&self, count: u64) -> u64 {
        count.saturating_mul(1000 * self.cycle) / self.in_1000_cycles
    }
}
