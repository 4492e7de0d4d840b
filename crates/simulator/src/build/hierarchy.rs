//! From a platform's caches and filters to a hierarchy.

use waykeeper_platform::{
    Allocation, CoreKind, EntryTaken, Inclusion, Param, Platform, PrivateCache, Replacement, SharedCache,
};
use waykeeper_workload::Xorshift;

use crate::build::{kind_of, need, ps};
use crate::cache::Cache;
use crate::counters::{CoreCounters, SharedCounters};
use crate::filter::SnoopFilter;
use crate::hierarchy::Hierarchy;
use crate::mode::NoAllocateMode;
use crate::private::{Private, SecondLevel};
use crate::refused::Refused;

/// The shared cache that all cores use: the only shape of cluster so far.
pub fn shared_cache(platform: &Platform) -> Result<&SharedCache, Refused> {
    match platform.shared_caches.as_slice() {
        [cache] if platform.core_ids().iter().all(|core| cache.cores.contains(core)) => Ok(cache),
        [_] => Err(Refused::new("shared_caches.0.cores", "every core must share this cache to be simulated")),
        other => {
            let why = format!("{} shared caches; a simulation needs exactly one, shared by all cores", other.len());
            Err(Refused::new("shared_caches", why))
        }
    }
}

/// All caches and filters, empty.
pub fn hierarchy(platform: &Platform, seed: u64) -> Result<Hierarchy, Refused> {
    let line = platform.line_bytes.value;
    let ids = platform.core_ids();
    if ids.len() > 31 {
        return Err(Refused::new("cores", format!("{} cores; the filters can tell 31 apart", ids.len())));
    }
    let mut cores = Vec::new();
    for id in &ids {
        let (at, kind) = kind_of(platform, *id)?;
        cores.push(private(kind, at, line)?);
    }
    let shared = shared_cache(platform)?;
    let replacement = need(&shared.replacement, "shared_caches.0.replacement")?.value;
    let cache = cache("shared_caches.0", &shared.size_kib, &shared.ways, replacement, line)?;
    let allocation = need(&shared.allocation, "shared_caches.0.allocation")?.value;
    if allocation != Allocation::ExclusiveUntilShared {
        let why = "only `exclusive_until_shared` can be simulated so far";
        return Err(Refused::new("shared_caches.0.allocation", why));
    }
    let mode = shared.no_allocate_mode.as_ref().map(|mode| {
        NoAllocateMode::new(mode.evictions.value as usize, ps(mode.window_ns.value), ps(mode.quiet_ns.value))
    });
    let inner = need(&shared.snoop_filter, "shared_caches.0.snoop_filter")?;
    if inner.taken.value == EntryTaken::AtFill {
        let why = "a cluster's filter that gives entries with the fill cannot be simulated; `at_request` would do";
        return Err(Refused::new("shared_caches.0.snoop_filter.taken", why));
    }
    let outer = platform.interconnect.as_ref().and_then(|interconnect| interconnect.snoop_filter.as_ref());
    Ok(Hierarchy {
        fill_ways: vec![cache.all_ways(); cores.len()],
        counts: vec![CoreCounters::default(); cores.len()],
        cluster_filter: filter(inner, "shared_caches.0.snoop_filter")?,
        interconnect_taken: outer.map_or(EntryTaken::AtRequest, |outer| outer.taken.value),
        interconnect_filter: outer.map(|outer| filter(outer, "interconnect.snoop_filter")).transpose()?,
        cores,
        shared: cache,
        mode,
        writes: Vec::new(),
        disturbed: 0,
        shared_counts: SharedCounters::default(),
        random: Xorshift::new(seed),
    })
}

fn private(kind: &CoreKind, at: usize, line: u64) -> Result<Private, Refused> {
    let level = |level: &Option<PrivateCache>, name: &str| -> Result<Cache, Refused> {
        let path = format!("cores.{at}.{name}");
        let level = need(level, &path)?;
        let replacement = need(&level.replacement, &format!("{path}.replacement"))?.value;
        cache(&path, &level.size_kib, &level.ways, replacement, line)
    };
    let inclusion = |l2: &PrivateCache| -> Result<Inclusion, Refused> {
        Ok(need(&l2.inclusion, &format!("cores.{at}.l2.inclusion"))?.value)
    };
    let l2 = match &kind.l2 {
        Some(l2) => Some(SecondLevel { cache: level(&kind.l2, "l2")?, inclusion: inclusion(l2)? }),
        None => None,
    };
    Ok(Private { l1d: level(&kind.l1d, "l1d")?, l1i: level(&kind.l1i, "l1i")?, l2 })
}

fn cache(
    path: &str,
    size_kib: &Param<u64>,
    ways: &Param<u64>,
    replacement: Replacement,
    line: u64,
) -> Result<Cache, Refused> {
    let (sets, ways) = (size_kib.value * 1024 / (ways.value * line), ways.value);
    if !sets.is_power_of_two() {
        let why = format!("{sets} sets are not a power of two; the simulator takes the set from address bits");
        return Err(Refused::new(format!("{path}.size_kib"), why));
    }
    check_ways(path, ways, replacement)?;
    Ok(Cache::new(sets as usize, ways as usize, replacement))
}

fn filter(filter: &waykeeper_platform::SnoopFilter, path: &str) -> Result<SnoopFilter, Refused> {
    check_ways(path, filter.ways.value, filter.victim.value)?;
    let sets = filter.directories.value * filter.sets.value;
    Ok(SnoopFilter::new(sets as usize, filter.ways.value as usize, filter.victim.value))
}

fn check_ways(path: &str, ways: u64, replacement: Replacement) -> Result<(), Refused> {
    let refuse = |why: String| Err(Refused::new(format!("{path}.ways"), why));
    if ways > 32 {
        return refuse(format!("{ways} ways; the simulator holds up to 32"));
    }
    if replacement == Replacement::TreePlru && !ways.is_power_of_two() {
        return refuse(format!("{ways} ways form no binary tree; `lru`, `bit_plru` or `random` replacement would do"));
    }
    Ok(())
}
