//! Named settings of a platform's controls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A named assignment of controls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mitigation {
    /// One line: what it does.
    pub title: String,
    /// The settings, by control. An empty set is a mitigation that changes nothing here.
    #[serde(default)]
    pub set: Settings,
}

/// Settings of controls; what is absent stays as it is.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Whether the shared cache may enter its no-allocate mode.
    pub no_allocate_mode: Option<bool>,
    /// Which way groups of the outermost shared cache each class fills.
    pub way_groups: Option<WayGroups>,
    /// Which way groups of the second level (shared or private) each class fills, where it is not the outermost one.
    pub l2_way_groups: Option<WayGroups>,
    /// The class whose requests go first before the memory controller.
    pub priority: Option<Priority>,
    /// Memory of two colours, one for the target.
    pub colouring: Option<Colouring>,
    /// Lines of the target that are loaded into ways which nobody fills any more.
    pub lock: Option<Lock>,
    /// Whether the pages of the target's event are in locked entries of the TLBs.
    pub tlb_lock: Option<bool>,
    /// KiB that one translation covers.
    pub page_kib: Option<u64>,
    /// Whether the lines of the target's event lie in the on-chip RAM.
    pub on_chip_ram: Option<bool>,
    /// Regulation of bandwidth beyond the shared cache.
    pub bandwidth: Option<Bandwidth>,
    /// Whether hardware prefetchers work.
    pub prefetchers: Option<bool>,
    /// Whether runs of full-line stores bypass the caches.
    pub write_streaming: Option<bool>,
    /// Allocation in the memory-side cache.
    pub memory_cache: Option<MemoryCacheAllocation>,
    /// One of the platform's `alternative_memories`. It decides at the start and cannot change later.
    pub memory: Option<String>,
    /// Nanoseconds after which a waiting write goes before reads.
    pub write_age_ns: Option<f64>,
    /// Clocks of the cores in GHz.
    pub clock_ghz: Option<Clocks>,
}

/// Groups of ways by class.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WayGroups {
    /// Groups that the target's core fills, with data where `target_code` is given.
    pub target: Vec<u8>,
    /// Groups that all other cores fill, with data where `others_code` is given.
    pub others: Vec<u8>,
    /// Groups that the target's core fills with code (CDP).
    pub target_code: Option<Vec<u8>>,
    /// Groups that all other cores fill with code (CDP).
    pub others_code: Option<Vec<u8>>,
}

/// Lines of the target that are loaded into ways which nobody fills any more.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// Level of the cache that holds them: the outermost one that the target shares, or its second level.
    pub level: u8,
    /// Groups of ways that they fill.
    pub groups: Vec<u8>,
    /// Which lines.
    pub what: Locked,
    /// How many of them, from the first; all of them where absent.
    pub lines: Option<u64>,
}

/// Which lines of the target are locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Locked {
    /// Its buffer (a pseudo-locked region is contiguous memory, so the buffer is placed so).
    Buffer,
    /// The code and data of its event.
    Event,
}

/// Regulation of bandwidth by class; one class has all cores but the target's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bandwidth {
    /// Whether it is on.
    pub enabled: bool,
    /// The target's stride, share in percent, or bits of its portions, by the platform's scheme.
    pub target: u64,
    /// The others'.
    pub others: u64,
}

/// What allocates in a memory-side cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryCacheAllocation {
    /// Reads that miss.
    pub read: bool,
    /// Writes of changed lines.
    pub dirty_write: bool,
}

/// Clocks of the cores in GHz.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// The target's core.
    pub target: Option<f64>,
    /// All other cores.
    pub others: Option<f64>,
}

/// Who goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Nobody.
    Equal,
    /// The target's core.
    TargetFirst,
}

/// Two colours of memory, distinguished by one address bit: the target gets those addresses in which it is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Colouring {
    /// The bit of the physical address. It separates in those caches and filters whose set index contains it.
    pub address_bit: u8,
}

impl Settings {
    /// These settings, with those of `later` in place of what both set.
    pub fn then(&self, later: &Self) -> Self {
        let (this, later) = (self.clone(), later.clone());
        Self {
            no_allocate_mode: later.no_allocate_mode.or(this.no_allocate_mode),
            way_groups: later.way_groups.or(this.way_groups),
            l2_way_groups: later.l2_way_groups.or(this.l2_way_groups),
            priority: later.priority.or(this.priority),
            colouring: later.colouring.or(this.colouring),
            lock: later.lock.or(this.lock),
            tlb_lock: later.tlb_lock.or(this.tlb_lock),
            page_kib: later.page_kib.or(this.page_kib),
            on_chip_ram: later.on_chip_ram.or(this.on_chip_ram),
            bandwidth: later.bandwidth.or(this.bandwidth),
            prefetchers: later.prefetchers.or(this.prefetchers),
            write_streaming: later.write_streaming.or(this.write_streaming),
            memory_cache: later.memory_cache.or(this.memory_cache),
            memory: later.memory.or(this.memory),
            write_age_ns: later.write_age_ns.or(this.write_age_ns),
            clock_ghz: later.clock_ghz.or(this.clock_ghz),
        }
    }
}
