//! What answers cost one core.

use crate::time::Ps;

/// The deepest level of a shared cache, and 1.
pub const LEVELS: usize = 5;

/// Latencies of one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latencies {
    /// One clock cycle.
    pub cycle: Ps,
    /// Instructions without memory that run in a thousand cycles.
    pub in_1000_cycles: u64,
    /// The pace of independent accesses: a cycle divided by the width.
    pub pace: Ps,
    /// From a mispredicted branch to the next instruction; none if all are predicted.
    pub misprediction: Option<Ps>,
    /// First level.
    pub l1: Ps,
    /// Private second level.
    pub l2: Ps,
    /// Shared caches, by level.
    pub shared: [Ps; LEVELS],
    /// The on-chip RAM.
    pub on_chip: Ps,
    /// Another core's cache: the outermost shared cache asks that core, whose second level answers.
    pub other_core: Ps,
    /// Until a line that is written in full has left the core.
    pub stream: Ps,
    /// Between two attempts at a full set of a snoop filter: the cores' own cluster's, and the interconnect's.
    pub retry: [Ps; 2],
}

impl Latencies {
    /// What so many instructions without memory take; a recording may claim any number of them.
    #[inline]
    pub fn instructions(&self, count: u64) -> Ps {
        (self.cycle * 1000).saturating_mul(count) / self.in_1000_cycles
    }
}
