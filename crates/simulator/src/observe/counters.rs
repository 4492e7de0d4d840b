//! What an engine has counted since it began.

use crate::observe::losses::Cause;

/// Counts of one core.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CoreCounters {
    /// Accesses that were answered or sent to memory.
    pub accesses: u64,
    /// Accesses that the fast path skipped, besides these.
    pub skipped_accesses: u64,
    /// Answered by the first level.
    pub l1_hits: u64,
    /// Answered by the second level.
    pub l2_hits: u64,
    /// Answered by the shared cache.
    pub shared_hits: u64,
    /// Answered by another core's cache.
    pub transfers: u64,
    /// Answered by the on-chip RAM.
    pub on_chip_reads: u64,
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
    /// Misses by cause; only of cores that are watched.
    pub misses: Misses,
    /// Picoseconds that the core stood still for lines from the shared cache or another core.
    pub stalled_for_shared_ps: u64,
    /// Picoseconds that the core stood still for memory.
    pub stalled_for_memory_ps: u64,
    /// Picoseconds that the core stood still for an entry of a filter.
    pub stalled_for_filters_ps: u64,
}

/// Accesses of a watched core that its own caches could not answer, by why they had lost the line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Misses {
    /// The line was never there.
    pub cold: u64,
    /// A line that the core itself brought in took its place.
    pub own: u64,
    /// A line that another core brought in took its place.
    pub neighbour: u64,
    /// The filter of a shared cache needed its entry.
    pub cluster_filter: u64,
    /// The interconnect's filter needed its entry.
    pub interconnect_filter: u64,
    /// An inclusive cache further out lost it.
    pub inclusion: u64,
    /// Another core wrote it.
    pub write: u64,
    /// The shared cache was in its no-allocate mode when the line left the core.
    pub not_allocated: u64,
    /// Every way that the line may fill was locked, or it may fill none.
    pub refused: u64,
}

impl Misses {
    fn since(&self, before: &Self) -> Self {
        Self {
            cold: self.cold - before.cold,
            own: self.own - before.own,
            neighbour: self.neighbour - before.neighbour,
            cluster_filter: self.cluster_filter - before.cluster_filter,
            interconnect_filter: self.interconnect_filter - before.interconnect_filter,
            inclusion: self.inclusion - before.inclusion,
            write: self.write - before.write,
            not_allocated: self.not_allocated - before.not_allocated,
            refused: self.refused - before.refused,
        }
    }
}

impl CoreCounters {
    /// What was counted after these counts were taken.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            accesses: self.accesses - before.accesses,
            skipped_accesses: self.skipped_accesses - before.skipped_accesses,
            l1_hits: self.l1_hits - before.l1_hits,
            l2_hits: self.l2_hits - before.l2_hits,
            shared_hits: self.shared_hits - before.shared_hits,
            transfers: self.transfers - before.transfers,
            on_chip_reads: self.on_chip_reads - before.on_chip_reads,
            memory_reads: self.memory_reads - before.memory_reads,
            bytes_from_memory: self.bytes_from_memory - before.bytes_from_memory,
            invalidated_by_cluster: self.invalidated_by_cluster - before.invalidated_by_cluster,
            invalidated_by_interconnect: self.invalidated_by_interconnect - before.invalidated_by_interconnect,
            invalidated_by_inclusion: self.invalidated_by_inclusion - before.invalidated_by_inclusion,
            invalidated_by_writes: self.invalidated_by_writes - before.invalidated_by_writes,
            cluster_waits: self.cluster_waits - before.cluster_waits,
            interconnect_waits: self.interconnect_waits - before.interconnect_waits,
            misses: self.misses.since(&before.misses),
            stalled_for_shared_ps: self.stalled_for_shared_ps - before.stalled_for_shared_ps,
            stalled_for_memory_ps: self.stalled_for_memory_ps - before.stalled_for_memory_ps,
            stalled_for_filters_ps: self.stalled_for_filters_ps - before.stalled_for_filters_ps,
        }
    }

    /// Counts an access that the first level answered.
    #[inline(always)]
    pub(crate) fn hit_first(&mut self) {
        self.accesses += 1;
        self.l1_hits += 1;
    }

    /// Counts a line that was invalidated.
    #[inline]
    pub(crate) fn lost(&mut self, cause: Cause) {
        *match cause {
            Cause::ClusterFilter => &mut self.invalidated_by_cluster,
            Cause::InterconnectFilter => &mut self.invalidated_by_interconnect,
            Cause::Inclusion => &mut self.invalidated_by_inclusion,
            _ => &mut self.invalidated_by_writes,
        } += 1;
    }
}

/// Counts of what a core does before its caches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrontCounters {
    /// Page walks.
    pub walks: u64,
    /// Descriptors that they read.
    pub walk_reads: u64,
    /// Those among them that came from memory; they are part of the core's `memory_reads`.
    pub walk_memory_reads: u64,
    /// Picoseconds that the core stood still for page walks.
    pub stalled_for_walks_ps: u64,
    /// Lines that hardware prefetchers asked for.
    pub prefetches: u64,
    /// Those among them that came from memory; they are part of the core's `memory_reads`.
    pub prefetch_memory_reads: u64,
    /// Lines that were written in full without being read.
    pub streamed_lines: u64,
    /// Samples that were taken.
    pub samples: u64,
    /// Lines that the accesses of samples read from memory; of sampled passes those of their windows only.
    pub sample_memory_reads: u64,
    /// Accesses that were fast-forwarded, between the windows of sampled passes. Nothing else counts them.
    pub forwarded_accesses: u64,
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
    /// Reads that the memory-side cache answered; they are not part of `reads`.
    pub cache_hits: u64,
    /// Writes that it took; they are not part of `writes`.
    pub cache_writes: u64,
    /// Changed lines that it had to write to memory to make room.
    pub cache_evictions: u64,
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
            cache_hits: self.cache_hits + other.cache_hits,
            cache_writes: self.cache_writes + other.cache_writes,
            cache_evictions: self.cache_evictions + other.cache_evictions,
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
    /// What each core did before its caches, in the same order.
    pub fronts: Vec<(waykeeper_platform::CoreId, FrontCounters)>,
    /// Shared cache and filters.
    pub shared: SharedCounters,
    /// Memory.
    pub memory: MemoryCounters,
    /// Traffic by class, where it enters the memory: all other cores, then the target's.
    pub classes: Vec<ClassTraffic>,
}

impl Counters {
    /// The counts of a core.
    pub fn core(&self, core: waykeeper_platform::CoreId) -> Option<&CoreCounters> {
        self.cores.iter().find(|(id, _)| *id == core).map(|(_, counts)| counts)
    }

    /// The counts of what a core did before its caches.
    pub fn front(&self, core: waykeeper_platform::CoreId) -> Option<&FrontCounters> {
        self.fronts.iter().find(|(id, _)| *id == core).map(|(_, counts)| counts)
    }
}
