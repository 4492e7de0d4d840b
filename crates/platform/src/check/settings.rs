//! Checks of what mitigations set: each needs its control.

use super::memory::share_is_possible;
use super::{Finding, finding, is_clock, is_positive, is_time_or_none};
use crate::describe::Platform;
use crate::mitigation::{Bandwidth, Lock, Settings, WayGroups};
use crate::param::Param;
use crate::shared::SharedCache;
use crate::way_control::WayControl;

/// The first setting without its control, or out of its range.
pub fn controls_exist(platform: &Platform, path: &str, set: &Settings) -> Result<(), Finding> {
    let at = At { path };
    partitions_exist(platform, &at, set)?;
    if let Some(lock) = &set.lock {
        lock_is_possible(platform, &at, lock)?;
    }
    if let Some(bandwidth) = &set.bandwidth {
        bandwidth_is_possible(platform, &at, bandwidth)?;
    }
    translation_is_possible(platform, &at, set)?;
    memory_is_possible(platform, &at, set)?;
    if set.no_allocate_mode.is_some() && outermost(platform).all(|cache| cache.no_allocate_mode.is_none()) {
        return at.missing("no_allocate_mode", "shared cache with `no_allocate_mode`");
    }
    if set.on_chip_ram.is_some() && platform.on_chip_ram.is_none() {
        return at.missing("on_chip_ram", "`on_chip_ram`");
    }
    if set.prefetchers.is_some() && platform.cores.iter().all(|kind| kind.prefetchers.is_empty()) {
        return at.missing("prefetchers", "core with `prefetchers`");
    }
    if set.write_streaming.is_some() && platform.cores.iter().all(|kind| kind.write_streaming.is_none()) {
        return at.missing("write_streaming", "core with `write_streaming`");
    }
    for (key, ghz) in set.clock_ghz.iter().flat_map(|clocks| [("target", clocks.target), ("others", clocks.others)]) {
        ghz.map_or(Ok(()), |ghz| is_clock(&format!("{path}.clock_ghz.{key}"), ghz))?;
    }
    Ok(())
}

/// Where a finding is.
struct At<'a> {
    path: &'a str,
}

impl At<'_> {
    fn wrong(&self, key: &str, message: String) -> Result<(), Finding> {
        Err(finding(format!("{}.{key}", self.path), message))
    }

    fn missing(&self, key: &str, needs: &str) -> Result<(), Finding> {
        self.wrong(key, format!("this platform has no {needs}; leave the key out, or name a platform that has it"))
    }
}

/// The shared caches of the last level.
fn outermost(platform: &Platform) -> impl Iterator<Item = &SharedCache> {
    let level = platform.shared_caches.iter().map(|cache| cache.level).max();
    platform.shared_caches.iter().filter(move |cache| Some(cache.level) == level)
}

/// How the caches of the second level are divided, private or shared, where it is not the outermost one.
fn l2_caches(platform: &Platform) -> impl Iterator<Item = (&Param<u64>, &Option<Param<WayControl>>)> {
    let last = platform.shared_caches.iter().map(|cache| cache.level).max().unwrap_or(1);
    let private = platform.cores.iter().filter_map(|kind| kind.l2.as_ref());
    let private = private.filter_map(|cache| Some((cache.way_groups.as_ref()?, &cache.way_control)));
    let shared = platform.shared_caches.iter().filter(move |cache| cache.level == 2 && cache.level < last);
    private.chain(shared.filter_map(|cache| Some((cache.way_groups.as_ref()?, &cache.way_control))))
}

fn partitions_exist(platform: &Platform, at: &At, set: &Settings) -> Result<(), Finding> {
    let last = outermost(platform).filter_map(|cache| cache.way_groups.as_ref()).map(|groups| groups.value).max();
    let code = |level: fn(&SharedCache, u8) -> bool| {
        let last = outermost(platform).map(|cache| cache.level).next().unwrap_or(0);
        let caches = platform.shared_caches.iter().filter(move |cache| level(cache, last));
        caches.filter_map(|cache| cache.code_data_masks.as_ref()).any(|masks| masks.value)
    };
    let runs = outermost(platform).any(|cache| takes_runs(&cache.way_control));
    let l2_groups = l2_caches(platform).map(|(groups, _)| groups.value).max();
    let l2_runs = l2_caches(platform).any(|(_, control)| takes_runs(control));
    let partitions = [
        ("way_groups", &set.way_groups, last, [code(|cache, last| cache.level == last), runs]),
        ("l2_way_groups", &set.l2_way_groups, l2_groups, [code(|cache, last| cache.level < last), l2_runs]),
    ];
    for (key, groups, count, masks) in partitions {
        let Some(groups) = groups else { continue };
        match count {
            Some(count) => groups_exist(at, key, groups, count, masks)?,
            None if key == "way_groups" => return at.missing(key, "shared cache with `way_groups`"),
            None => return at.missing(key, "second level with `way_groups` that is not the outermost shared cache"),
        }
    }
    Ok(())
}

/// `code_masks`: code has masks of its own; `runs`: they have no holes.
fn groups_exist(
    at: &At,
    key: &str,
    groups: &WayGroups,
    count: u64,
    [code_masks, runs]: [bool; 2],
) -> Result<(), Finding> {
    let lists = [
        ("target", Some(&groups.target)),
        ("others", Some(&groups.others)),
        ("target_code", groups.target_code.as_ref()),
        ("others_code", groups.others_code.as_ref()),
    ];
    for (name, list) in lists {
        let Some(list) = list else { continue };
        let key = format!("{key}.{name}");
        if name.ends_with("code") && !code_masks {
            return at.missing(&key, "`code_data_masks` there");
        }
        list_exists(at, &key, list, count)?;
        if runs {
            is_run(at, &key, list)?;
        }
    }
    Ok(())
}

/// Whether the masks of a cache have no holes.
fn takes_runs(control: &Option<Param<WayControl>>) -> bool {
    let control = control.as_ref().map(|control| control.value);
    matches!(control, Some(WayControl::Cat | WayControl::CatNotEnumerated))
}

fn is_run(at: &At, key: &str, list: &[u8]) -> Result<(), Finding> {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).all(|pair| pair[1] == pair[0] + 1) {
        true => Ok(()),
        false => at.wrong(key, format!("{list:?} has holes; Intel CAT takes groups that follow each other, each once")),
    }
}

fn list_exists(at: &At, key: &str, list: &[u8], count: u64) -> Result<(), Finding> {
    if list.is_empty() {
        return at.wrong(key, "no group at all; a class needs at least one".into());
    }
    match list.iter().find(|group| u64::from(**group) >= count) {
        Some(group) => at.wrong(key, format!("there is no group {group}; the groups are 0 to {}", count - 1)),
        None => Ok(()),
    }
}

fn lock_is_possible(platform: &Platform, at: &At, lock: &Lock) -> Result<(), Finding> {
    let shared = platform.shared_caches.iter().filter(|cache| cache.level == lock.level);
    let shared = shared.filter_map(|cache| cache.way_groups.as_ref());
    let private = platform.cores.iter().filter(|_| lock.level == 2).filter_map(|kind| kind.l2.as_ref());
    let private = private.filter_map(|cache| cache.way_groups.as_ref());
    let Some(count) = shared.chain(private).map(|groups| groups.value).max() else {
        return at.missing("lock.level", &format!("cache of level {} with `way_groups`", lock.level));
    };
    list_exists(at, "lock.groups", &lock.groups, count)?;
    if lock.groups.len() as u64 >= count {
        return at.wrong("lock.groups", "every group is locked; the rest needs one at least".into());
    }
    if lock.lines == Some(0) { at.wrong("lock.lines", "0; at least 1 is needed".into()) } else { Ok(()) }
}

fn bandwidth_is_possible(platform: &Platform, at: &At, bandwidth: &Bandwidth) -> Result<(), Finding> {
    let Some(control) = outermost(platform).find_map(|cache| cache.bandwidth_control.as_ref()) else {
        return at.missing("bandwidth", "outermost shared cache with `bandwidth_control`");
    };
    for (key, share) in [("target", bandwidth.target), ("others", bandwidth.others)] {
        share_is_possible(&format!("{}.bandwidth.{key}", at.path), control, share)?;
    }
    Ok(())
}

fn translation_is_possible(platform: &Platform, at: &At, set: &Settings) -> Result<(), Finding> {
    let lockable = platform.cores.iter().flat_map(|kind| &kind.tlbs).any(|tlb| tlb.lockable_entries.is_some());
    if set.tlb_lock.is_some() && !lockable {
        return at.missing("tlb_lock", "TLB with `lockable_entries`");
    }
    let Some(page) = set.page_kib else { return Ok(()) };
    if platform.cores.iter().all(|kind| kind.translation.is_none()) {
        return at.missing("page_kib", "core with `translation`");
    }
    if !page.is_power_of_two() || !(4..=1 << 20).contains(&page) {
        return at.wrong("page_kib", format!("{page} KiB are no page; a power of two from 4 to 1048576 would do"));
    }
    Ok(())
}

fn memory_is_possible(platform: &Platform, at: &At, set: &Settings) -> Result<(), Finding> {
    if let Some(name) = &set.memory
        && !platform.alternative_memories.contains_key(name)
    {
        let known: Vec<_> = platform.alternative_memories.keys().map(String::as_str).collect();
        let message = match known.as_slice() {
            [] => format!("there is no `{name}`; this platform has no `alternative_memories`"),
            _ => format!("there is no `{name}`; `alternative_memories` has {}", known.join(", ")),
        };
        return at.wrong("memory", message);
    }
    let memory = match &set.memory {
        Some(name) => platform.alternative_memories.get(name),
        None => platform.memory.as_ref(),
    };
    if set.priority.is_some() && !memory.is_some_and(|memory| memory.scheduler.priorities.value) {
        return at.missing("priority", "memory with `scheduler.priorities`");
    }
    if set.memory_cache.is_some() && platform.interconnect.as_ref().is_none_or(|outside| outside.memory_cache.is_none())
    {
        return at.missing("memory_cache", "`interconnect.memory_cache`");
    }
    if let Some(ns) = set.write_age_ns {
        if memory.is_none() {
            return at.missing("write_age_ns", "`memory`");
        }
        let path = format!("{}.write_age_ns", at.path);
        is_positive(&path, ns)?;
        is_time_or_none(&path, ns)?;
    }
    if let Some(colouring) = set.colouring
        && !(12..=20).contains(&colouring.address_bit)
    {
        let bit = colouring.address_bit;
        let message = format!("bit {bit} distinguishes no colours here; 12 to 20 would do");
        return at.wrong("colouring.address_bit", message);
    }
    Ok(())
}
