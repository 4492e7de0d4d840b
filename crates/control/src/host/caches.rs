//! The caches of a core, as `/sys` shows them.

use waykeeper_linux::{Root, parse_cpulist, parse_cpumask};

/// A cache for data that a core uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cache {
    /// 1 for the nearest.
    pub level: u8,
    /// Its id, which resctrl calls a domain.
    pub id: u32,
    pub bytes: u64,
    pub line_bytes: u64,
    /// The cores that share it.
    pub cores: Vec<u32>,
}

/// Those of a core, without caches for code alone.
pub(crate) fn caches(root: &Root, core: u32) -> Vec<Cache> {
    let folder = format!("/sys/devices/system/cpu/cpu{core}/cache");
    (0..16).map_while(|index| cache(root, &format!("{folder}/index{index}"))).flatten().collect()
}

/// `None` where there is no such index, `Some(None)` where it is of no use.
fn cache(root: &Root, folder: &str) -> Option<Option<Cache>> {
    let level = root.number(&format!("{folder}/level"))?;
    let text = |name: &str| root.text(&format!("{folder}/{name}"));
    let read = || {
        let size = text("size")?;
        Some(Cache {
            level: u8::try_from(level).ok()?,
            id: text("id").and_then(|id| id.parse().ok()).unwrap_or(0),
            bytes: size.strip_suffix('K').and_then(|kib| kib.parse::<u64>().ok())? << 10,
            line_bytes: text("coherency_line_size")?.parse().ok()?,
            // Old kernels have masks alone.
            cores: text("shared_cpu_list")
                .and_then(|list| parse_cpulist(&list))
                .or_else(|| parse_cpumask(&text("shared_cpu_map")?))?,
        })
    };
    Some(read().filter(|_| text("type").is_some_and(|kind| kind != "Instruction")))
}
