//! What a machine can be asked for.

mod controls;
mod linux;
mod platform;
mod sysfs;

use serde::Serialize;
use waykeeper_platform::{CoreId, WayControl};

pub use controls::{ClockOffer, ColourOffer, ControlOffer, LockdownOffer, PAGE_BYTES};
pub use linux::{Missing, Texts, Tree, USUAL};

use crate::mask::Mask;
use crate::step::MountSettings;

/// What a machine can be asked for: its caches, its bandwidth, and what it shares besides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Offer {
    /// Its name: a platform's, or `host`.
    pub name: String,
    /// How it is called in sentences.
    pub called: String,
    /// Its cores, ascending.
    pub cores: Vec<CoreId>,
    /// Cores that run on one physical core, where known.
    pub siblings: Vec<Vec<CoreId>>,
    /// Caches that can be divided, one entry a level.
    pub caches: Vec<CacheOffer>,
    /// Memory bandwidth, where it can be limited.
    pub bandwidth: Option<BandwidthOffer>,
    /// Why it cannot be limited in shares, where that needs words.
    pub no_bandwidth: Option<String>,
    /// What there is beside ways and limits of bandwidth.
    pub controls: ControlOffer,
    /// Levels whose caches the processor can divide by ways, while the kernel offers none of it.
    pub unoffered: Vec<u8>,
    /// Everything that cores share, from the inside out.
    pub shared: Vec<Shared>,
    /// resctrl as it is now, where this is the running machine.
    pub resctrl: Option<ResctrlState>,
}

/// The caches of one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CacheOffer {
    /// 2 or 3.
    pub level: u8,
    /// The registers behind the masks; `None` where a platform file does not say.
    pub control: Option<WayControl>,
    /// The caches.
    pub domains: Vec<DomainOffer>,
    /// The least number of bits in a mask; 0 where a mask may be empty.
    pub min_bits: u32,
    /// Whether masks may have holes.
    pub sparse: bool,
    /// Classes without CDP; unknown where absent.
    pub classes: Option<u32>,
    /// Whether code and data can have masks of their own.
    pub cdp: bool,
    /// Whether memory can be locked into it.
    pub pseudo_lock: bool,
}

/// One cache.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DomainOffer {
    /// The id in `schemata`. From a platform file: numbered in the file's order.
    pub id: u32,
    /// The cores that use it, ascending.
    pub cores: Vec<CoreId>,
    /// Bits in a mask.
    pub bits: u32,
    /// Ways.
    pub ways: u32,
    /// Bytes.
    pub size_bytes: u64,
    /// Bits that devices fill too.
    pub shareable: Mask,
    /// Bits that `io_alloc` has devices fill now, and any others that `bit_usage` shows as filled by devices.
    pub io_alloc: Mask,
    /// Bits that groups which are there already keep for themselves.
    pub kept: Mask,
    /// Bits that groups which are there already fill.
    pub filled: Mask,
    /// The names of these groups; empty where `bit_usage` alone shows them.
    #[serde(skip)]
    pub filled_by: Vec<String>,
}

impl DomainOffer {
    /// That the groups which are there already do something, with the names of the first few.
    pub fn groups_do(&self, does: &str, do_: &str) -> String {
        const NAMED: usize = 4;
        let mut named: Vec<String> = self.filled_by.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
        match self.filled_by.len().saturating_sub(NAMED) {
            0 => {}
            more => named.push(format!("{more} more")),
        }
        match named.split_last() {
            None => format!("groups that resctrl has already {do_}"),
            Some((one, [])) => format!("group {one}, which resctrl has already, {does}"),
            Some((last, first)) => {
                format!("groups {} and {last}, which resctrl has already, {do_}", first.join(", "))
            }
        }
    }

    /// All bits.
    pub fn full(&self) -> Mask {
        Mask::full(self.bits)
    }

    /// The bits that devices fill: those of `io_alloc`, and `shareable_bits` unless these are all bits, which says nothing.
    pub fn devices(&self) -> Mask {
        let fixed = if self.shareable == self.full() { Mask(0) } else { self.shareable };
        fixed.with(self.io_alloc)
    }

    /// The bits that the kernel takes for those of devices: no group gets them exclusively, and no region is locked there.
    pub fn closed_to_exclusion(&self) -> Mask {
        self.shareable.with(self.io_alloc)
    }
}

/// Memory bandwidth that can be limited.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BandwidthOffer {
    /// Its domains: id and cores; without cores where the ids are not those of the L3 caches.
    pub domains: Vec<(u32, Vec<CoreId>)>,
    /// How limits are counted.
    pub unit: BandwidthUnit,
    /// The least limit.
    pub min: u32,
    /// No limit at all.
    pub max: u32,
    /// Limits are multiples of this.
    pub step: u32,
    /// Classes; unknown where absent.
    pub classes: Option<u32>,
    /// Whether the kernel can hold classes to MiB/s.
    pub rates: bool,
}

/// How limits of bandwidth are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BandwidthUnit {
    /// Percent (Intel MBA).
    Percent,
    /// MiB/s, held by the kernel (`mba_MBps`: it divides bytes by 2^20).
    MegabytesPerSecond,
    /// 1/8 GB/s (AMD).
    EighthsOfGigabytePerSecond,
}

/// Something that cores share.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shared {
    /// A cache, with the groups of cores that have one each.
    Cache {
        /// Its level.
        level: u8,
        /// The groups.
        groups: Vec<Vec<CoreId>>,
        /// Whether it has a filter of limited size that tracks lines in the cores.
        filter: bool,
    },
    /// A filter of limited size beyond the last cache.
    Filter,
    /// A cache beside the memory, which masks do not reach.
    MemoryCache,
}

/// resctrl of the running machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResctrlState {
    /// Where it is mounted.
    pub at: String,
    /// The options of its mount.
    pub mounted: MountSettings,
    /// Control groups that are there already.
    pub groups: Vec<PresentGroup>,
    /// Mode of the root group.
    pub root_mode: String,
}

/// A control group that is there already.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PresentGroup {
    /// Its name.
    pub name: String,
    /// Its mode.
    pub mode: String,
    /// Its cores, ascending; none where it lists none.
    pub cores: Vec<CoreId>,
}

impl PresentGroup {
    /// Whether it holds a class; a locked region does not.
    pub fn has_class(&self) -> bool {
        self.mode != "pseudo-locked"
    }
}

impl Offer {
    /// The cache of a level, where it can be divided.
    pub fn cache(&self, level: u8) -> Option<&CacheOffer> {
        self.caches.iter().find(|cache| cache.level == level)
    }

    /// Classes that are taken by groups that are there already.
    pub fn taken_classes(&self) -> u32 {
        let groups = self.resctrl.iter().flat_map(|state| &state.groups);
        groups.filter(|group| group.has_class()).count() as u32
    }
}
