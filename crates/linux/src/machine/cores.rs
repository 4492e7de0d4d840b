//! The kinds of cores.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_platform::CoreId;

use super::Reading;
use super::arm_cores::{arm_name, midr};

/// Cores of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Cores")]
pub struct CoresOfKind {
    /// The kind: `P-core`, `Cortex-A720`, or the processor's name where all are alike.
    pub kind: String,
    /// How the kind was found.
    pub found: String,
    /// The numbers of the online cores.
    pub cpus: Vec<CoreId>,
    /// Physical cores among them.
    pub physical: usize,
    /// Main ID register, on Arm.
    pub midr: Option<u64>,
    /// Capacity of 1024, where the kernel reports it; of the strongest where they differ.
    pub capacity: Option<u64>,
    /// Base frequency in MHz.
    pub base_mhz: Option<u64>,
    /// Least frequency in MHz.
    pub min_mhz: Option<u64>,
    /// Highest frequency in MHz, of the fastest where they differ.
    pub max_mhz: Option<u64>,
    /// Highest frequency in MHz of the slowest, where they differ.
    pub slowest_max_mhz: Option<u64>,
    /// Frequency in MHz as `/proc/cpuinfo` reported it, where the kernel has no driver of frequencies.
    pub told_mhz: Option<u64>,
    /// The driver of frequencies.
    pub driver: Option<String>,
    /// The governor; several where cores differ.
    pub governor: Option<String>,
}

/// What decides whether two cores are of one kind.
#[derive(PartialEq, Eq)]
struct Key {
    kind: String,
    found: &'static str,
    capacity: Option<u64>,
    caches: Vec<(u64, String, Option<u64>)>,
}

pub(super) fn read(reading: &Reading) -> Vec<CoresOfKind> {
    let units: Vec<(&str, Vec<CoreId>)> =
        [("cpu_core", "P-core"), ("cpu_atom", "E-core"), ("cpu_lowpower", "LP E-core")]
            .into_iter()
            .map(|(unit, name)| (name, reading.list(&format!("/sys/devices/{unit}/cpus"))))
            .collect();
    let alike = crate::architecture::processor(reading.root).unwrap_or_else(|| "core".into());
    let mut kinds: Vec<(Key, Vec<CoreId>)> = Vec::new();
    for cpu in &reading.cpus {
        let key = key(reading, *cpu, &units, &alike);
        match kinds.iter_mut().find(|(other, _)| *other == key) {
            Some((_, cpus)) => cpus.push(*cpu),
            None => kinds.push((key, vec![*cpu])),
        }
    }
    kinds.into_iter().map(|(key, cpus)| cores(reading, key, cpus)).collect()
}

fn key(reading: &Reading, cpu: CoreId, units: &[(&str, Vec<CoreId>)], alike: &str) -> Key {
    // Leaf 0x1A: EAX bits 31:24 tell the kind of core on hybrid parts (Intel SDM, volume 2).
    let native = reading.leaves(cpu).map_or(0, |leaves| leaves.get(0x1a, 0).eax >> 24);
    let midr = midr(reading, cpu);
    let unit = units.iter().find(|(_, cpus)| cpus.contains(&cpu)).map(|(name, _)| *name);
    let (kind, found) = match (unit, native, midr) {
        (Some(name), ..) => (name.to_owned(), "/sys/devices/cpu_core, cpu_atom"),
        (None, 0x40, ..) => ("P-core".to_owned(), "CPUID leaf 0x1A"),
        (None, 0x20, ..) => ("E-core".to_owned(), "CPUID leaf 0x1A"),
        (.., Some((midr, found))) => (arm_name(midr), found),
        _ => (alike.to_owned(), "/proc/cpuinfo"),
    };
    let caches = (0..16).map_while(|index| {
        let read = |file: &str| reading.cpu(cpu, &format!("cache/index{index}/{file}"));
        Some((
            read("level")?.parse().ok()?,
            read("type")? + &read("size")?,
            read("ways_of_associativity")?.parse().ok(),
        ))
    });
    Key {
        kind,
        found,
        // On x86 the capacity marks the better ones of equal cores; those of Arm are different cores.
        capacity: midr.and_then(|_| reading.cpu_number(cpu, "cpu_capacity")),
        caches: caches.filter(|(level, ..)| *level < 3).collect(),
    }
}

/// `cpu MHz` of the first core in `/proc/cpuinfo`.
fn told(reading: &Reading) -> Option<u64> {
    let text = reading.root.text("/proc/cpuinfo")?;
    let line = text.lines().find(|line| line.starts_with("cpu MHz"))?;
    Some(line.split_once(':')?.1.trim().parse::<f64>().ok()?.round() as u64)
}

fn cores(reading: &Reading, key: Key, cpus: Vec<CoreId>) -> CoresOfKind {
    let mhz = |file: &str| {
        let all: Vec<u64> =
            cpus.iter().filter_map(|cpu| reading.cpu_number(*cpu, &format!("cpufreq/{file}"))).collect();
        (all.iter().min().map(|khz| khz / 1000), all.iter().max().map(|khz| khz / 1000))
    };
    let words = |file: &str| {
        let mut all: Vec<_> = cpus.iter().filter_map(|cpu| reading.cpu(*cpu, &format!("cpufreq/{file}"))).collect();
        all.sort_unstable();
        all.dedup();
        (!all.is_empty()).then(|| all.join(", "))
    };
    let (slowest, fastest) = mhz("cpuinfo_max_freq");
    let firsts = cpus.iter().filter(|cpu| reading.threads(**cpu)[0] == **cpu).count();
    let leaf = reading.leaves(cpus[0]).map_or(0, |leaves| u64::from(leaves.get(0x16, 0).eax & 0xffff));
    CoresOfKind {
        kind: key.kind,
        found: key.found.into(),
        physical: firsts,
        midr: midr(reading, cpus[0]).map(|(midr, _)| midr),
        capacity: cpus.iter().filter_map(|cpu| reading.cpu_number(*cpu, "cpu_capacity")).max(),
        base_mhz: mhz("base_frequency").1.or((leaf > 0).then_some(leaf)),
        min_mhz: mhz("cpuinfo_min_freq").0,
        max_mhz: fastest,
        told_mhz: fastest.is_none().then(|| told(reading)).flatten(),
        slowest_max_mhz: slowest.filter(|slowest| Some(*slowest) != fastest),
        driver: words("scaling_driver"),
        governor: words("scaling_governor"),
        cpus,
    }
}
