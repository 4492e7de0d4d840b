//! Which caches are before which: a core meets each level once, and those of few cores before those of many.

use std::collections::BTreeSet;

use super::{Finding, finding};
use crate::CoreId;
use crate::describe::Platform;
use crate::shared::SharedCache;

/// The first cache that is at the wrong level for one of its cores.
pub fn levels_rise_outward(platform: &Platform) -> Result<(), Finding> {
    for (i, cache) in platform.shared_caches.iter().enumerate() {
        let path = format!("shared_caches.{i}");
        let mut seen = BTreeSet::new();
        if let Some((j, core)) = cache.cores.iter().enumerate().find(|(_, core)| !seen.insert(**core)) {
            return Err(finding(format!("{path}.cores.{j}"), format!("core {core} is listed twice")));
        }
        for core in platform.core_ids().into_iter().filter(|core| cache.serves(*core)) {
            is_beyond_private(platform, &path, cache, core)?;
            for (j, other) in platform.shared_caches.iter().enumerate().take(i).filter(|(_, at)| at.serves(core)) {
                is_beside(&path, (j, other), cache, core)?;
            }
        }
    }
    Ok(())
}

fn is_beyond_private(platform: &Platform, path: &str, cache: &SharedCache, core: CoreId) -> Result<(), Finding> {
    let has_second = platform.core_kind(core).is_some_and(|kind| kind.l2.is_some());
    if cache.level == 2 && has_second {
        let why = format!("core {core} has a second level of its own, `cores.l2`; 3 would do here, or leave that out");
        return Err(finding(format!("{path}.level"), why));
    }
    Ok(())
}

/// Two caches of one core.
fn is_beside(path: &str, (j, other): (usize, &SharedCache), cache: &SharedCache, core: CoreId) -> Result<(), Finding> {
    if cache.level == other.level {
        let why = format!("core {core} has a cache of level {} already, shared_caches.{j}", cache.level);
        return Err(finding(format!("{path}.level"), why));
    }
    // How many cores have the same cache as this one.
    let sharers = |of: &SharedCache| of.groups().find(|group| group.contains(&core)).map_or(0, Vec::len);
    let (inner, outer) = if cache.level < other.level { (cache, other) } else { (other, cache) };
    if sharers(inner) > sharers(outer) {
        let why = format!("level {} is shared by more cores than level {} beyond it", inner.level, outer.level);
        return Err(finding(format!("{path}.level"), why));
    }
    Ok(())
}
