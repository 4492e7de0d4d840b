//! How far the accesses of a core reach: its caches, which of them other cores share, and what its TLBs cover.

use waykeeper_linux::machine::{CacheUse, Machine};
use waykeeper_platform::{CoreId, Platform};
use waykeeper_workload::{CacheShape, CacheShapes};

/// More than the data TLBs of today's cores cover with pages of 4 KiB: 3072 entries.
const MOST_TLB_REACH: u64 = 3072 * 4096;

/// A core, as far as it decides what a workload on it exercises.
#[derive(Debug, Clone)]
pub(crate) struct CoreReach {
    /// Its number.
    pub core: CoreId,
    /// Its caches, inner ones first, each with the cores that share it where there are several physical ones.
    caches: Vec<(CacheShape, Vec<CoreId>)>,
    /// Bytes that its TLBs cover; none where translation takes no time.
    tlb: Option<u64>,
    /// Threads of the same physical core.
    pub siblings: Vec<CoreId>,
}

impl CoreReach {
    /// The cores of a machine.
    pub fn of_machine(machine: &Machine) -> Vec<Self> {
        let first =
            |cpu: CoreId| machine.siblings.iter().find(|group| group.contains(&cpu)).map_or(cpu, |group| group[0]);
        let of = |core: CoreId| {
            let data = machine.caches.iter().filter(|cache| cache.holds != CacheUse::Instructions);
            let caches = data.filter_map(|cache| {
                let group = cache.shared_by.iter().find(|group| group.contains(&core))?;
                let shape = CacheShape {
                    level: cache.level,
                    size_bytes: cache.size_kib * 1024,
                    ways: cache.ways?,
                    line_bytes: cache.line_bytes?,
                };
                let is_shared = group.iter().any(|cpu| first(*cpu) != first(core));
                Some((shape, if is_shared { group.clone() } else { Vec::new() }))
            });
            let siblings = machine.siblings.iter().find(|group| group.contains(&core)).cloned().unwrap_or_default();
            Self { core, caches: caches.collect(), tlb: Some(MOST_TLB_REACH), siblings }
        };
        machine.cpus().into_iter().map(of).collect()
    }

    /// The cores of a platform file.
    pub fn of_platform(platform: &Platform) -> Vec<Self> {
        let of = |core: CoreId| {
            let caches = platform.caches(core).into_iter().map(|cache| {
                let (level, size_bytes, ways, line_bytes) =
                    (cache.level, cache.size_bytes, cache.ways, cache.line_bytes);
                (
                    CacheShape { level, size_bytes, ways, line_bytes },
                    Some(cache.shared_by).filter(|group| group.len() > 1).unwrap_or_default(),
                )
            });
            let kind = platform.core_kind(core);
            let tlb = kind.and_then(|kind| {
                let page = kind.translation.as_ref()?.page_kib.value.saturating_mul(1024);
                kind.tlbs.iter().map(|tlb| tlb.entries.value.saturating_mul(page)).max()
            });
            Self { core, caches: caches.collect(), tlb, siblings: Vec::new() }
        };
        platform.core_ids().into_iter().map(of).collect()
    }

    /// The caches as workloads take their sizes from them.
    pub fn shapes(&self) -> CacheShapes {
        CacheShapes(self.caches.iter().map(|(shape, _)| *shape).collect())
    }

    /// The levels of shared caches that so many bytes do not fit before; with a target, of those that it shares.
    pub fn shared_levels(&self, bytes: u64, target: Option<CoreId>) -> Vec<u8> {
        let serves = |group: &[CoreId]| !group.is_empty() && target.is_none_or(|target| group.contains(&target));
        let shared = self.caches.iter().filter(|(_, group)| serves(group));
        let fits_before = |level: u8| self.caches.iter().any(|(it, _)| it.level < level && it.size_bytes >= bytes);
        shared.map(|(shape, _)| shape.level).filter(|level| !fits_before(*level)).collect()
    }

    /// Whether so many bytes do not fit into the caches that the core has for itself.
    pub fn leaves_own_caches(&self, bytes: u64) -> bool {
        let own = self.caches.iter().filter(|(_, group)| group.is_empty());
        own.map(|(shape, _)| shape.size_bytes).max().is_none_or(|most| bytes > most)
    }

    /// Whether so many bytes reach the memory again and again: a cache that they fill to the last line keeps not all of them.
    pub fn reaches_memory(&self, bytes: u64) -> bool {
        let last = self.caches.iter().map(|(shape, _)| shape).max_by_key(|shape| shape.level);
        // A walk ends within its last line.
        last.is_some_and(|last| bytes.div_ceil(last.line_bytes.max(1)) >= last.size_bytes / last.line_bytes.max(1))
    }

    /// Whether pages of so many bytes are more than the TLBs hold.
    pub fn misses_tlb(&self, bytes: u64) -> bool {
        self.tlb.is_some_and(|reach| bytes > reach)
    }
}
