//! What accesses want of the hierarchy, and what it answers.

/// What an access wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Data to read.
    Read,
    /// Data to change.
    Write,
    /// Instructions.
    Fetch,
}

/// Where an access was answered, or why it was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// First level.
    L1,
    /// Second level.
    L2,
    /// Shared cache.
    Shared,
    /// Another core's cache.
    OtherCore,
    /// Nowhere: the entries are taken, and [`fill`](crate::hierarchy::Hierarchy::fill) must follow when memory has answered.
    Memory,
    /// The line is already under way.
    UnderWay,
    /// Every entry of the cluster's filter set waits for a fill.
    ClusterBusy,
    /// Every entry of the interconnect's filter set waits for a fill.
    InterconnectBusy,
}
