//! The channels of a machine, from its files.
//!
//! A "no" needs a file that shows it, and no hypervisor below: what a guest does not see can be there.

use waykeeper_doctor::Examination;
use waykeeper_linux::cpuid::in_room;
use waykeeper_linux::machine::{CacheKind, CacheUse, Control, Machine};
use waykeeper_linux::recording::MANIFEST;
use waykeeper_linux::{Below, Root, architecture, below, format_cpulist, threads};
use waykeeper_platform::CoreId;

use super::{ChannelPlace, PlaceKind};
use crate::list::list;
use crate::reach::CoreReach;
use crate::table::{HowKnown, Presence};

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";
const PCI: &str = "/sys/bus/pci/devices";
const VIRTIO: &str = "/sys/bus/virtio/devices";
const DRM: &str = "/sys/class/drm";
const UNITS: &str = "/sys/bus/event_source/devices";
const EDAC: &str = "/sys/devices/system/edac/mc";
const INTERRUPTS: &str = "/proc/interrupts";
const INFO: &str = "/proc/cpuinfo";

/// Looks for the channels of a machine; `place` is what the table calls it.
pub fn of_machine(place: &str, root: &Root, machine: &Machine, examination: &Examination) -> ChannelPlace {
    let looking = Looking { root, machine, in_room: root.is_running() && in_room() };
    let presence = |id: &String| (id.clone(), looking.presence(id));
    ChannelPlace {
        place: place.to_owned(),
        called: examination.processor.clone(),
        kind: PlaceKind::Machine { processor: examination.processor.clone() },
        cores: CoreReach::of_machine(machine),
        presences: list().channel.iter().map(|channel| &channel.id).map(presence).collect(),
        findings: examination.findings.clone(),
        notes: machine.notes.clone(),
    }
}

struct Looking<'m> {
    root: &'m Root,
    machine: &'m Machine,
    /// Processors and resctrl are then a simulated platform's, and everything else is the machine's below.
    in_room: bool,
}

/// Channels that a room's files say nothing of.
const NOT_IN_ROOMS: [&str; 8] = [
    "memory_side_cache",
    "dram_banks",
    "tlb_walks",
    "tlb_invalidations",
    "device_dma",
    "graphics",
    "interrupts",
    "power_thermal",
];

impl Looking<'_> {
    fn presence(&self, id: &str) -> Presence {
        if self.in_room && NOT_IN_ROOMS.contains(&id) {
            return Presence::not_seen(
                "room",
                "these files are those of the machine below, not of the simulated platform",
            );
        }
        match id {
            "l2_ways" => self.ways(2),
            "l3_ways" => self.ways(3),
            "memory_side_cache" => self.memory_side_cache(),
            "snoop_filters" => self.snoop_filters(),
            "mshrs" => Presence::not_seen(format!("{CPUS}/cpu*/cache"), "no file shows the MSHRs of a cache"),
            "interconnect" => self.interconnect(),
            "dram_banks" => self.banks(),
            "dram_bus" => self.bus(),
            "tlb_walks" => self.walks(),
            "tlb_invalidations" => self.invalidations(),
            "smt" => self.smt(),
            "device_dma" => self.devices(),
            "graphics" => self.graphics(),
            "bus_locks" => self.bus_locks(),
            "cache_maintenance" => self.maintenance(),
            "interrupts" => self.interrupts(),
            "power_thermal" => self.power(),
            _ => super::unknown(),
        }
    }

    /// No, unless a hypervisor is below, or nothing shows that there is none.
    fn no(&self, by: impl Into<String>, says: impl Into<String>) -> Presence {
        let mut presence = Presence::no(by, says);
        let hidden = match below(self.root) {
            Below::Machine(..) => return presence,
            Below::Hypervisor(_, (file, text)) => HowKnown::new(file, format!("{text}: what it hides is not seen")),
            Below::Unknown(why) => HowKnown::new(INFO, format!("whether a hypervisor hides it is not known: {why}")),
        };
        presence.answer = crate::table::ChannelAnswer::NotSeen;
        presence.known_by.push(hidden);
        presence
    }

    fn control(&self, id: &str) -> Option<&Control> {
        self.machine.controls.iter().find(|control| control.id == id)
    }

    /// What a control says, where the machine has it.
    fn by_control(&self, id: &str) -> Vec<HowKnown> {
        let control = self.control(id);
        let said = |control: &Control| {
            let (name, detail) = (&control.name, &control.detail);
            let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
            control.found.first().map(|found| HowKnown::new(found.says.clone(), format!("{name}{detail}")))
        };
        control.and_then(said).into_iter().collect()
    }

    /// The first thread of the physical core that a thread is of.
    fn core_of(&self, cpu: CoreId) -> CoreId {
        self.machine.siblings.iter().find(|group| group.contains(&cpu)).map_or(cpu, |group| group[0])
    }

    fn is_contested(&self, cpus: &[CoreId]) -> bool {
        let mut cores = cpus.iter().map(|cpu| self.core_of(*cpu));
        let first = cores.next();
        cores.any(|core| Some(core) != first)
    }

    fn ways(&self, level: u8) -> Presence {
        let of_level = |cache: &&CacheKind| cache.level == level && cache.holds != CacheUse::Instructions;
        let caches: Vec<&CacheKind> = self.machine.caches.iter().filter(of_level).collect();
        let place = format!("{CPUS}/cpu*/cache/index*/shared_cpu_list");
        if caches.is_empty() {
            return Presence::not_seen(place, format!("no cache of level {level} is listed"));
        }
        let shared = caches.iter().flat_map(|cache| cache.shared_by.iter().map(move |group| (cache, group)));
        let shared: Vec<_> = shared.filter(|(_, group)| self.is_contested(group)).collect();
        if !shared.is_empty() {
            let says = shared.iter().map(|(cache, group)| {
                let ways = cache.ways.map_or(String::new(), |ways| format!(", {ways} ways"));
                format!("L{level} of {} KiB{ways}, shared by cores {}", cache.size_kib, format_cpulist(group))
            });
            let mut known = vec![HowKnown::new(place, says.collect::<Vec<_>>().join("; "))];
            known.extend(self.by_control(&format!("l{level}_ways")));
            return Presence::shown(known, super::unknown);
        }
        match self.machine.cpus().iter().find(|cpu| !self.shows_sharers(**cpu, level)) {
            Some(cpu) => Presence::not_seen(
                place,
                format!("no file shows which cores share the cache of level {level} of core {cpu}"),
            ),
            None => self.no(place, format!("each cache of level {level} belongs to one core")),
        }
    }

    /// Whether a file shows the cores that share a core's cache of a level.
    fn shows_sharers(&self, cpu: CoreId, level: u8) -> bool {
        let folder = |index: u32| format!("{CPUS}/cpu{cpu}/cache/index{index}");
        let text = |index: u32, file: &str| self.root.text(&format!("{}/{file}", folder(index)));
        let is_it = |index: &u32| text(*index, "level").is_some_and(|text| text == level.to_string());
        (0..16)
            .find(is_it)
            .is_some_and(|index| text(index, "shared_cpu_list").or_else(|| text(index, "shared_cpu_map")).is_some())
    }

    fn memory_side_cache(&self) -> Presence {
        let folders: Vec<String> =
            self.machine.nodes.iter().map(|node| format!("{NODES}/node{}/memory_side_cache", node.number)).collect();
        let shown = folders.iter().flat_map(|folder| {
            let indexes = self.root.names(folder).into_iter().filter(|name| name.starts_with("index"));
            indexes.map(move |index| format!("{folder}/{index}/size"))
        });
        let known = shown.filter_map(|file| {
            let text = self.root.text(&file)?;
            Some(HowKnown::new(file, format!("{text} bytes")))
        });
        Presence::shown(known.collect(), || {
            let says = "no file shows one; firmware need not describe it (ACPI HMAT)";
            Presence::not_seen(format!("{NODES}/node*/memory_side_cache"), says)
        })
    }

    fn snoop_filters(&self) -> Presence {
        let outer = self.machine.caches.iter().filter(|cache| cache.shared_by.iter().any(|it| self.is_contested(it)));
        let inclusive = outer.filter(|cache| cache.inclusive == Some(true));
        let known = inclusive.map(|cache| {
            let level = cache.level;
            let says = format!("the shared L{level} includes inner caches: what it evicts leaves them too");
            HowKnown::new(cache.found.clone(), says)
        });
        Presence::shown(known.collect(), || {
            let says = "no file shows a snoop filter; a shared cache that includes inner ones was not seen either";
            Presence::not_seen(format!("{CPUS}/cpu*/cache, CPUID"), says)
        })
    }

    /// Counters of units that cores share, by the beginning of their names.
    fn units(&self, begins: &[&str], what: &str) -> Vec<HowKnown> {
        if self.in_room {
            return Vec::new();
        }
        let names = self.root.names(UNITS);
        let own: Vec<&str> =
            names.iter().map(String::as_str).filter(|name| begins.iter().any(|it| name.starts_with(it))).collect();
        match own.first() {
            Some(first) => vec![HowKnown::new(UNITS, format!("{what}: {} counter units, such as {first}", own.len()))],
            None => Vec::new(),
        }
    }

    /// Nodes whose memory several cores reach, or cores that run one kernel.
    fn one_memory(&self) -> Vec<HowKnown> {
        let nodes = self.machine.nodes.iter().filter(|node| !self.in_room && self.is_contested(&node.cpus));
        let said = nodes.map(|node| {
            let file = format!("{NODES}/node{}/cpulist", node.number);
            HowKnown::new(file, format!("cores {} share the memory of this node", format_cpulist(&node.cpus)))
        });
        let known: Vec<HowKnown> = said.collect();
        let cpus = self.machine.cpus();
        if known.is_empty() && self.is_contested(&cpus) {
            let says = format!("cores {} run one kernel in one memory", format_cpulist(&cpus));
            return vec![HowKnown::new(format!("{CPUS}/online"), says)];
        }
        known
    }

    fn interconnect(&self) -> Presence {
        let mut known = self.by_control("interconnect_counters");
        known.extend(self.units(&["uncore_cha", "uncore_cbox", "uncore_m2m", "amd_df"], "interconnect"));
        known.extend(self.one_memory());
        let file = format!("{CPUS}/online");
        Presence::shown(known, || Presence::not_seen(file, "one core is online, and no file shows what devices share"))
    }

    fn banks(&self) -> Presence {
        let controllers = self.root.folders(EDAC).into_iter().filter(|name| name.starts_with("mc"));
        let modules = controllers.flat_map(|controller| {
            let folder = format!("{EDAC}/{controller}");
            let modules = self.root.folders(&folder).into_iter();
            modules.map(move |module| format!("{folder}/{module}/dimm_mem_type")).collect::<Vec<_>>()
        });
        let known = modules.filter_map(|file| {
            let kind = self.root.text(&file).filter(|text| !text.is_empty() && text != "Unknown")?;
            Some(HowKnown::new(file, kind))
        });
        Presence::shown(known.take(1).collect(), || {
            Presence::not_seen(EDAC, "no file shows the kind of memory, its banks or their addresses")
        })
    }

    fn bus(&self) -> Presence {
        let mut known = self.units(&["uncore_imc", "arm_dmc", "amd_umc", "imx8_ddr"], "memory controllers");
        known.extend(self.one_memory());
        known.extend(self.by_control("memory_bandwidth"));
        Presence::shown(known, || Presence::not_seen(NODES, "one core is online, and no file shows what devices share"))
    }

    fn walks(&self) -> Presence {
        let meminfo = self.root.text("/proc/meminfo").unwrap_or_default();
        let tables = meminfo.lines().find_map(|line| line.strip_prefix("PageTables:"));
        match tables {
            Some(size) => Presence::yes("/proc/meminfo", format!("page tables of {}", size.trim())),
            None => Presence::not_seen("/proc/meminfo", self.absent("/proc/meminfo", "no line `PageTables`")),
        }
    }

    /// Why nothing was read, or that it lacks something.
    fn absent(&self, file: &str, lacks: &str) -> String {
        if self.root.text(file).is_some() { lacks.to_owned() } else { self.root.absence(file) }
    }

    fn invalidations(&self) -> Presence {
        let table = self.root.text(INTERRUPTS).unwrap_or_default();
        let row = table.lines().find_map(|line| line.trim_start().strip_prefix("TLB:"));
        if let Some(row) = row {
            let counts = row.split_whitespace().map_while(|word| word.parse::<u64>().ok());
            let sum = counts.fold(0_u64, u64::saturating_add);
            return Presence::yes(INTERRUPTS, format!("TLB shootdowns: {sum} since boot"));
        }
        Presence::not_seen(INTERRUPTS, self.absent(INTERRUPTS, "no line `TLB`: the kernel does not count them here"))
    }

    fn smt(&self) -> Presence {
        let file = format!("{CPUS}/cpu*/topology/thread_siblings_list");
        if !self.machine.siblings.is_empty() {
            let groups: Vec<_> = self.machine.siblings.iter().map(|group| format_cpulist(group)).collect();
            return Presence::yes(file, format!("threads of one core: {}", groups.join("; ")));
        }
        match self.machine.cpus().iter().find(|cpu| threads(self.root, **cpu).is_none()) {
            Some(cpu) => Presence::not_seen(file, format!("no file shows the threads of core {cpu}")),
            None => self.no(file, "each online core has its pipeline for itself"),
        }
    }

    /// The PCI devices, each with its class; `None` of one that does not report it.
    fn pci(&self) -> Vec<(String, Option<u32>)> {
        let class = |device: &String| {
            let text = self.root.text(&format!("{PCI}/{device}/class"))?;
            u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()
        };
        self.root.names(PCI).into_iter().map(|device| (device.clone(), class(&device))).collect()
    }

    fn devices(&self) -> Presence {
        let pci = self.pci();
        let mut known = Vec::new();
        if !pci.is_empty() {
            let of = |base: u32| pci.iter().filter(|(_, class)| class.is_some_and(|it| it >> 16 == base)).count();
            let says =
                format!("{} devices, of them {} storage, {} network, {} display", pci.len(), of(1), of(2), of(3));
            known.push(HowKnown::new(PCI, says));
        }
        let virtio = self.root.names(VIRTIO).len();
        if virtio > 0 {
            known.push(HowKnown::new(VIRTIO, format!("{virtio} devices, whose data the host copies")));
        }
        if !known.is_empty() {
            known.extend(self.device_ways());
        }
        Presence::shown(known, || Presence::not_seen(PCI, "no devices are listed there; a board can have others"))
    }

    /// Ways of the last-level cache that devices fill, and the control of them.
    fn device_ways(&self) -> Vec<HowKnown> {
        let ways = self.control("l3_ways").and_then(|control| {
            let bits = control.shares.as_ref()?.shareable.filter(|bits| *bits != 0)?;
            let says = format!("devices fill the ways {bits:#x} of the L3 too");
            Some(HowKnown::new(control.found.first()?.says.clone(), says))
        });
        let io_alloc = "/sys/fs/resctrl/info/L3/io_alloc";
        let file = self.root.text(io_alloc).map(|text| HowKnown::new(io_alloc, text));
        ways.into_iter().chain(file).collect()
    }

    fn graphics(&self) -> Presence {
        let pci = self.pci();
        let displays = pci.iter().filter(|(_, class)| class.is_some_and(|class| class >> 16 == 3));
        let mut known: Vec<HowKnown> = displays
            .map(|(device, class)| {
                HowKnown::new(format!("{PCI}/{device}/class"), format!("{:#08x}", class.unwrap_or_default()))
            })
            .collect();
        let cards = self.root.names(DRM).into_iter().filter(|name| name.starts_with("card") && !name.contains('-'));
        known.extend(cards.map(|card| HowKnown::new(format!("{DRM}/{card}"), "a graphics device")));
        Presence::shown(known, || match pci.iter().find(|(_, class)| class.is_none()) {
            _ if pci.is_empty() => Presence::not_seen(PCI, "no devices are listed there; a board can have others"),
            _ if !self.is_whole() => {
                Presence::not_seen(PCI, "none is listed, and a folder without a manifest can lack files")
            }
            Some((device, _)) => {
                Presence::not_seen(format!("{PCI}/{device}/class"), "the device does not report its class")
            }
            // Systems on a chip have graphics beside their PCI devices.
            None if self.is_x86() != Some(true) => {
                Presence::not_seen(PCI, "none among the PCI devices; a system on a chip can have one beside them")
            }
            None => self.no(PCI, format!("no display controller among {} devices", pci.len())),
        })
    }

    /// Whether a folder's list is the machine's: a copy without the manifest of a recording can lack some of it.
    fn is_whole(&self) -> bool {
        self.root.is_running() || self.root.text(MANIFEST).is_some()
    }

    /// `None` where the architecture is not known.
    fn is_x86(&self) -> Option<bool> {
        architecture(self.root).map(|name| matches!(name.as_str(), "x86_64" | "i386" | "i586" | "i686"))
    }

    fn has_flag(&self, flag: &str) -> bool {
        let info = self.root.text(INFO).unwrap_or_default();
        let line = info.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
        line.split_whitespace().any(|word| word == flag)
    }

    fn bus_locks(&self) -> Presence {
        match self.is_x86() {
            Some(true) => Presence::yes(INFO, "x86: a locked access across two lines locks the bus"),
            Some(false) => Presence::no(INFO, "not x86: no access locks a bus"),
            None => Presence::not_seen(INFO, self.absent(INFO, "the architecture is not shown")),
        }
    }

    fn maintenance(&self) -> Presence {
        match architecture(self.root).as_deref() {
            _ if self.has_flag("clflush") => Presence::yes(INFO, "flag clflush: any program can flush by address"),
            Some("aarch64") => Presence::yes(INFO, "AArch64: Linux lets any program clean by address (DC CVAU, CIVAC)"),
            Some(_) => Presence::not_seen(INFO, self.absent(INFO, "no flag shows whether programs can flush")),
            None => Presence::not_seen(INFO, self.absent(INFO, "the architecture is not shown")),
        }
    }

    fn interrupts(&self) -> Presence {
        let text = self.root.text(INTERRUPTS).unwrap_or_default();
        let devices = text.lines().filter_map(|line| line.trim_start().split_once(':')?.0.parse::<u32>().ok()).count();
        match text.is_empty() {
            true => Presence::not_seen(INTERRUPTS, self.absent(INTERRUPTS, "it is empty")),
            false => Presence::yes(INTERRUPTS, format!("{devices} numbered interrupts, beside those of each core")),
        }
    }

    fn power(&self) -> Presence {
        let mut known = self.by_control("frequency");
        let zones = self.root.names("/sys/class/thermal");
        let zones: Vec<&str> =
            zones.iter().map(String::as_str).filter(|name| name.starts_with("thermal_zone")).collect();
        if !zones.is_empty() {
            known.push(HowKnown::new("/sys/class/thermal", format!("{} thermal zones", zones.len())));
        }
        Presence::shown(known, || {
            let says = "no driver of frequencies and no thermal zone is shown; clocks can change all the same";
            Presence::not_seen(format!("{CPUS}/cpu*/cpufreq, /sys/class/thermal"), says)
        })
    }
}
