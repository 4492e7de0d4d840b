//! From a platform's caches and filters to a hierarchy.

use waykeeper_platform::{
    Allocation, CoreKind, Index, Param, Platform, PrivateCache, Replacement, SharedCache, SnoopFilterDescription,
};

use crate::caches::allocation::no_allocate_mode::NoAllocateMode;
use crate::caches::array::set_index::SetIndex;
use crate::caches::cache::Cache;
use crate::caches::hierarchy::{Hierarchy, MOST_CORES};
use crate::caches::node::{HierarchyPlan, MOST_STOPS};
use crate::caches::private::{Private, SecondLevel};
use crate::caches::shared_level::SharedLevel;
use crate::caches::snoop_filter::SnoopFilter;
use crate::engine::build::{kind_of, need};
use crate::refused::Refused;
use crate::time::Ps;

/// All caches and filters, empty.
pub fn hierarchy(platform: &Platform, seed: u64) -> Result<Hierarchy, Refused> {
    let ids = platform.core_ids();
    if ids.len() > MOST_CORES {
        return Err(Refused::new("cores", format!("{} cores; the filters can tell {MOST_CORES} apart", ids.len())));
    }
    let line = platform.line_bytes.value;
    let mut cores = Vec::new();
    for id in &ids {
        let (at, kind) = kind_of(platform, *id)?;
        cores.push(private(kind, at, line)?);
    }
    let mut plans = Vec::new();
    // The platform's cache that each plan is for.
    let mut of = Vec::new();
    for (i, cache) in platform.shared_caches.iter().enumerate() {
        for group in cache.groups() {
            let index = |core: &u32| ids.iter().position(|id| id == core);
            let mask = group.iter().filter_map(index).fold(0, |mask, core| mask | 1 << core);
            plans.push(shared(cache, &format!("shared_caches.{i}"), mask, line)?);
            of.push(i);
        }
    }
    let outer = platform.interconnect.as_ref().and_then(|interconnect| interconnect.snoop_filter.as_ref());
    if let Some(outer) = outer {
        let entries = filter(outer, "interconnect.snoop_filter")?;
        plans.push(HierarchyPlan {
            filter: Some((entries, outer.taken.value)),
            ..HierarchyPlan::new(u32::MAX >> (32 - ids.len()))
        });
    }
    let mut hierarchy = Hierarchy::new(cores, plans, seed).map_err(|clash| {
        let name = |at: usize| of.get(at).map_or("interconnect".to_owned(), |at| format!("shared_caches.{at}"));
        let why = match clash {
            (inner, outer) if inner == outer => {
                format!("a core has more than {MOST_STOPS} caches and filters outside of it")
            }
            (inner, _) => {
                format!("{} shares cores with it, but does not lie inside; inner ones come first", name(inner))
            }
        };
        Refused::new(format!("{}.cores", name(clash.1)), why)
    })?;
    for (core, id) in ids.iter().enumerate() {
        levels(&mut hierarchy, kind_of(platform, *id)?, core)?;
    }
    Ok(hierarchy)
}

/// Where a core's page walks, streamed stores and stores that miss go.
fn levels(hierarchy: &mut Hierarchy, (at, kind): (usize, &CoreKind), core: usize) -> Result<(), Refused> {
    let level = |key: &str, value: u64| {
        let why = || Refused::new(format!("cores.{at}.{key}"), format!("{value} is no level; 1 to 4 would do"));
        u8::try_from(value).ok().filter(|level| (1..=4).contains(level)).ok_or_else(why)
    };
    if let Some(translation) = &kind.translation {
        let from = level("translation.walks_from_level", translation.walks_from_level.value)?;
        hierarchy.set_walk_level(core, from);
    }
    if let Some(streaming) = &kind.write_streaming {
        hierarchy.set_stream_level(core, level("write_streaming.to_level", streaming.to_level.value)?);
    }
    let allocates = |cache: &Option<PrivateCache>| {
        let option = cache.as_ref().and_then(|cache| cache.write_allocate.as_ref());
        option.is_none_or(|allocates| allocates.value)
    };
    match (allocates(&kind.l1d), allocates(&kind.l2)) {
        (true, true) => {}
        (false, true) => hierarchy.set_store_level(core, 2),
        (false, false) => hierarchy.set_store_level(core, 3),
        (true, false) => {
            let why = "a store that brings its line to the first level brings it past this one; set it there too";
            return Err(Refused::new(format!("cores.{at}.l2.write_allocate"), why));
        }
    }
    Ok(())
}

fn private(kind: &CoreKind, at: usize, line: u64) -> Result<Private, Refused> {
    let level = |level: &Option<PrivateCache>, name: &str| -> Result<Cache, Refused> {
        let path = format!("cores.{at}.{name}");
        let level = need(level, &path)?;
        let replacement = need(&level.replacement, &format!("{path}.replacement"))?.value;
        cache(&path, &level.size_kib, &level.ways, level.index.as_ref(), replacement, line)
    };
    let writes_back = |cache: &Option<PrivateCache>| {
        cache.as_ref().and_then(|cache| cache.write_back.as_ref()).is_none_or(|back| back.value)
    };
    let refuse = |key: &str, why: &str| Err(Refused::new(format!("cores.{at}.{key}"), why));
    if !writes_back(&kind.l2) {
        return refuse("l2.write_back", "a second level that is written through cannot be simulated");
    }
    if kind.l1i.as_ref().is_some_and(|l1i| l1i.write_back.is_some() || l1i.write_allocate.is_some()) {
        return refuse("l1i", "instruction caches take no stores; leave `write_back` and `write_allocate` out");
    }
    let l2 = match &kind.l2 {
        Some(l2) => {
            let inclusion = need(&l2.inclusion, &format!("cores.{at}.l2.inclusion"))?.value;
            Some(SecondLevel::new(level(&kind.l2, "l2")?, inclusion))
        }
        None => None,
    };
    let private = Private::new(level(&kind.l1d, "l1d")?, level(&kind.l1i, "l1i")?, l2);
    Ok(if writes_back(&kind.l1d) { private } else { private.written_through() })
}

fn shared(shared: &SharedCache, path: &str, mask: u32, line: u64) -> Result<HierarchyPlan, Refused> {
    let replacement = need(&shared.replacement, &format!("{path}.replacement"))?.value;
    let allocation = need(&shared.allocation, &format!("{path}.allocation"))?.value;
    let cache = cache(path, &shared.size_kib, &shared.ways, shared.index.as_ref(), replacement, line)?;
    if shared.no_allocate_mode.is_some() && matches!(allocation, Allocation::Inclusive | Allocation::NonInclusive) {
        let why = "the mode is about lines that the cores evict, but here lines are taken on their way in";
        return Err(Refused::new(format!("{path}.no_allocate_mode"), why));
    }
    let mode = shared.no_allocate_mode.as_ref().map(|mode| {
        NoAllocateMode::new(
            mode.evictions.value as usize,
            Ps::from_ns(mode.window_ns.value),
            Ps::from_ns(mode.quiet_ns.value),
        )
    });
    let entries = |described: &SnoopFilterDescription| -> Result<_, Refused> {
        Ok((filter(described, &format!("{path}.snoop_filter"))?, described.taken.value))
    };
    Ok(HierarchyPlan {
        cores: mask,
        cache: Some(SharedLevel::new(shared.level, cache, allocation)),
        filter: shared.snoop_filter.as_ref().map(entries).transpose()?,
        mode,
    })
}

fn cache(
    path: &str,
    size_kib: &Param<u64>,
    ways: &Param<u64>,
    index: Option<&Index>,
    replacement: Replacement,
    line: u64,
) -> Result<Cache, Refused> {
    let (sets, ways) = ((size_kib.value * 1024 / (ways.value * line)) as usize, ways.value);
    check_ways(path, ways, replacement)?;
    let slices = index.and_then(|index| index.slices.as_ref()).map_or(1, |slices| slices.value as usize);
    if slices == 0 || !sets.is_multiple_of(slices) {
        let why = format!("{sets} sets do not divide into {slices} slices");
        return Err(Refused::new(format!("{path}.index.slices"), why));
    }
    let index = SetIndex::new(sets, slices, index.is_some_and(|index| index.hashed.value));
    Ok(Cache::with_index(sets, ways as usize, replacement, index))
}

fn filter(filter: &SnoopFilterDescription, path: &str) -> Result<SnoopFilter, Refused> {
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
