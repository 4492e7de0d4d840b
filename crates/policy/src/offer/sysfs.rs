//! Caches, threads and the processor, as sysfs and procfs show them.

use std::collections::{BTreeMap, BTreeSet};

use waykeeper_platform::{CoreId, parse_cpulist};

use super::linux::Tree;

/// Processors whose prefetchers the kernel can stop, which pseudo-locking needs: Broadwell-X, Goldmont, Goldmont Plus
/// (Linux, `resctrl_arch_get_prefetch_disable_bits`).
const LOCKING_MODELS: [u32; 3] = [79, 92, 122];

/// A data or unified cache as sysfs shows it.
pub struct SysfsCache {
    pub level: u8,
    pub id: u32,
    pub cores: Vec<CoreId>,
    pub size_bytes: u64,
    pub ways: Option<u32>,
}

/// The data and unified caches of these cores, each once.
pub fn sysfs_caches(tree: &dyn Tree, cores: &[CoreId]) -> Vec<SysfsCache> {
    let mut found: BTreeMap<(u8, Vec<CoreId>), SysfsCache> = BTreeMap::new();
    for core in cores {
        for index in 0..16 {
            let read = |file: &str| {
                let text = tree.text(&format!("/sys/devices/system/cpu/cpu{core}/cache/index{index}/{file}"))?;
                Some(text.trim().to_owned())
            };
            let Some(level) = read("level").and_then(|text| text.parse().ok()) else { break };
            if read("type").as_deref() == Some("Instruction") {
                continue;
            }
            let cache = || {
                let mut cores = parse_cpulist(&read("shared_cpu_list")?)?;
                cores.sort_unstable();
                Some(SysfsCache {
                    level,
                    id: read("id")?.parse().ok()?,
                    cores,
                    size_bytes: size(&read("size")?)?,
                    ways: read("ways_of_associativity").and_then(|text| text.parse().ok()).filter(|ways| *ways > 0),
                })
            };
            if let Some(cache) = cache() {
                found.entry((level, cache.cores.clone())).or_insert(cache);
            }
        }
    }
    found.into_values().collect()
}

/// `24576K` or `24M` in bytes.
fn size(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => (text.strip_suffix('M')?, 1 << 20),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// The cores of one physical core.
pub fn siblings(tree: &dyn Tree, core: CoreId) -> Option<Vec<CoreId>> {
    let mut cores =
        parse_cpulist(&tree.text(&format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"))?)?;
    cores.sort_unstable();
    Some(cores)
}

/// What /proc/cpuinfo says of the processor.
pub struct CpuInfo {
    pub vendor: String,
    family: u32,
    model: u32,
    pub flags: BTreeSet<String>,
    pub is_arm: bool,
}

impl CpuInfo {
    pub fn read(tree: &dyn Tree) -> Self {
        let text = tree.text("/proc/cpuinfo").unwrap_or_default();
        let value = |key: &str| {
            let lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned()).next()
        };
        let number = |key: &str| value(key).and_then(|text| text.parse().ok()).unwrap_or(0);
        Self {
            vendor: value("vendor_id").unwrap_or_default(),
            family: number("cpu family"),
            model: number("model"),
            flags: value("flags").unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
            is_arm: value("CPU implementer").is_some(),
        }
    }

    /// Levels whose caches it can divide by ways, besides these that the kernel offers.
    pub fn unoffered(&self, offered: &[u8]) -> Vec<u8> {
        let can = |level: &u8| self.flags.contains(&format!("cat_l{level}"));
        [2, 3].into_iter().filter(|level| can(level) && !offered.contains(level)).collect()
    }

    /// Whether the kernel can lock memory into its caches.
    pub fn can_lock(&self) -> bool {
        self.vendor == "GenuineIntel" && self.family == 6 && LOCKING_MODELS.contains(&self.model)
    }
}
