//! A machine as a platform: what was found is documented, what was measured is measured, and what nobody can read is
//! assumed, with a range.

mod assumed;
mod cores;
mod shared;
mod text;

use std::collections::BTreeMap;

use waykeeper_platform::{Architecture, CoreId, Counter, Cpuid, Interconnect, Param, Platform, PlatformError};

use super::arm_cores::arm_core;
use super::{CacheKind, CacheUse, Machine};
use assumed::{assumed, measured, times};

/// Latencies of one kind of core, measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredLatencies {
    /// A core of the kind.
    pub cpu: CoreId,
    /// Who measured it, when and how: a source.
    pub source: String,
    /// Its clock while it was measured, GHz.
    pub clock_ghz: Option<f64>,
    /// Ticks of the counter in a nanosecond.
    pub counter_ghz: f64,
    /// Nanoseconds of a load that hits level 1, 2, ...: by level.
    pub level_ns: BTreeMap<u8, MeasuredTime>,
    /// Nanoseconds of a load that goes to the memory.
    pub memory_ns: Option<MeasuredTime>,
}

/// A measured time, and how far its repetitions lie apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredTime {
    /// The median.
    pub value: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

impl Machine {
    /// The text of a platform file: the machine with one thread of each physical core.
    pub fn platform_text(&self, latencies: &[MeasuredLatencies]) -> String {
        let platform = self.described(latencies);
        let memory = assumed::memory(self.memory_mib);
        format!("{}\n{}\n{memory}", text::comments(self, &platform), text::toml(&platform))
    }

    /// The machine as a platform.
    ///
    /// # Errors
    /// A machine that a platform cannot describe, such as one with caches that do not divide into sets.
    pub fn platform(&self, latencies: &[MeasuredLatencies]) -> Result<Platform, PlatformError> {
        Platform::from_toml(&self.platform_text(latencies), "the platform of this machine")
    }

    /// Everything but the memory, which takes a bundled part.
    fn described(&self, latencies: &[MeasuredLatencies]) -> Platform {
        let name = self.identity.processor.clone().unwrap_or_else(|| "unknown processor".into());
        let line = self.caches.iter().find_map(|cache| cache.line_bytes);
        let first = latencies.first();
        Platform {
            name: "machine".into(),
            title: format!("{name}, as `waykeeper machine` found it"),
            sources: self.sources(latencies),
            architecture: self.architecture().map(|architecture| Param::documented(architecture, SYSFS)),
            cpuid: self.cpuid(),
            line_bytes: match line {
                Some(line) => Param::documented(line, SYSFS),
                None => self.line_by_manual().unwrap_or_else(|| {
                    assumed(64, [32, 128], "the kernel does not tell; almost all machines have 64")
                }),
            },
            counter: Some(Counter { tick_ns: self.tick_ns(first) }),
            cores: self.cores.iter().map(|kind| self.core_kind(kind, latencies)).collect(),
            shared_caches: self.shared_caches(latencies),
            interconnect: Some(Interconnect {
                crossing_ns: first.and_then(crossing).unwrap_or_else(|| {
                    let why = "brings an unloaded read to about 100 ns; what is left of a measured latency after the memory's \
                               own commands";
                    assumed(50.0, [20.0, 150.0], why)
                }),
                line_ns: None,
                ring_step_mhz: None,
                snoop_filter: None,
                memory_cache: None,
            }),
            memory: None,
            alternative_memories: BTreeMap::new(),
            on_chip_ram: None,
            mitigations: BTreeMap::new(),
            flaws: waykeeper_platform::Flaws::default(),
        }
    }

    /// Lines by the manual of the core, where it is a listed one.
    fn line_by_manual(&self) -> Option<Param<u64>> {
        let core = self.cores.iter().find_map(|kind| arm_core(kind.midr?))?;
        let reason = Some(format!("{} by MIDR; Arm's manual has lines of this size", core.name));
        Some(Param { reason, ..Param::documented(core.line_bytes.unwrap_or(64), SYSFS) })
    }

    fn sources(&self, latencies: &[MeasuredLatencies]) -> BTreeMap<String, String> {
        let mut sources = BTreeMap::from([
            (
                SYSFS.to_owned(),
                "what the kernel of this machine shows: /sys/devices/system/cpu, /proc/meminfo".to_owned(),
            ),
            (CPUID.to_owned(), "CPUID leaves of this machine".to_owned()),
        ]);
        if let Some(first) = latencies.first() {
            sources.insert(LADDER.into(), first.source.clone());
        }
        for (key, by) in [(RESCTRL, super::How::Resctrl), (CATALOGUE, super::How::Catalogue)] {
            let mut found = self.controls.iter().flat_map(|control| &control.found);
            let has = found.any(|it| it.by == by || (by == super::How::Resctrl && it.by == super::How::Mpam));
            if has {
                let what = if key == RESCTRL { "/sys/fs/resctrl/info of this machine" } else { GUIDE };
                sources.insert(key.into(), what.into());
            }
        }
        sources
    }

    fn architecture(&self) -> Option<Architecture> {
        match self.identity.architecture.as_deref()? {
            "x86_64" => Some(Architecture::X86),
            "aarch64" => Some(Architecture::Arm),
            text if text.starts_with("arm") => Some(Architecture::Arm32),
            _ => None,
        }
    }

    /// Family, model and stepping, as /proc/cpuinfo and leaf 1 have them.
    fn cpuid(&self) -> Option<Cpuid> {
        let signature = self.identity.signature.filter(|_| self.architecture() == Some(Architecture::X86));
        let [family, model, stepping] =
            signature?.map(|number| Param { reason: Some("leaf 1".into()), ..Param::documented(number.into(), CPUID) });
        Some(Cpuid { family, model, stepping })
    }

    fn tick_ns(&self, measured_on: Option<&MeasuredLatencies>) -> Param<f64> {
        let cpuid = self.identity.architecture.as_deref() == Some("x86_64");
        match self.clock.counter_khz {
            Some(khz) => Param {
                reason: self.clock.found.clone(),
                ..Param::documented(rounded(1e6 / khz as f64, 4), if cpuid { CPUID } else { SYSFS })
            },
            None if measured_on.is_some() => {
                let ghz = measured_on.map_or(1.0, |it| it.counter_ghz);
                measured(rounded(1.0 / ghz, 4), format!("{ghz:.4} GHz beside CLOCK_MONOTONIC_RAW"))
            }
            None if cpuid => {
                let base = self.cores.iter().filter_map(|cores| cores.base_mhz.or(cores.max_mhz)).max();
                let ns = base.map_or(0.5, |mhz| rounded(1e3 / mhz as f64, 4));
                assumed(
                    ns,
                    [0.2, 1.0],
                    "no leaf shows the frequency of the time-stamp counter; usually the base frequency",
                )
            }
            None => assumed(1.0, [1.0, 52.1], "CNTFRQ_EL0 was not read; 19.2 MHz to 1 GHz are usual"),
        }
    }

    /// The online first threads among these.
    fn first_threads(&self, cpus: &[CoreId]) -> Vec<CoreId> {
        cpus.iter().copied().filter(|cpu| self.is_first_thread(*cpu)).collect()
    }

    /// The cache of that level and use that a core has.
    fn cache_of(&self, cpu: CoreId, level: u8, holds: CacheUse) -> Option<&CacheKind> {
        let mine = |cache: &&CacheKind| cache.shared_by.iter().any(|group| group.contains(&cpu));
        self.caches.iter().filter(|cache| cache.level == level && cache.holds == holds).find(mine)
    }

    /// Whether a cache has one physical core at most.
    fn is_private(&self, cache: &CacheKind) -> bool {
        cache.shared_by.iter().all(|group| self.first_threads(group).len() <= 1)
    }
}

pub(super) const SYSFS: &str = "sysfs";
pub(super) const CPUID: &str = "cpuid";
pub(super) const RESCTRL: &str = "resctrl";
pub(super) const CATALOGUE: &str = "tcc-guide";
pub(super) const LADDER: &str = "ladder";
const GUIDE: &str = "Intel, Time Coordinated Compute user guide, by `waykeeper catalogue`";

/// What is left of a measured latency after the memory's own commands, for a row conflict.
fn crossing(measured_on: &MeasuredLatencies) -> Option<Param<f64>> {
    let memory = measured_on.memory_ns?;
    let commands = times();
    let left = |ns: f64| rounded((ns - commands).max(1.0), 1);
    let why = format!(
        "{:.1} ns from {:.1} to {:.1}, less {commands:.2} of the memory's commands",
        memory.value, memory.least, memory.greatest
    );
    Some(measured(left(memory.value), why))
}

fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}
