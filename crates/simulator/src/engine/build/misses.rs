//! The shared caches whose outstanding misses are bounded.

use waykeeper_platform::{CoreId, Platform, SharedCache};

use crate::core::shared_mshrs::SharedMshrs;

/// Each such cache, copies included, inner ones first.
fn bounded(platform: &Platform) -> impl Iterator<Item = (&SharedCache, &Vec<CoreId>, usize)> {
    let bound = |cache: &SharedCache| cache.outstanding_misses.as_ref().map(|most| most.value as usize);
    let caches = platform.shared_caches.iter().filter_map(move |cache| Some((cache, bound(cache)?)));
    caches.flat_map(|(cache, most)| cache.groups().map(move |group| (cache, group, most)))
}

/// What each waits for: nothing yet.
pub fn misses(platform: &Platform) -> Vec<SharedMshrs> {
    let hits_wait = |cache: &SharedCache| cache.hits_wait_when_full.as_ref().is_some_and(|wait| wait.value);
    bounded(platform).map(|(cache, _, most)| SharedMshrs::new(cache.level, most, hits_wait(cache))).collect()
}

/// Those that a core's requests pass.
pub fn limits(platform: &Platform, core: CoreId) -> Vec<usize> {
    bounded(platform).enumerate().filter(|(_, (_, group, _))| group.contains(&core)).map(|(at, _)| at).collect()
}
