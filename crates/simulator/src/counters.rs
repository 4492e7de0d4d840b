//! What an engine has counted since it began.

/// Counts of one core.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CoreCounters {
    /// Accesses that were answered or sent to memory.
    pub accesses: u64,
    /// Answered by the first level.
    pub l1_hits: u64,
    /// Answered by the second level.
    pub l2_hits: u64,
    /// Answered by the shared cache.
    pub shared_hits: u64,
    /// Answered by another core's cache.
    pub transfers: u64,
    /// Lines read from memory.
    pub memory_reads: u64,
    /// Bytes read from memory.
    pub bytes_from_memory: u64,
    /// Lines lost because the cluster's snoop filter needed their entries.
    pub invalidated_by_cluster: u64,
    /// Lines lost because the interconnect's snoop filter needed their entries.
    pub invalidated_by_interconnect: u64,
    /// Lines lost because an inclusive cache further out lost them.
    pub invalidated_by_inclusion: u64,
    /// Lines lost because another core wrote them.
    pub invalidated_by_writes: u64,
    /// Times that every entry of a line's set in the cluster's filter waited for a fill.
    pub cluster_waits: u64,
    /// Times that every entry of a line's set in the interconnect's filter waited for a fill.
    pub interconnect_waits: u64,
    /// Picoseconds that the core stood still for lines from the shared cache or another core.
    pub stalled_for_shared_ps: u64,
    /// Picoseconds that the core stood still for memory.
    pub stalled_for_memory_ps: u64,
    /// Picoseconds that the core stood still for an entry of a filter.
    pub stalled_for_filters_ps: u64,
}

/// Why a core lost a line that nothing of its own pushed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The filter of a shared cache needed its entry.
    ClusterFilter,
    /// The interconnect's filter needed its entry.
    InterconnectFilter,
    /// An inclusive cache further out needed its place.
    Inclusion,
    /// Another core wrote it.
    Write,
}

impl CoreCounters {
    /// Counts a lost line.
    pub fn lost(&mut self, loss: Loss) {
        *match loss {
            Loss::ClusterFilter => &mut self.invalidated_by_cluster,
            Loss::InterconnectFilter => &mut self.invalidated_by_interconnect,
            Loss::Inclusion => &mut self.invalidated_by_inclusion,
            Loss::Write => &mut self.invalidated_by_writes,
        } += 1;
    }
}

/// Counts of the shared cache and the filters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SharedCounters {
    /// Lines that the shared cache took.
    pub allocations: u64,
    /// Lines that passed it in its no-allocate mode.
    pub bypassed: u64,
    /// Lines that the cluster's filter threw out of the cores.
    pub cluster_filter_evictions: u64,
    /// Lines that the interconnect's filter threw out of the cluster.
    pub interconnect_filter_evictions: u64,
    /// Picoseconds in the no-allocate mode.
    pub no_allocate_ps: u64,
    /// How often that mode began.
    pub no_allocate_entries: u64,
}

/// Counts of the memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryCounters {
    /// Lines read.
    pub reads: u64,
    /// Lines written.
    pub writes: u64,
    /// Writes that went before reads because of their age.
    pub aged_writes: u64,
    /// Reads that had to wait for a write of their line.
    pub reads_behind_writes: u64,
    /// Commands that found their row open.
    pub row_hits: u64,
    /// Commands that had to open their row.
    pub row_misses: u64,
    /// Refreshes that began.
    pub refreshes: u64,
    /// Lines of check bits that were read; they are part of `reads`.
    pub check_reads: u64,
    /// Lines of check bits that are to be written; once they are, they are part of `writes`.
    pub check_writes: u64,
}

impl MemoryCounters {
    /// The sums of two counts.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            aged_writes: self.aged_writes + other.aged_writes,
            reads_behind_writes: self.reads_behind_writes + other.reads_behind_writes,
            row_hits: self.row_hits + other.row_hits,
            row_misses: self.row_misses + other.row_misses,
            refreshes: self.refreshes + other.refreshes,
            check_reads: self.check_reads + other.check_reads,
            check_writes: self.check_writes + other.check_writes,
        }
    }
}

/// Traffic of a class, as its monitors would count it where its requests enter the memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassTraffic {
    /// Bytes that it read.
    pub bytes_read: u64,
    /// Bytes that it wrote.
    pub bytes_written: u64,
}

/// Everything an engine has counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// By core, in the order of the core numbers.
    pub cores: Vec<(waykeeper_platform::CoreId, CoreCounters)>,
    /// Shared cache and filters.
    pub shared: SharedCounters,
    /// Memory.
    pub memory: MemoryCounters,
}

impl Counters {
    /// The counts of a core.
    pub fn core(&self, core: waykeeper_platform::CoreId) -> Option<&CoreCounters> {
        self.cores.iter().find(|(id, _)| *id == core).map(|(_, counts)| counts)
    }
}
