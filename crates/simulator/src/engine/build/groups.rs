//! The groups of ways that a core's caches have.

use waykeeper_platform::{Param, Platform};

use crate::engine::build::kind_of;
use crate::refused::Refused;

/// The sets of a core's private or shared cache of a level.
pub fn sets(platform: &Platform, core: usize, level: u8) -> Result<u64, Refused> {
    let id = platform.core_ids()[core];
    let (_, kind) = kind_of(platform, id)?;
    let sets = |kib: &Param<u64>, ways: &Param<u64>| kib.value * 1024 / (ways.value * platform.line_bytes.value);
    if let Some(l2) = kind.l2.as_ref().filter(|_| level == 2) {
        return Ok(sets(&l2.size_kib, &l2.ways));
    }
    let shared = platform.shared_caches.iter().find(|cache| cache.level == level && cache.serves(id));
    Ok(shared.map_or(0, |cache| sets(&cache.size_kib, &cache.ways)))
}

/// The groups and the ways of a core's cache of a level; None if it has no such cache, or one without groups.
pub fn way_groups(platform: &Platform, core: usize, level: u8) -> Result<Option<(u64, u64)>, Refused> {
    let id = platform.core_ids()[core];
    let (_, kind) = kind_of(platform, id)?;
    let both = |groups: &Option<Param<u64>>, ways: &Param<u64>| Some((groups.as_ref()?.value, ways.value));
    if let Some(l2) = kind.l2.as_ref().filter(|_| level == 2) {
        return Ok(both(&l2.way_groups, &l2.ways));
    }
    let shared = platform.shared_caches.iter().find(|cache| cache.level == level && cache.serves(id));
    Ok(shared.and_then(|cache| both(&cache.way_groups, &cache.ways)))
}
