//! From a platform's data to the parts of an engine.

use waykeeper_platform::{
    CoreKind, EntryTaken, Execution, Inclusion, Param, Platform, PrivateCache, Replacement, SharedCache,
};
use waykeeper_workload::Xorshift;

use crate::cache::Cache;
use crate::counters::{CoreCounters, SharedCounters};
use crate::filter::SnoopFilter;
use crate::hierarchy::Hierarchy;
use crate::memory::Memory;
use crate::mode::NoAllocateMode;
use crate::parameters::Parameters;
use crate::port::{Latencies, MOST_SLOTS, Port};
use crate::private::{Private, SecondLevel};
use crate::refused::Refused;

/// Nanoseconds as picoseconds.
pub fn ps(ns: f64) -> u64 {
    (ns * 1e3).round() as u64
}

/// The value of a parameter that a simulation needs.
pub fn need<'a, T>(parameter: &'a Option<T>, key: &str) -> Result<&'a T, Refused> {
    parameter.as_ref().ok_or_else(|| Refused::new(key, "the platform does not give it; a simulation needs it"))
}

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
    need(&shared.allocation, "shared_caches.0.allocation")?;
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

/// The memory, with its refresh at a phase that `random` decides.
pub fn memory(platform: &Platform, random: &mut Xorshift) -> Result<Memory, Refused> {
    let memory = need(&platform.memory, "memory")?;
    let crossing = need(&platform.interconnect, "interconnect")?.crossing_ns.value;
    let row_lines = memory.row_bytes.value / platform.line_bytes.value;
    if row_lines == 0 {
        return Err(Refused::new("memory.row_bytes", "a row holds less than a line"));
    }
    if memory.banks.value > 64 {
        return Err(Refused::new(
            "memory.banks",
            format!("{} banks; the simulator holds up to 64", memory.banks.value),
        ));
    }
    let scheduler = &memory.scheduler;
    let trefi = ps(memory.trefi_ns.value);
    Ok(Memory::new(Parameters {
        banks: memory.banks.value as usize,
        row_lines_log2: row_lines.trailing_zeros(),
        trc: ps(memory.trc_ns.value),
        trcd: ps(memory.trcd_ns.value),
        trp: ps(memory.trp_ns.value),
        cl: ps(memory.cl_ns.value),
        transfer: ps(memory.line_transfer_ns.value),
        trefi,
        trfc: ps(memory.trfc_ns.value),
        refresh_phase: random.below(trefi.min(u64::from(u32::MAX))),
        crossing: ps(crossing),
        queue_entries: scheduler.queue_entries.value as usize,
        write_age: ps(scheduler.write_age_ns.value),
        write_high: scheduler.write_high_watermark.value as usize,
        write_low: scheduler.write_low_watermark.value as usize,
        read_after_write: scheduler.read_after_write.value,
    }))
}

/// A core's way to the memory.
pub fn port(platform: &Platform, core: usize) -> Result<Port, Refused> {
    let id = platform.core_ids()[core];
    let (at, kind) = kind_of(platform, id)?;
    let shared = shared_cache(platform)?;
    let cycle_ns = 1.0 / need(&kind.clock_ghz, &format!("cores.{at}.clock_ghz"))?.value;
    let hit = |cache: &Option<PrivateCache>, name: &str| -> Result<u64, Refused> {
        let Some(cache) = cache else { return Ok(0) };
        let cycles = need(&cache.hit_cycles, &format!("cores.{at}.{name}.hit_cycles"))?.value;
        Ok(ps(cycles as f64 * cycle_ns))
    };
    let slots = need(&kind.outstanding_misses, &format!("cores.{at}.outstanding_misses"))?.value as usize;
    if slots == 0 || slots > MOST_SLOTS {
        let why = format!("{slots} outstanding misses; the simulator holds 1 to {MOST_SLOTS}");
        return Err(Refused::new(format!("cores.{at}.outstanding_misses"), why));
    }
    let execution = need(&kind.execution, &format!("cores.{at}.execution"))?.value;
    let retry = |filter: Option<&waykeeper_platform::SnoopFilter>| filter.map_or(1, |f| ps(f.retry_ns.value).max(1));
    let outer = platform.interconnect.as_ref().and_then(|interconnect| interconnect.snoop_filter.as_ref());
    let latencies = Latencies {
        cycle: ps(cycle_ns).max(1),
        l1: hit(&kind.l1d, "l1d")?,
        l2: hit(&kind.l2, "l2")?,
        shared: ps(need(&shared.hit_ns, "shared_caches.0.hit_ns")?.value),
        cluster_retry: retry(shared.snoop_filter.as_ref()),
        interconnect_retry: retry(outer),
    };
    Ok(Port::new(core, execution == Execution::OutOfOrder, slots, latencies))
}

/// A core's kind and its place in the file.
pub fn kind_of(platform: &Platform, core: u32) -> Result<(usize, &CoreKind), Refused> {
    platform.cores.iter().enumerate().find(|(_, kind)| kind.ids.contains(&core)).ok_or_else(|| {
        Refused::new("cores", format!("core {core} does not exist; the cores are {:?}", platform.core_ids()))
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
