//! This machine as a platform: cores and caches as `/sys` reports them.

use std::collections::BTreeMap;

use waykeeper_platform::{
    Basis, CoreId, CoreKind, Mitigation, Param, Platform, PrivateCache, Settings, SharedCache, parse_cpulist,
    parse_cpumask,
};

use crate::machine::{line_bytes as line_bytes_by_manual, size_kib};
use crate::root::Root;

/// A discovered machine.
#[derive(Debug, Clone)]
pub struct Discovered {
    /// The machine as a platform named `host`, with the online cores and their caches; it has no timing.
    pub platform: Platform,
    /// SMT siblings of each core, itself left out.
    pub siblings: BTreeMap<CoreId, Vec<CoreId>>,
    /// Cores that the kernel isolates from its scheduler.
    pub isolated: Vec<CoreId>,
}

/// Why a machine could not be discovered.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{path} {why}, so the cores of this machine are unknown")]
pub struct NotDiscovered {
    path: String,
    why: String,
}

/// The mitigation that runs the target under SCHED_FIFO.
pub const FIFO: &str = "fifo";
/// The mitigation that puts the target's buffer into huge pages.
pub const HUGE_PAGES: &str = "hugepages";

const SYSFS_CACHE: &str = "/sys/devices/system/cpu/cpuN/cache";

/// Where a line's size is from that the kernel does not show.
const CORE_MANUAL: &str = "Arm, technical reference manual of the core (MIDR)";

/// One cache as a core sees it.
struct Seen {
    level: u8,
    instruction: bool,
    size_kib: u64,
    ways: u64,
    line: u64,
    shared: Vec<CoreId>,
}

/// Reads cores and caches.
///
/// # Errors
/// A tree without a readable list of online cores.
pub fn discover(root: &Root) -> Result<Discovered, NotDiscovered> {
    let cores = online(root)?;
    let mut kinds: Vec<CoreKind> = Vec::new();
    let mut shared: Vec<SharedCache> = Vec::new();
    let mut line = None;
    let name = crate::architecture::processor(root).unwrap_or_else(|| "unknown".into());
    for &core in &cores {
        let caches = caches_of(root, core);
        line = caches.first().map(|cache| cache.line).or(line);
        let private = |level: u8, instruction: bool| {
            let alone = |cache: &&Seen| cache.level == level && cache.instruction == instruction && cache.level < 3;
            caches
                .iter()
                .find(alone)
                .filter(|cache| level == 1 || cache.shared.len() <= smt(root, core).len() + 1)
                .map(private_cache)
        };
        let kind = CoreKind {
            ids: vec![core],
            l1d: private(1, false),
            l1i: private(1, true),
            l2: private(2, false),
            kind: name.clone(),
            ..CoreKind::default()
        };
        match kinds.iter_mut().find(|other| same_caches(other, &kind)) {
            Some(other) => other.ids.push(core),
            None => kinds.push(kind.clone()),
        }
        for cache in caches.iter().filter(|cache| !cache.instruction && cache.level > 1) {
            let is_private = cache.level == 2 && kind.l2.is_some();
            let known = shared.iter().any(|s| s.level == cache.level && s.cores.contains(&core));
            if !is_private && !known {
                shared.push(shared_cache(cache));
            }
        }
    }
    shared.sort_by_key(|cache| cache.level);
    Ok(Discovered {
        siblings: cores.iter().map(|core| (*core, smt(root, *core))).collect(),
        isolated: root.text("/sys/devices/system/cpu/isolated").and_then(|t| parse_cpulist(&t)).unwrap_or_default(),
        platform: host_platform(kinds, shared, line_bytes(root, line, &cores)),
    })
}

/// The online cores, ascending: of `/sys/devices/system/cpu/online`, which old kernels and trees of other tools lack, or else
/// the processors of `/proc/cpuinfo`, where the folders of the cores agree.
///
/// # Errors
/// A tree that has neither.
pub fn online(root: &Root) -> Result<Vec<CoreId>, NotDiscovered> {
    const ONLINE: &str = "/sys/devices/system/cpu/online";
    let refused = |why: String| NotDiscovered { path: ONLINE.into(), why };
    let mut cores = match root.text(ONLINE) {
        Some(text) => parse_cpulist(&text)
            .filter(|cores| !cores.is_empty())
            .ok_or_else(|| refused(format!("is not a list of cores: it holds `{text}`")))?,
        None => listed(root).ok_or_else(|| match root.refusal(ONLINE) {
            Some(why) => refused(format!("cannot be read ({why})")),
            None => refused("cannot be read".into()),
        })?,
    };
    cores.sort_unstable();
    cores.dedup();
    Ok(cores)
}

/// The processors of `/proc/cpuinfo`, which lists those that are online. A core with a folder that it does not list must be
/// offline by a file of its own, else the two describe different machines.
fn listed(root: &Root) -> Option<Vec<CoreId>> {
    const FOLDER: &str = "/sys/devices/system/cpu";
    let info = root.text("/proc/cpuinfo")?;
    let number = |line: &str| {
        let rest = line.strip_prefix("processor")?;
        // `processor : 3`; on IBM Z `processor 3: version = ...`.
        let text = rest.trim_start().strip_prefix(':').unwrap_or(rest.split(':').next()?);
        text.trim().parse().ok()
    };
    let listed: Vec<CoreId> = info.lines().filter_map(number).collect();
    let names = root.names(FOLDER);
    let mut folders = names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse::<CoreId>().ok());
    let agree = folders
        .all(|core| listed.contains(&core) || root.text(&format!("{FOLDER}/cpu{core}/online")).as_deref() == Some("0"));
    (agree && !listed.is_empty()).then_some(listed)
}

/// A list of cores in a folder, or the mask beside it: kernels of POWER before 5.9 have masks alone.
pub(crate) fn listed_or_masked(read: impl Fn(&str) -> Option<String>, list: &str, mask: &str) -> Option<Vec<CoreId>> {
    read(list).and_then(|text| parse_cpulist(&text)).or_else(|| parse_cpumask(&read(mask)?)).filter(|it| !it.is_empty())
}

/// The threads of a core's physical core, itself among them; `None` where no file lists them.
pub fn threads(root: &Root, core: CoreId) -> Option<(String, Vec<CoreId>)> {
    let folder = format!("/sys/devices/system/cpu/cpu{core}/topology");
    let files = [
        ("thread_siblings_list", "thread_siblings"),
        // The newer names of the same.
        ("core_cpus_list", "core_cpus"),
    ];
    files.into_iter().find_map(|(list, mask)| {
        let read = |file: &str| root.text(&format!("{folder}/{file}"));
        let threads = listed_or_masked(read, list, mask).filter(|threads| threads.contains(&core))?;
        let file = if read(list).is_some() { list } else { mask };
        Some((format!("{folder}/{file}"), threads))
    })
}

fn same_caches(a: &CoreKind, b: &CoreKind) -> bool {
    (&a.l1d, &a.l1i, &a.l2) == (&b.l1d, &b.l1i, &b.l2)
}

fn smt(root: &Root, core: CoreId) -> Vec<CoreId> {
    let siblings = threads(root, core).map(|(_, threads)| threads).unwrap_or_default();
    siblings.into_iter().filter(|sibling| *sibling != core).collect()
}

fn caches_of(root: &Root, core: CoreId) -> Vec<Seen> {
    let mut caches: Vec<Seen> = (0..16).map_while(|index| cache(root, core, index)).flatten().collect();
    caches.sort_by_key(|cache| (cache.level, cache.instruction));
    caches
}

/// `None` where there is no such index; `Some(None)` where the entry says too little to be used.
fn cache(root: &Root, core: CoreId, index: u32) -> Option<Option<Seen>> {
    let folder = format!("/sys/devices/system/cpu/cpu{core}/cache/index{index}");
    let read = |file: &str| root.text(&format!("{folder}/{file}"));
    let level: u8 = read("level")?.parse().ok()?;
    let described = || {
        let size_kib = size_kib(&read("size")?)?;
        let line: u64 = read("coherency_line_size")?.parse().ok()?;
        let ways: u64 = read("ways_of_associativity")?.parse().ok()?;
        let shared = listed_or_masked(read, "shared_cpu_list", "shared_cpu_map")?;
        // Some firmware reports 0 ways for a fully associative cache, or nothing at all.
        (line > 0 && ways > 0 && size_kib > 0).then_some(Seen {
            level,
            instruction: read("type")? == "Instruction",
            size_kib,
            ways,
            line,
            shared,
        })
    };
    Some(described())
}

fn private_cache(cache: &Seen) -> PrivateCache {
    let size_kib = Param::documented(cache.size_kib, SYSFS_CACHE);
    let ways = Param::documented(cache.ways, SYSFS_CACHE);
    PrivateCache::new(size_kib, ways)
}

fn shared_cache(cache: &Seen) -> SharedCache {
    let size_kib = Param::documented(cache.size_kib, SYSFS_CACHE);
    let ways = Param::documented(cache.ways, SYSFS_CACHE);
    SharedCache::new(cache.level, cache.shared.clone(), size_kib, ways)
}

/// Of the kernel, or of the core's manual, or what almost all machines have.
fn line_bytes(root: &Root, seen: Option<u64>, cores: &[CoreId]) -> Param<u64> {
    let by_manual = || cores.iter().find_map(|core| line_bytes_by_manual(root, *core));
    match seen {
        Some(line) => Param::documented(line, SYSFS_CACHE),
        None => by_manual().map_or_else(assumed_line, |line| Param::documented(line, CORE_MANUAL)),
    }
}

fn assumed_line() -> Param<u64> {
    let reason = "the kernel shows no caches; almost all machines have 64";
    let (range, reason) = (Some([32, 128]), Some(reason.into()));
    Param { value: 64, is: Basis::Assumed, source: None, range, reason, fitted_on: None }
}

fn host_platform(cores: Vec<CoreKind>, shared_caches: Vec<SharedCache>, line_bytes: Param<u64>) -> Platform {
    let mitigation =
        |name: &str, title: &str| (name.to_owned(), Mitigation { title: title.into(), set: Settings::default() });
    Platform {
        name: "host".into(),
        title: "the machine that this runs on".into(),
        cpuid: None,
        architecture: None,
        line_bytes,
        cores,
        shared_caches,
        mitigations: BTreeMap::from([
            mitigation(FIFO, "the target runs under SCHED_FIFO instead of the ordinary scheduler"),
            mitigation(HUGE_PAGES, "the target's buffer lies in huge pages instead of small ones"),
        ]),
        sources: BTreeMap::new(),
        counter: None,
        interconnect: None,
        memory: None,
        alternative_memories: BTreeMap::new(),
        on_chip_ram: None,
        flaws: Default::default(),
    }
}
