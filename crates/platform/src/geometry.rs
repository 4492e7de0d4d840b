//! The caches that one core sees.

use crate::describe::{CoreId, Platform, PrivateCache};
use crate::param::Param;

/// The shape of one data or unified cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheGeometry {
    /// Level: 1, 2 or 3.
    pub level: u8,
    /// Capacity in bytes.
    pub size_bytes: u64,
    /// Associativity.
    pub ways: u64,
    /// Bytes in a line.
    pub line_bytes: u64,
    /// The cores that use it, ascending.
    pub shared_by: Vec<CoreId>,
}

impl Platform {
    /// The data and unified caches of a core, inner ones first; none for a core that does not exist.
    pub fn caches(&self, core: CoreId) -> Vec<CacheGeometry> {
        let Some(kind) = self.core_kind(core) else { return Vec::new() };
        let geometry = |level, size_kib: &Param<u64>, ways: &Param<u64>, shared_by: Vec<CoreId>| CacheGeometry {
            level,
            size_bytes: size_kib.value * 1024,
            ways: ways.value,
            line_bytes: self.line_bytes.value,
            shared_by,
        };
        let private = |level, cache: &PrivateCache| geometry(level, &cache.size_kib, &cache.ways, vec![core]);
        let mut caches: Vec<_> = kind.l1d.iter().map(|cache| private(1, cache)).collect();
        caches.extend(kind.l2.iter().map(|cache| private(2, cache)));
        for cache in &self.shared_caches {
            for group in cache.groups().filter(|group| group.contains(&core)) {
                let mut cores = group.clone();
                cores.sort_unstable();
                caches.push(geometry(cache.level, &cache.size_kib, &cache.ways, cores));
            }
        }
        caches.sort_by_key(|cache| cache.level);
        caches
    }
}
