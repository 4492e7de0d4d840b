//! Kinds of cores with their private caches.

use waykeeper_platform::{CoreKind, Execution, Inclusion, Index, Param, PrivateCache, Replacement};

use super::assumed::{assumed, measured, tick_loop};
use super::{CPUID, MeasuredLatencies, SYSFS, rounded};
use crate::machine::arm_cores::arm_core;
use crate::machine::{CacheKind, CacheUse, CoresOfKind, How, Machine};

const CLOCK: &str = "neither the kernel nor CPUID shows a frequency";

impl Machine {
    pub(super) fn core_kind(&self, kind: &CoresOfKind, latencies: &[MeasuredLatencies]) -> CoreKind {
        let ids = self.first_threads(&kind.cpus);
        let first = ids.first().copied().unwrap_or_default();
        let own = latencies.iter().find(|it| kind.cpus.contains(&it.cpu));
        let clock = clock(kind, own);
        let in_order = kind.midr.and_then(arm_core).map(|core| (core.in_order, &core.name));
        let out_of_order = in_order.is_none_or(|(in_order, _)| !in_order);
        let cache = |level, holds| self.cache_of(first, level, holds).filter(|cache| self.is_private(cache));
        // Load to use in core cycles.
        let hit = |level: u8, usual: u64, range: [u64; 2]| match own.and_then(|it| it.level_ns.get(&level)) {
            Some(ns) => {
                let cycles = (ns.value * clock.value).round().max(1.0) as u64;
                let why =
                    format!("{:.2} ns from {:.2} to {:.2}, at {} GHz", ns.value, ns.least, ns.greatest, clock.value);
                measured(cycles, why)
            }
            None => assumed(usual, range, "usual; `waykeeper machine --measure` measures it"),
        };
        let l2 = cache(2, CacheUse::Unified).or(cache(2, CacheUse::Data));
        CoreKind {
            kind: kind.kind.clone(),
            ids,
            execution: Some(match in_order {
                Some((true, name)) => {
                    let order = Param::documented(Execution::InOrder, SYSFS);
                    Param { reason: Some(format!("{name} by MIDR_EL1; Arm's manual has it in order")), ..order }
                }
                _ => assumed(
                    Execution::OutOfOrder,
                    [Execution::InOrder, Execution::OutOfOrder],
                    "nothing shows it; usual",
                ),
            }),
            outstanding_misses: Some(if out_of_order {
                assumed(12, [6, 32], "nothing shows it; 10 to 16 are usual, more in large cores")
            } else {
                assumed(4, [2, 16], "nothing shows it; usual for small cores")
            }),
            issue_width: Some(assumed(if out_of_order { 4 } else { 2 }, [1, 8], "nothing shows it; usual")),
            window_instructions: out_of_order.then(|| assumed(256, [64, 512], "nothing shows it; usual")),
            store_buffer_entries: Some(assumed(if out_of_order { 56 } else { 8 }, [4, 112], "nothing shows it; usual")),
            l1d: Some(match cache(1, CacheUse::Data).or(cache(1, CacheUse::Unified)) {
                Some(found) => PrivateCache { hit_cycles: Some(hit(1, 4, [2, 6])), ..private(found) },
                None => PrivateCache { hit_cycles: Some(hit(1, 4, [2, 6])), ..unknown() },
            }),
            l1i: Some(cache(1, CacheUse::Instructions).map_or_else(unknown, private)),
            l2: l2.map(|found| {
                let inclusion = match found.inclusive {
                    Some(true) => documented(Inclusion::InclusiveOfL1d, "says that it is inclusive"),
                    Some(false) => documented(Inclusion::NonInclusive, "says that it is not inclusive"),
                    None => assumed(
                        Inclusion::InclusiveOfL1d,
                        [Inclusion::InclusiveOfL1d, Inclusion::NonInclusive],
                        "nothing shows it",
                    ),
                };
                let mut second = PrivateCache {
                    hit_cycles: Some(hit(2, 14, [8, 25])),
                    inclusion: Some(inclusion),
                    ..private(found)
                };
                if let Some(groups) = self.way_groups(2, &found.shared_by.concat(), found.ways) {
                    (second.way_groups, second.way_control, second.classes) =
                        (Some(groups.groups), Some(groups.control), groups.classes);
                }
                second
            }),
            tick_loop: Some(tick_loop()),
            performance_per_100_mhz: None,
            clock_ghz: Some(clock),
            ..CoreKind::default()
        }
    }
}

fn clock(kind: &CoresOfKind, own: Option<&MeasuredLatencies>) -> Param<f64> {
    let ghz = |mhz: u64| mhz as f64 / 1000.0;
    if let Some(clock) = own.and_then(|it| it.clock_ghz) {
        return measured(
            rounded(clock, 3),
            "while latencies were measured: the kernel's figure, else by dependent additions".into(),
        );
    }
    match (kind.base_mhz, kind.max_mhz) {
        (Some(base), _) => Param { reason: Some("base frequency".into()), ..Param::documented(ghz(base), SYSFS) },
        (None, Some(most)) => Param { reason: Some("highest frequency".into()), ..Param::documented(ghz(most), SYSFS) },
        (None, None) if kind.told_mhz.is_some() => {
            let told = ghz(kind.told_mhz.unwrap_or_default());
            let range = [rounded(told / 2.0, 3), rounded(told * 2.0, 3)];
            assumed(told, range, "cpu MHz in /proc/cpuinfo, of one moment: the core can run slower or faster")
        }
        (None, None) => assumed(2.5, [0.5, 6.0], CLOCK),
    }
}

fn documented<T>(value: T, reason: &str) -> Param<T> {
    Param { reason: Some(reason.into()), ..Param::documented(value, CPUID) }
}

/// The pseudo-LRU that so many ways allow.
pub(super) fn replacement(ways: u64) -> Param<Replacement> {
    let (value, why) = if ways.is_power_of_two() {
        (Replacement::TreePlru, "nothing shows it; a tree of bits is usual")
    } else {
        (Replacement::BitPlru, "nothing shows it; some pseudo-LRU that so many ways allow")
    };
    assumed(value, [value, Replacement::Lru], why)
}

pub(super) fn ways(cache: &CacheKind) -> Param<u64> {
    match cache.ways {
        Some(ways) => Param::documented(ways, SYSFS),
        None => assumed(8, [4, 16], "the kernel does not tell its ways"),
    }
}

/// By address where absent. Of a last level that says nothing either is possible, and it is said so.
pub(super) fn index(cache: &CacheKind) -> Option<Index> {
    let hashed = match cache.hashed {
        Some(true) => documented(true, "says that its sets are chosen by a hash"),
        None if cache.level > 2 => {
            assumed(false, [false, true], "nothing shows how its sets are chosen; many last levels hash")
        }
        _ => return None,
    };
    Some(Index { slices: None, hashed })
}

fn private(cache: &CacheKind) -> PrivateCache {
    let ways = ways(cache);
    let mut private = PrivateCache::new(Param::documented(cache.size_kib, SYSFS), ways.clone());
    private.replacement = Some(replacement(ways.value));
    private.index = index(cache);
    private
}

/// A first level that the kernel does not tell of.
fn unknown() -> PrivateCache {
    let mut unknown = PrivateCache::new(
        assumed(32, [16, 64], "the kernel does not tell of this cache"),
        assumed(8, [4, 8], "the kernel does not tell of this cache"),
    );
    unknown.replacement = Some(replacement(8));
    unknown
}

/// Whether a control was found by the kernel, by the processor or in the catalogue.
pub(super) fn trusted(by: How) -> bool {
    !matches!(by, How::Sysfs | How::Register)
}
