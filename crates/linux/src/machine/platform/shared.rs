//! Shared caches and their controls.

use std::collections::BTreeMap;

use waykeeper_platform::{
    Allocation, BandwidthControl, BandwidthScheme, CoreId, Param, Replacement, SharedCache, WayControl,
};

use super::assumed::{assumed, measured};
use super::cores::{index, trusted, ways};
use super::{CATALOGUE, CPUID, MeasuredLatencies, RESCTRL, SYSFS, rounded};
use crate::machine::{CacheKind, CacheUse, Control, How, Machine, Shares, Unit};

/// The groups of ways that masks can give, and the registers behind them.
pub(super) struct Groups {
    pub groups: Param<u64>,
    pub control: Param<WayControl>,
    pub classes: Option<Param<u64>>,
    pub code_and_data: Option<Param<bool>>,
}

fn source(by: How) -> &'static str {
    match by {
        How::Resctrl | How::Mpam => RESCTRL,
        How::Catalogue => CATALOGUE,
        _ => CPUID,
    }
}

impl Machine {
    fn shares(&self, level: u8, cpus: &[CoreId]) -> Option<(&Control, &Shares)> {
        let mine = |control: &&Control| match &control.cpus {
            Some(of) => of.iter().any(|cpu| cpus.contains(cpu)),
            None => true,
        };
        let found = self.controls.iter().filter(mine).find_map(|control| {
            Some((control, control.shares.as_ref()?)).filter(|(_, shares)| shares.level == level)
        })?;
        Some(found)
    }

    /// Masks of a cache; `None` without, or where their bits do not divide its ways.
    pub(super) fn way_groups(&self, level: u8, cpus: &[CoreId], ways: Option<u64>) -> Option<Groups> {
        let (control, shares) = self.shares(level, cpus)?;
        let bits = u64::from(shares.bits?);
        if bits == 0 || !ways?.is_multiple_of(bits) {
            return None;
        }
        let best = control.found.iter().find(|it| trusted(it.by))?;
        let by = source(best.by);
        let registers = match best.by {
            How::Mpam => WayControl::MpamPortions,
            How::Resctrl | How::Cpuid => WayControl::Cat,
            _ => WayControl::CatNotEnumerated,
        };
        let documented = |value: u64| Param { reason: Some(best.says.clone()), ..Param::documented(value, by) };
        Some(Groups {
            groups: documented(bits),
            control: Param { reason: Some(best.says.clone()), ..Param::documented(registers, by) },
            classes: shares.classes.map(|classes| Param::documented(u64::from(classes), by)),
            code_and_data: shares.code_and_data.map(|it| Param::documented(it, by)),
        })
    }

    pub(super) fn shared_caches(&self, latencies: &[MeasuredLatencies]) -> Vec<SharedCache> {
        let unified = self.caches.iter().filter(|cache| cache.level > 1 && cache.holds != CacheUse::Instructions);
        let shared: Vec<&CacheKind> = unified.filter(|cache| cache.level > 2 || !self.is_private(cache)).collect();
        let mut found: Vec<SharedCache> = shared.iter().filter_map(|cache| self.shared(cache, latencies)).collect();
        found.sort_by_key(|cache| cache.level);
        let outermost = found.iter().map(|cache| cache.level).max();
        let single = found.iter().filter(|cache| Some(cache.level) == outermost).count() == 1;
        if let Some(last) = found.last_mut().filter(|last| single && last.copies.is_empty()) {
            last.bandwidth_control = self.throttle();
        }
        found
    }

    fn shared(&self, cache: &CacheKind, latencies: &[MeasuredLatencies]) -> Option<SharedCache> {
        let mut groups: Vec<_> = cache.shared_by.iter().map(|group| self.first_threads(group)).collect();
        groups.retain(|group| !group.is_empty());
        let first = groups.first()?.clone();
        let ways = ways(cache);
        let mut shared = SharedCache::new(cache.level, first, Param::documented(cache.size_kib, SYSFS), ways.clone());
        shared.copies = groups.split_off(1);
        let own = latencies.iter().filter(|it| shared.serves(it.cpu)).find_map(|it| it.level_ns.get(&cache.level));
        shared.hit_ns = Some(match own {
            Some(ns) => measured(
                rounded(ns.value, 2),
                format!("from {:.2} to {:.2} ns; with what misses in the TLBs", ns.least, ns.greatest),
            ),
            None if cache.level == 2 => assumed(7.0, [3.0, 20.0], "usual; `waykeeper machine --measure` measures it"),
            None => assumed(20.0, [8.0, 60.0], "usual; `waykeeper machine --measure` measures it"),
        });
        let plru = super::cores::replacement(ways.value);
        shared.replacement = Some(match cache.level {
            2 => plru,
            _ => assumed(
                Replacement::Biased,
                [Replacement::Biased, Replacement::Random],
                "nothing shows it; adaptive policies are usual in last-level caches",
            ),
        });
        shared.allocation = Some(match (cache.inclusive, cache.level) {
            (Some(true), _) => Param {
                reason: Some("says that it is inclusive".into()),
                ..Param::documented(Allocation::Inclusive, CPUID)
            },
            (_, 2) => assumed(
                Allocation::NonInclusive,
                [Allocation::NonInclusive, Allocation::Inclusive],
                "nothing shows more; usual for a second level of a cluster",
            ),
            _ => assumed(
                Allocation::Victim,
                [Allocation::Victim, Allocation::NonInclusive],
                "nothing shows more; usual for a last level beside large second levels",
            ),
        });
        shared.index = index(cache);
        if let Some(groups) = self.way_groups(cache.level, &cache.shared_by.concat(), cache.ways) {
            shared.way_groups = Some(groups.groups);
            shared.way_control = Some(groups.control);
            shared.classes = groups.classes;
            shared.code_data_masks = groups.code_and_data;
        }
        Some(shared)
    }

    /// Limits in percent: the only ones of the kernel that a platform can say. Others go into a comment.
    fn throttle(&self) -> Option<BandwidthControl> {
        let control = self.controls.iter().find(|control| control.id == "memory_bandwidth")?;
        let limits = control.limits.as_ref().filter(|limits| limits.unit == Unit::Percent)?;
        let by = control.found.first()?;
        Some(BandwidthControl {
            scheme: Param { reason: Some(by.says.clone()), ..Param::documented(BandwidthScheme::Delay, source(by.by)) },
            steps: Param::documented(u64::from(limits.max), source(by.by)),
            queue_entries: assumed(16, [8, 64], "of no meaning for this scheme"),
            window_ns: None,
            delay_step_ns: Some(assumed(4.0, [1.0, 20.0], "the delay of a step is not public")),
        })
    }
}

/// What a machine has and a platform cannot say.
pub(super) fn left_out(machine: &Machine) -> Vec<String> {
    let mut lines = Vec::new();
    if !machine.siblings.is_empty() {
        lines.push("second threads of physical cores (the simulator has one thread a core)".into());
    }
    let has_percent = |control: &Control| control.limits.as_ref().is_some_and(|it| it.unit == Unit::Percent);
    for control in machine.controls.iter().filter(|control| control.limits.is_some() && !has_percent(control)) {
        lines.push(format!("{}: its unit is none that a platform can say", control.name));
    }
    let mut by_level: BTreeMap<u8, u64> = BTreeMap::new();
    for (shares, cache) in machine.controls.iter().filter_map(|control| control.shares.as_ref()).flat_map(|shares| {
        machine.caches.iter().filter(|cache| cache.level == shares.level).map(move |cache| (shares, cache))
    }) {
        if let (Some(bits), Some(ways)) = (shares.bits, cache.ways)
            && !ways.is_multiple_of(u64::from(bits).max(1))
            && machine.controls.iter().filter(|c| c.shares.as_ref().is_some_and(|s| s.level == cache.level)).count()
                == 1
        {
            by_level.insert(shares.level, ways);
        }
    }
    lines.extend(
        by_level
            .iter()
            .map(|(level, ways)| format!("masks of the level {level} cache: their bits do not divide its {ways} ways")),
    );
    lines
}
