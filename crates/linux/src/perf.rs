//! Hardware counters of the calling thread, where the kernel has them. On ARMv7 there are none: the library that opens them
//! knows no kernel of 32 bits.

use std::collections::BTreeMap;

#[cfg(not(target_arch = "arm"))]
use perf_event::{Builder, Counter, events::Hardware};
#[cfg(any(test, target_arch = "aarch64"))]
use waykeeper_platform::parse_cpulist;

#[cfg(any(test, target_arch = "aarch64"))]
use crate::root::Root;

/// Running counters; those that the kernel refused are not among them.
#[cfg(not(target_arch = "arm"))]
#[derive(Debug)]
pub struct PerfCounters(Vec<(&'static str, Counter)>);

#[cfg(not(any(target_arch = "arm", target_arch = "aarch64")))]
const EVENTS: [(&str, Hardware); 4] = [
    ("cycles", Hardware::CPU_CYCLES),
    ("instructions", Hardware::INSTRUCTIONS),
    ("llc_references", Hardware::CACHE_REFERENCES),
    ("llc_misses", Hardware::CACHE_MISSES),
];

/// The kernel's names of them and their numbers (Arm ARM D13.11). Its general ones would not do: on Arm its cache references are
/// those of the first level, and where cores are of several kinds it counts them on one kind alone.
#[cfg(target_arch = "aarch64")]
const EVENTS: [(&str, &str, u64); 4] = [
    ("cycles", "cpu_cycles", 0x11),
    ("instructions", "inst_retired", 0x08),
    ("llc_references", "ll_cache_rd", 0x36),
    ("llc_misses", "ll_cache_miss_rd", 0x37),
];

#[cfg(not(target_arch = "arm"))]
impl PerfCounters {
    /// Starts what can be started, for the core that this thread is pinned to. Never fails: absent counters are absent.
    pub fn start() -> Self {
        let counters = builders().into_iter().filter_map(|(name, mut builder)| {
            let mut counter = builder.observe_self().any_cpu().build().ok()?;
            counter.enable().ok()?;
            Some((name, counter))
        });
        Self(counters.collect())
    }

    /// Stops them and returns their values by name.
    pub fn stop(mut self) -> BTreeMap<String, u64> {
        let read = self.0.iter_mut().filter_map(|(name, counter)| {
            counter.disable().ok()?;
            Some(((*name).to_owned(), counter.read().ok()?))
        });
        read.collect()
    }
}

#[cfg(not(any(target_arch = "arm", target_arch = "aarch64")))]
fn builders() -> Vec<(&'static str, Builder<'static>)> {
    EVENTS.into_iter().map(|(name, event)| (name, Builder::new(event))).collect()
}

#[cfg(target_arch = "aarch64")]
fn builders() -> Vec<(&'static str, Builder<'static>)> {
    let root = Root::default();
    let Some(kind) = KindOfCounters::of(&root, crate::schedule::current_core()) else { return Vec::new() };
    let counted = EVENTS.into_iter().filter(|(_, event, _)| kind.counts(&root, event));
    let builder = |(name, _, number): (&'static str, &str, u64)| {
        let mut builder = Builder::new(Hardware::CPU_CYCLES);
        let attributes = builder.attrs_mut();
        attributes.type_ = kind.number;
        attributes.config = number;
        (name, builder)
    };
    counted.map(builder).collect()
}

/// The counters of a kind of Arm's cores, as the kernel has them.
#[cfg(any(test, target_arch = "aarch64"))]
pub(crate) struct KindOfCounters {
    /// The number by which events name them.
    pub number: u32,
    folder: String,
}

#[cfg(any(test, target_arch = "aarch64"))]
impl KindOfCounters {
    /// Those of a core.
    pub fn of(root: &Root, core: u32) -> Option<Self> {
        const DEVICES: &str = "/sys/bus/event_source/devices";
        let of_cores = root.names(DEVICES).into_iter().filter(|name| name.starts_with("armv8"));
        let folder = of_cores.map(|name| format!("{DEVICES}/{name}")).find(|folder| {
            let cores = root.text(&format!("{folder}/cpus")).and_then(|text| parse_cpulist(&text));
            cores.is_some_and(|cores| cores.contains(&core))
        })?;
        Some(Self { number: root.text(&format!("{folder}/type"))?.parse().ok()?, folder })
    }

    /// Whether the processor says that it counts an event.
    fn counts(&self, root: &Root, event: &str) -> bool {
        root.text(&format!("{}/events/{event}", self.folder)).is_some()
    }
}

/// No counters.
#[cfg(target_arch = "arm")]
#[derive(Debug)]
pub struct PerfCounters;

#[cfg(target_arch = "arm")]
impl PerfCounters {
    /// Starts nothing.
    pub fn start() -> Self {
        Self
    }

    /// No values.
    pub fn stop(self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_core_has_counters_of_its_own() {
        // As an RK3588 shows them.
        let root = tempfile::tempdir().unwrap();
        for (name, cpus, number) in
            [("armv8_cortex_a55", "0-3", "8"), ("armv8_cortex_a76", "4-7", "9"), ("arm_dsu_0", "0-7", "10")]
        {
            let folder = root.path().join("sys/bus/event_source/devices").join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("cpus"), format!("{cpus}\n")).unwrap();
            std::fs::write(folder.join("type"), format!("{number}\n")).unwrap();
        }
        let events = root.path().join("sys/bus/event_source/devices/armv8_cortex_a76/events");
        std::fs::create_dir_all(&events).unwrap();
        std::fs::write(events.join("ll_cache_rd"), "event=0x0036\n").unwrap();
        let root = Root::at(root.path());
        let counts = |core| KindOfCounters::of(&root, core).unwrap().counts(&root, "ll_cache_rd");
        assert_eq!((counts(3), counts(4)), (false, true));
        assert_eq!(
            [0, 3, 4, 7, 8].map(|core| KindOfCounters::of(&root, core).map(|kind| kind.number)),
            [Some(8), Some(8), Some(9), Some(9), None]
        );
    }
}
