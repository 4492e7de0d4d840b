//! The caches: sysfs says what there is, CPUID what sysfs leaves out, and the device tree where sysfs shows none.

use raw_cpuid::CacheType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_platform::CoreId;

use super::Reading;
use super::tree_caches::TreeCaches;
use crate::cpuid::Leaves;
use crate::root::Root;

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheUse {
    /// Data.
    Data,
    /// Instructions.
    Instructions,
    /// Both.
    Unified,
}

/// Caches of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename = "Cache")]
pub struct CacheKind {
    /// Level.
    pub level: u8,
    /// What it holds.
    pub holds: CacheUse,
    /// Capacity of each in KiB.
    pub size_kib: u64,
    /// Ways.
    pub ways: Option<u64>,
    /// Sets.
    pub sets: Option<u64>,
    /// Bytes in a line.
    pub line_bytes: Option<u64>,
    /// The online cores of each cache of this kind.
    pub shared_by: Vec<Vec<CoreId>>,
    /// The kernel's number of each, where it reports one.
    pub ids: Vec<Option<u32>>,
    /// Whether it says that it includes what is inside.
    pub inclusive: Option<bool>,
    /// Whether its sets are chosen by a hash.
    pub hashed: Option<bool>,
    /// How it was found.
    pub found: String,
}

/// A cache as a core sees it.
struct Seen {
    cache: CacheKind,
    by: Vec<CoreId>,
    id: Option<u32>,
}

pub(super) fn read(reading: &Reading, tree: &TreeCaches, notes: &mut Vec<String>) -> Vec<CacheKind> {
    let mut kinds: Vec<CacheKind> = Vec::new();
    for cpu in &reading.cpus {
        for seen in (0..16).map_while(|index| one(reading, *cpu, index, notes)).flatten() {
            let same = |other: &&mut CacheKind| {
                (other.level, other.holds, other.size_kib, other.ways, other.line_bytes, other.inclusive)
                    == (
                        seen.cache.level,
                        seen.cache.holds,
                        seen.cache.size_kib,
                        seen.cache.ways,
                        seen.cache.line_bytes,
                        seen.cache.inclusive,
                    )
            };
            match kinds.iter_mut().find(same) {
                Some(kind) if kind.shared_by.contains(&seen.by) => {}
                Some(kind) => {
                    kind.shared_by.push(seen.by);
                    kind.ids.push(seen.id);
                }
                None => kinds.push(CacheKind { shared_by: vec![seen.by], ids: vec![seen.id], ..seen.cache }),
            }
        }
    }
    if kinds.is_empty() {
        kinds = tree.kinds(reading, notes);
    }
    kinds.sort_by_key(|cache| (cache.level, cache.holds, cache.shared_by[0].clone()));
    notes.sort();
    notes.dedup();
    kinds
}

/// More sets, ways or bytes of a line than any cache has.
pub(super) const MOST_ENTRIES: u64 = 1 << 32;

/// The KiB of a file `size`; `None` where it says none, or more than any cache has.
pub(crate) fn size_kib(text: &str) -> Option<u64> {
    text.strip_suffix('K')?.parse().ok().filter(|kib| *kib <= MOST_ENTRIES)
}

/// `None` where there is no such index; `Some(None)` where the entry says too little.
fn one(reading: &Reading, cpu: CoreId, index: u32, notes: &mut Vec<String>) -> Option<Option<Seen>> {
    let read = |file: &str| reading.cpu(cpu, &format!("cache/index{index}/{file}"));
    let number = |file: &str| read(file)?.parse::<u64>().ok().filter(|number| (1..=MOST_ENTRIES).contains(number));
    let level = read("level")?.parse().ok()?;
    let holds = match read("type").as_deref() {
        Some("Data") => CacheUse::Data,
        Some("Instruction") => CacheUse::Instructions,
        _ => CacheUse::Unified,
    };
    let Some(size_kib) = read("size").as_deref().and_then(size_kib) else {
        notes.push(format!("the kernel shows no size of the caches of level {level}"));
        return Some(None);
    };
    let told = cpuid(reading, cpu, level, holds);
    let ways = number("ways_of_associativity");
    if let (Some(ways), Some(told)) = (ways, &told)
        && ways != told.ways
    {
        notes.push(format!("the level {level} cache has {ways} ways in sysfs and {} in CPUID", told.ways));
    }
    let told_by = crate::discover::listed_or_masked(read, "shared_cpu_list", "shared_cpu_map");
    if told_by.is_none() {
        notes.push(format!(
            "no file shows which cores share the caches of level {level}: each stands here as one core's"
        ));
    }
    let mut by = told_by.unwrap_or_else(|| vec![cpu]);
    by.retain(|other| reading.cpus.contains(other));
    let line_bytes = number("coherency_line_size");
    let sets = number("number_of_sets").or_else(|| Some(size_kib * 1024 / ways? / line_bytes?));
    let leaf = if reading.has_amd_leaves(cpu) { "0x8000001D" } else { "4" };
    Some(Some(Seen {
        cache: CacheKind {
            level,
            holds,
            size_kib,
            ways,
            sets,
            line_bytes,
            shared_by: Vec::new(),
            ids: Vec::new(),
            inclusive: told.as_ref().map(|told| told.inclusive),
            // Leaf 4 has a bit for it, leaf 0x8000001D has none.
            hashed: told.as_ref().filter(|_| !reading.has_amd_leaves(cpu)).map(|told| told.hashed),
            found: if told.is_some() { format!("sysfs, CPUID leaf {leaf}") } else { "sysfs".into() },
        },
        by,
        id: number_or_zero(read("id")),
    }))
}

fn number_or_zero(text: Option<String>) -> Option<u32> {
    text?.parse().ok()
}

/// What CPUID says of a cache.
struct Told {
    ways: u64,
    inclusive: bool,
    hashed: bool,
}

impl Reading<'_> {
    fn has_amd_leaves(&self, cpu: CoreId) -> bool {
        self.leaves(cpu).is_some_and(describes_caches_as_amd)
    }
}

/// Whether a processor describes its caches in AMD's leaf, which does not tell of hashes.
fn describes_caches_as_amd(leaves: &Leaves) -> bool {
    leaves.get(0x8000_001d, 0).eax != 0
}

fn cpuid(reading: &Reading, cpu: CoreId, level: u8, holds: CacheUse) -> Option<Told> {
    let decoder = reading.leaves(cpu)?.decoder();
    let wanted = match holds {
        CacheUse::Data => CacheType::Data,
        CacheUse::Instructions => CacheType::Instruction,
        CacheUse::Unified => CacheType::Unified,
    };
    let cache = decoder.get_cache_parameters()?.find(|it| it.level() == level && it.cache_type() == wanted)?;
    Some(Told {
        ways: cache.associativity() as u64,
        inclusive: cache.is_inclusive(),
        hashed: cache.has_complex_indexing(),
    })
}

/// Whether the running machine's last-level cache chooses sets by a hash of the address, as seen from a core. `None` where
/// unknown: leaf 4 of CPUID has a bit for it, which AMD's leaf and Arm's registers lack.
pub fn index_is_hashed(cpu: CoreId) -> Option<bool> {
    let leaves = Leaves::of(&Root::default(), cpu)?;
    if describes_caches_as_amd(&leaves) {
        return None;
    }
    let decoder = leaves.decoder();
    let unified = decoder.get_cache_parameters()?.filter(|cache| cache.cache_type() == CacheType::Unified);
    unified.max_by_key(|cache| cache.level()).map(|cache| cache.has_complex_indexing())
}
