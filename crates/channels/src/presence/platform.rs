//! The channels of a platform file, by its keys.
//!
//! What a file leaves out can be in the part: an absent key is "not seen". Caches alone are listed in full.

use waykeeper_platform::{Architecture, Platform, format_cpulist};

use super::{ChannelPlace, PlaceKind};
use crate::list::list;
use crate::reach::CoreReach;
use crate::table::{HowKnown, Presence};

/// Looks for the channels of a platform file.
pub fn of_platform(platform: &Platform) -> ChannelPlace {
    let rows = platform.parameters();
    let keys = rows.into_iter().map(|row| {
        let note = if row.note.is_empty() { String::new() } else { format!("; {}", row.note) };
        (row.path, format!("{} ({}{note})", row.value, row.is))
    });
    let looking = Looking { platform, keys: keys.collect() };
    let presence = |id: &String| (id.clone(), looking.presence(id));
    ChannelPlace {
        place: platform.name.clone(),
        called: Some(platform.title.clone()),
        kind: PlaceKind::Platform,
        cores: CoreReach::of_platform(platform),
        presences: list().channel.iter().map(|channel| &channel.id).map(presence).collect(),
        findings: Vec::new(),
        notes: Vec::new(),
    }
}

struct Looking<'p> {
    platform: &'p Platform,
    /// Every parameter by its path, with its value and basis.
    keys: Vec<(String, String)>,
}

impl Looking<'_> {
    fn presence(&self, id: &str) -> Presence {
        match id {
            "l2_ways" => self.ways(2),
            "l3_ways" => self.ways(3),
            "memory_side_cache" => self.by_keys(&["interconnect.memory_cache.size_kib"], "interconnect.memory_cache"),
            "snoop_filters" => self.snoop_filters(),
            "mshrs" => self.mshrs(),
            "interconnect" => {
                self.by_keys(&["interconnect.crossing_ns", "interconnect.line_ns"], "interconnect.crossing_ns")
            }
            "dram_banks" => {
                self.by_keys(&["memory.banks", "memory.ranks", "memory.channels", "memory.bank_hash"], "memory.banks")
            }
            "dram_bus" => {
                self.by_keys(&["memory.line_transfer_ns", "memory.scheduler.queue_entries"], "memory.line_transfer_ns")
            }
            "tlb_walks" => self.walks(),
            "bus_locks" => self.bus_locks(),
            "cache_maintenance" => self.maintenance(),
            "power_thermal" => self.power(),
            "tlb_invalidations" => no_key("messages that invalidate TLBs"),
            "smt" => no_key("hardware threads"),
            "device_dma" => no_key("devices"),
            "graphics" => no_key("graphics"),
            "interrupts" => no_key("interrupts"),
            _ => super::unknown(),
        }
    }

    fn key(&self, path: &str) -> Option<HowKnown> {
        let (path, says) = self.keys.iter().find(|(own, _)| own == path)?;
        Some(HowKnown::new(path.clone(), says.clone()))
    }

    /// Keys of the same name in a list: `cores.N.l2.ways`, for each N of `count`.
    fn each(&self, list: &str, count: usize, below: &[&str]) -> Vec<HowKnown> {
        let paths = (0..count).flat_map(|n| below.iter().map(move |key| format!("{list}.{n}.{key}")));
        paths.filter_map(|path| self.key(&path)).collect()
    }

    fn by_keys(&self, keys: &[&str], sought: &str) -> Presence {
        Presence::shown(keys.iter().filter_map(|key| self.key(key)).collect(), || absent(sought))
    }

    fn ways(&self, level: u8) -> Presence {
        let caches = self.platform.shared_caches.iter().enumerate();
        let shared = caches.filter(|(_, cache)| cache.level == level && cache.groups().any(|group| group.len() > 1));
        let known = shared.flat_map(|(index, cache)| {
            let path = format!("shared_caches.{index}");
            let groups: Vec<_> = cache.groups().map(|group| format_cpulist(group)).collect();
            let shared = HowKnown::new(format!("{path}.cores"), format!("shared by cores {}", groups.join("; ")));
            let ways = [self.key(&format!("{path}.ways")), self.key(&format!("{path}.way_groups"))];
            std::iter::once(shared).chain(ways.into_iter().flatten())
        });
        let known: Vec<HowKnown> = known.collect();
        let kinds = &self.platform.cores;
        Presence::shown(known, || match level {
            2 if !kinds.is_empty() && kinds.iter().all(|kind| kind.l2.is_some()) => {
                Presence::no("cores.*.l2", "each core has an L2 of its own")
            }
            3 if !self.platform.shared_caches.is_empty() => {
                let last = self.platform.shared_caches.iter().map(|cache| cache.level).max().unwrap_or_default();
                Presence::no("shared_caches", format!("the last cache is of level {last}"))
            }
            _ => absent("shared_caches"),
        })
    }

    fn snoop_filters(&self) -> Presence {
        let count = self.platform.shared_caches.len();
        let mut known = self.each("shared_caches", count, &["snoop_filter.sets", "snoop_filter.ways"]);
        let beyond = ["directories", "sets", "ways"].map(|key| self.key(&format!("interconnect.snoop_filter.{key}")));
        known.extend(beyond.into_iter().flatten());
        let allocations = self.each("shared_caches", count, &["allocation"]).into_iter();
        known.extend(allocations.filter(|it| it.says.starts_with("\"inclusive\"")));
        Presence::shown(known, || absent("shared_caches.*.snoop_filter, interconnect.snoop_filter"))
    }

    fn mshrs(&self) -> Presence {
        let known = self.each("shared_caches", self.platform.shared_caches.len(), &["outstanding_misses"]);
        Presence::shown(known, || {
            Presence::not_seen("shared_caches.*.outstanding_misses", "absent: without limit in the model")
        })
    }

    fn walks(&self) -> Presence {
        let known = self.each("cores", self.platform.cores.len(), &["translation.page_kib", "translation.walk_reads"]);
        Presence::shown(known, || Presence::not_seen("cores.*.tlbs", "absent: translation takes no time in the model"))
    }

    fn architecture(&self) -> Option<Architecture> {
        Some(self.platform.architecture.as_ref()?.value)
    }

    fn bus_locks(&self) -> Presence {
        let says = self.key("architecture").map(|key| key.says).unwrap_or_default();
        match self.architecture() {
            Some(Architecture::X86) => Presence::yes("architecture", format!("{says}; the model has no bus locks")),
            Some(Architecture::Arm | Architecture::Arm32) => {
                Presence::no("architecture", format!("{says}: no access locks a bus"))
            }
            None => absent("architecture"),
        }
    }

    fn maintenance(&self) -> Presence {
        let says = self.key("architecture").map(|key| key.says).unwrap_or_default();
        match self.architecture() {
            Some(_) => Presence::yes("architecture", format!("{says}; the model has no cache maintenance")),
            None => absent("architecture"),
        }
    }

    fn power(&self) -> Presence {
        let mut known = self.each("cores", self.platform.cores.len(), &["performance_per_100_mhz"]);
        known.extend(self.key("interconnect.ring_step_mhz"));
        Presence::shown(known, || no_key("a budget of power or heat"))
    }
}

fn absent(key: &str) -> Presence {
    Presence::not_seen(key, "absent: the file describes none, and the part can have one")
}

fn no_key(what: &str) -> Presence {
    Presence::not_seen("platform file", format!("no key describes {what}, and the simulator has none"))
}
