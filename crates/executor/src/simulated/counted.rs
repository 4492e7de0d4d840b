//! What the simulator's counters counted in a repeat.

use std::collections::BTreeMap;

use waykeeper_platform::CoreId;
use waykeeper_simulator::Counters;

/// The counters when the target began to be observed, and when that ended.
pub(super) struct Counted {
    pub before: Counters,
    pub after: Counters,
}

impl Counted {
    /// Accesses of a core's program that were simulated: what page walks read is no work done.
    pub fn simulated(&self, core: CoreId) -> u64 {
        let of = |counters: &Counters| {
            let walks = counters.front(core).map_or(0, |front| front.walk_reads);
            counters.core(core).map_or(0, |core| core.accesses) - walks
        };
        of(&self.after) - of(&self.before)
    }

    /// Accesses of a core's program that were skipped.
    pub fn skipped(&self, core: CoreId) -> u64 {
        let of = |counters: &Counters| counters.core(core).map_or(0, |core| core.skipped_accesses);
        of(&self.after) - of(&self.before)
    }

    /// All accesses of a core's program.
    pub fn accesses(&self, core: CoreId) -> u64 {
        self.simulated(core) + self.skipped(core)
    }

    /// Lines that a core read from memory.
    pub fn memory_reads(&self, core: CoreId) -> u64 {
        let of = |counters: &Counters| counters.core(core).map_or(0, |core| core.memory_reads);
        of(&self.after) - of(&self.before)
    }

    /// Those within samples: not what the recorder reads.
    pub fn memory_reads_within_samples(&self, core: CoreId) -> u64 {
        let of = |counters: &Counters| counters.front(core).map_or(0, |front| front.sample_memory_reads);
        of(&self.after) - of(&self.before)
    }

    /// Accesses of a core whose data was forwarded from its own stores.
    pub fn forwarded(&self, core: CoreId) -> u64 {
        let of = |counters: &Counters| counters.front(core).map_or(0, |front| front.forwarded_accesses);
        of(&self.after) - of(&self.before)
    }

    /// The counters that a run keeps, by name.
    pub fn by_name(&self, target: CoreId) -> BTreeMap<String, u64> {
        let before = by_name(&self.before, target);
        let added = |(name, total): (String, u64)| {
            let earlier = before[&name];
            (name, total - earlier)
        };
        by_name(&self.after, target).into_iter().map(added).collect()
    }
}

/// The counters that a run keeps, by name: those of the target's core, of the shared cache and of the memory.
fn by_name(counters: &Counters, target: CoreId) -> BTreeMap<String, u64> {
    let core = counters.core(target).copied().unwrap_or_default();
    let front = counters.front(target).copied().unwrap_or_default();
    let (shared, memory) = (&counters.shared, &counters.memory);
    let traffic = |class: usize| counters.classes.get(class).copied().unwrap_or_default();
    let list = [
        ("target_accesses", core.accesses),
        ("target_l1_hits", core.l1_hits),
        ("target_l2_hits", core.l2_hits),
        ("target_shared_cache_hits", core.shared_hits),
        ("target_on_chip_reads", core.on_chip_reads),
        ("target_memory_reads", core.memory_reads),
        ("target_llc_misses", front.sample_memory_reads),
        ("target_page_walks", front.walks),
        ("target_page_walk_memory_reads", front.walk_memory_reads),
        ("target_prefetches", front.prefetches),
        ("target_streamed_lines", front.streamed_lines),
        ("target_lines_lost_to_cluster_filter", core.invalidated_by_cluster),
        ("target_lines_lost_to_interconnect_filter", core.invalidated_by_interconnect),
        ("target_stalled_for_memory_ns", core.stalled_for_memory_ps / 1000),
        ("target_stalled_for_shared_cache_ns", core.stalled_for_shared_ps / 1000),
        ("target_stalled_for_filters_ns", core.stalled_for_filters_ps / 1000),
        ("target_stalled_for_page_walks_ns", front.stalled_for_walks_ps / 1000),
        ("cluster_filter_evictions", shared.cluster_filter_evictions),
        ("interconnect_filter_evictions", shared.interconnect_filter_evictions),
        ("no_l3_allocate_entries", shared.no_allocate_entries),
        ("no_l3_allocate_ns", shared.no_allocate_ps / 1000),
        ("target_class_bytes_read", traffic(1).bytes_read),
        ("target_class_bytes_written", traffic(1).bytes_written),
        ("other_class_bytes_read", traffic(0).bytes_read),
        ("other_class_bytes_written", traffic(0).bytes_written),
        ("memory_reads", memory.reads),
        ("memory_writes", memory.writes),
        ("memory_row_misses", memory.row_misses),
        ("memory_refreshes", memory.refreshes),
    ];
    list.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}
