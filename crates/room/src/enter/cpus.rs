//! The platform's processors as text files: /proc/cpuinfo and /sys/devices/system/cpu.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use waykeeper_platform::{CoreId, Platform, format_cpulist};
use waykeeper_resctrl::ResctrlMachine;

use crate::instances::is_arm;

/// Flags of every x86 processor of the last years that say nothing about what is simulated.
const COMMON_FLAGS: &str = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse \
                            sse2 ht syscall nx rdtscp lm constant_tsc rep_good nopl nonstop_tsc cpuid";

/// /proc/cpuinfo.
pub(super) fn cpuinfo(platform: &Platform, machine: Option<&ResctrlMachine>) -> String {
    let cores = platform.core_ids();
    let mut text = String::new();
    for core in &cores {
        if is_arm(platform) {
            let _ = write!(text, "processor\t: {core}\nCPU implementer\t: 0x41\nCPU architecture: 8\n\n");
            continue;
        }
        let cpuid = platform.cpuid.as_ref();
        let of = |param: Option<&waykeeper_platform::Param<u64>>, other| param.map_or(other, |param| param.value);
        let clock = platform.core_kind(*core).and_then(|kind| kind.clock_ghz.as_ref()).map_or(1.0, |clock| clock.value);
        let last = platform.caches(*core).last().map_or(0, |cache| cache.size_bytes / 1024);
        let _ = write!(
            text,
            "processor\t: {core}\nvendor_id\t: GenuineIntel\ncpu family\t: {}\nmodel\t\t: {}\nmodel name\t: {}\n\
             stepping\t: {}\ncpu MHz\t\t: {:.3}\ncache size\t: {last} KB\nphysical id\t: 0\nsiblings\t: {}\n\
             core id\t\t: {core}\ncpu cores\t: {}\napicid\t\t: {core}\ninitial apicid\t: {core}\nfpu\t\t: yes\nflags\t\t: {}\n\
             cache_alignment\t: {}\n\n",
            of(cpuid.map(|it| &it.family), 6),
            of(cpuid.map(|it| &it.model), 0),
            platform.title.split(':').next().unwrap_or_default(),
            of(cpuid.map(|it| &it.stepping), 0),
            clock * 1000.0,
            cores.len(),
            cores.len(),
            flags(machine),
            platform.line_bytes.value,
        );
    }
    text
}

/// The flags by which clients know what the processor enumerates.
fn flags(machine: Option<&ResctrlMachine>) -> String {
    let mut flags = vec![COMMON_FLAGS];
    if let Some(machine) = machine {
        flags.push("rdt_a");
        flags.extend(machine.l3.iter().map(|_| "cat_l3"));
        flags.extend(machine.l2.iter().map(|_| "cat_l2"));
        flags.extend(machine.l3.iter().filter(|cache| cache.cdp).map(|_| "cdp_l3"));
        flags.extend(machine.l2.iter().filter(|cache| cache.cdp).map(|_| "cdp_l2"));
        flags.extend(machine.mb.iter().map(|_| "mba"));
        let monitoring = machine.monitoring.iter();
        flags.extend(monitoring.map(|_| "cqm cqm_llc cqm_occup_llc cqm_mbm_total cqm_mbm_local"));
    }
    flags.join(" ")
}

/// /proc/filesystems: the host's, with resctrl exactly if this kernel has it.
pub(super) fn filesystems(host: &str, has_resctrl: bool) -> String {
    let mut text: String = host
        .lines()
        .filter(|line| line.split('\t').next_back() != Some("resctrl"))
        .map(|line| format!("{line}\n"))
        .collect();
    if has_resctrl {
        text.push_str("nodev\tresctrl\n");
    }
    text
}

/// /sys/devices/system/cpu: the content of each file, by its path within. A path that ends with a slash is a folder.
pub(super) fn sysfs(platform: &Platform) -> BTreeMap<String, String> {
    let cores = platform.core_ids();
    let all = format_cpulist(&cores);
    let mut files = BTreeMap::new();
    for name in ["online", "possible", "present"] {
        files.insert(name.into(), format!("{all}\n"));
    }
    files.insert("offline".into(), "\n".into());
    files.insert("isolated".into(), "\n".into());
    files.insert("kernel_max".into(), format!("{}\n", cores.last().copied().unwrap_or(0)));
    let width = cores.last().map_or(1, |last| last + 1);
    for core in &cores {
        let mut put = |path: &str, content: String| files.insert(format!("cpu{core}/{path}"), content + "\n");
        if *core != 0 {
            put("online", "1".into());
        }
        put("topology/physical_package_id", "0".into());
        put("topology/die_id", "0".into());
        put("topology/core_id", core.to_string());
        for list in ["thread_siblings_list", "core_cpus_list"] {
            put(&format!("topology/{list}"), core.to_string());
        }
        for map in ["thread_siblings", "core_cpus"] {
            put(&format!("topology/{map}"), mask(&[*core], width));
        }
        for list in ["core_siblings_list", "package_cpus_list"] {
            put(&format!("topology/{list}"), all.clone());
        }
        for map in ["core_siblings", "package_cpus"] {
            put(&format!("topology/{map}"), mask(&cores, width));
        }
        for (index, cache) in caches(platform, *core).iter().enumerate() {
            let mut put = |name: &str, content: String| put(&format!("cache/index{index}/{name}"), content);
            put("level", cache.level.to_string());
            put("type", cache.kind.into());
            put("id", cache.id.to_string());
            put("size", format!("{}K", cache.bytes / 1024));
            put("ways_of_associativity", cache.ways.to_string());
            put("coherency_line_size", platform.line_bytes.value.to_string());
            put("number_of_sets", (cache.bytes / cache.ways / platform.line_bytes.value).to_string());
            put("physical_line_partition", "1".into());
            put("shared_cpu_list", format_cpulist(&cache.cores));
            put("shared_cpu_map", mask(&cache.cores, width));
        }
        files.insert(format!("cpu{core}/node0/"), String::new());
    }
    files
}

struct Cache {
    level: u8,
    kind: &'static str,
    id: usize,
    bytes: u64,
    ways: u64,
    cores: Vec<CoreId>,
}

/// The caches of a core as Linux lists them. Ids count the instances of a level by their first core, as resctrl's do.
fn caches(platform: &Platform, core: CoreId) -> Vec<Cache> {
    let cores = platform.core_ids();
    let position = cores.iter().position(|at| *at == core).unwrap_or(0);
    let mut all = Vec::new();
    let Some(kind) = platform.core_kind(core) else { return all };
    for (name, cache) in [("Data", &kind.l1d), ("Instruction", &kind.l1i)] {
        if let Some(cache) = cache {
            let (bytes, ways) = (cache.size_kib.value * 1024, cache.ways.value);
            all.push(Cache { level: 1, kind: name, id: position, bytes, ways, cores: vec![core] });
        }
    }
    for cache in platform.caches(core).into_iter().filter(|cache| cache.level > 1) {
        let mut firsts: Vec<CoreId> = cores
            .iter()
            .filter_map(|core| {
                let same = platform.caches(*core).into_iter().find(|other| other.level == cache.level)?;
                same.shared_by.first().copied()
            })
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        let id = firsts.iter().position(|first| Some(first) == cache.shared_by.first()).unwrap_or(0);
        all.push(Cache {
            level: cache.level,
            kind: "Unified",
            id,
            bytes: cache.size_bytes,
            ways: cache.ways,
            cores: cache.shared_by,
        });
    }
    all
}

/// A mask as the kernel prints it: groups of 32 bits, the highest cut to the width.
fn mask(cores: &[CoreId], width: u32) -> String {
    let groups = width.div_ceil(32).max(1);
    let group =
        |at: u32| cores.iter().filter(|core| *core / 32 == at).fold(0_u32, |bits, core| bits | 1 << (core % 32));
    let mut text = String::new();
    for at in (0..groups).rev() {
        let bits = if at == groups - 1 { width - at * 32 } else { 32 };
        let digits = bits.div_ceil(4) as usize;
        let _ = write!(text, "{}{:0digits$x}", if text.is_empty() { "" } else { "," }, group(at));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use waykeeper_platform::find_bundled;

    #[test]
    fn masks_are_printed_in_groups() {
        assert_eq!(mask(&[0, 3], 4), "9");
        assert_eq!(mask(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 12), "fff");
        assert_eq!(mask(&[0, 33], 36), "2,00000001");
    }

    #[test]
    fn the_atoms_second_levels_have_the_ids_of_resctrl() {
        // Two modules of two cores: 1 MiB, 16 ways, 64 bytes: 1024 sets.
        let platform = Platform::from_toml(find_bundled("apollo-lake-e3950").unwrap().text, "x").unwrap();
        let files = sysfs(&platform);
        assert_eq!(files["cpu3/cache/index2/id"], "1\n");
        assert_eq!(files["cpu3/cache/index2/shared_cpu_list"], "2-3\n");
        assert_eq!(files["cpu3/cache/index2/number_of_sets"], "1024\n");
        assert_eq!(files["online"], "0-3\n");
        assert!(!files.contains_key("cpu0/online") && files.contains_key("cpu1/online"));
    }

    #[test]
    fn filesystems_name_resctrl_exactly_once_or_not_at_all() {
        let host = "nodev\tproc\nnodev\tresctrl\n\text4\n";
        assert_eq!(filesystems(host, true), "nodev\tproc\n\text4\nnodev\tresctrl\n");
        assert_eq!(filesystems(host, false), "nodev\tproc\n\text4\n");
    }
}
