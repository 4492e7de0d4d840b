//! Caches that several cores share, and the filters that track what is inside.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::describe::{CoreId, Replacement};
use crate::index::Index;
use crate::param::Param;
use crate::way_control::WayControl;

/// A cache that several cores share.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedCache {
    /// Level: 2 or 3.
    pub level: u8,
    /// The cores that share it.
    pub cores: Vec<CoreId>,
    /// Further groups of cores, each with another cache like this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Vec<CoreId>>,
    /// Capacity in KiB.
    pub size_kib: Param<u64>,
    /// Associativity.
    pub ways: Param<u64>,
    /// Nanoseconds from the access to the line in the core's first level: the private levels before it are in this.
    pub hit_ns: Option<Param<f64>>,
    /// The choice of the victim among the ways that a class may fill.
    pub replacement: Option<Param<Replacement>>,
    /// When a line is allocated.
    pub allocation: Option<Param<Allocation>>,
    /// Control: the ways form this many equal groups that can be given to classes. A mask guards fills; hits ignore it.
    pub way_groups: Option<Param<u64>>,
    /// Control: the registers behind `way_groups`; unknown where absent.
    pub way_control: Option<Param<WayControl>>,
    /// Control: whether Linux can lock a region of memory into this cache (pseudo-locking).
    pub pseudo_lock: Option<Param<bool>>,
    /// Control: whether code and data can have masks of their own (CDP).
    pub code_data_masks: Option<Param<bool>>,
    /// Control: classes that can be distinguished here.
    pub classes: Option<Param<u64>>,
    /// Control: priorities that the requests of a class can have beyond this cache, 0 the lowest.
    pub priority_levels: Option<Param<u64>>,
    /// Physical address of the registers that control this cache.
    pub registers_at: Option<Param<u64>>,
    /// How the set is chosen; by the lowest bits of the line address where absent.
    pub index: Option<Index>,
    /// Lines that this cache can wait for at one time, over all cores; unlimited where absent.
    pub outstanding_misses: Option<Param<u64>>,
    /// Whether hits wait, too, while the cache can wait for no further line; they go ahead where absent. A cache that has no
    /// place to remember a miss may stop taking requests, since it knows which of them miss only afterwards (Valsan, Yun and
    /// Farshchi, "Taming non-blocking caches to improve isolation in multicore real-time systems", RTAS 2016).
    pub hits_wait_when_full: Option<Param<bool>>,
    /// Control: classes' requests beyond this cache can be regulated.
    pub bandwidth_control: Option<BandwidthControl>,
    /// Monitoring of what classes occupy here and of their traffic to memory, as Linux shows it in resctrl.
    pub monitoring: Option<Monitoring>,
    /// The filter that tracks the lines in the cores' private caches.
    pub snoop_filter: Option<SnoopFilterDescription>,
    /// The mode in which evictions from the cores bypass this cache.
    pub no_allocate_mode: Option<NoAllocateModeDescription>,
}

impl SharedCache {
    /// A cache of which only the geometry is known.
    pub fn new(level: u8, cores: Vec<CoreId>, size_kib: Param<u64>, ways: Param<u64>) -> Self {
        Self {
            level,
            cores,
            copies: Vec::new(),
            size_kib,
            ways,
            hit_ns: None,
            replacement: None,
            allocation: None,
            way_groups: None,
            way_control: None,
            pseudo_lock: None,
            code_data_masks: None,
            classes: None,
            priority_levels: None,
            registers_at: None,
            index: None,
            outstanding_misses: None,
            hits_wait_when_full: None,
            bandwidth_control: None,
            monitoring: None,
            snoop_filter: None,
            no_allocate_mode: None,
        }
    }
}

impl SharedCache {
    /// The groups of cores that have a cache of this kind each.
    pub fn groups(&self) -> impl Iterator<Item = &Vec<CoreId>> {
        std::iter::once(&self.cores).chain(&self.copies)
    }

    /// Whether a core uses one of these caches.
    pub fn serves(&self, core: CoreId) -> bool {
        self.groups().any(|group| group.contains(&core))
    }
}

/// When a shared cache takes a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Allocation {
    /// While one core has the line, that core's evictions allocate and its refetch removes; once a second core reads
    /// it, the line is in both cores and here (Arm DSU).
    ExclusiveUntilShared,
    /// Lines pass through it on their way in; what it evicts leaves the inner caches too.
    Inclusive,
    /// Lines pass through it on their way in; what it evicts stays in the inner caches.
    NonInclusive,
    /// It takes only what the inner caches evict; a hit moves the line inward.
    Victim,
}

/// How classes' requests beyond a cache can be regulated.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BandwidthControl {
    /// The scheme.
    pub scheme: Param<BandwidthScheme>,
    /// The largest stride, or the steps of a share: 63 for 6 bits of stride, 100 for percent.
    pub steps: Param<u64>,
    /// Requests that the regulator can hold back and choose from; of no meaning for `delay`.
    pub queue_entries: Param<u64>,
    /// Nanoseconds over which a maximum or a minimum is accounted, and in which each portion comes up once; of no meaning
    /// for `delay` and `stride`.
    pub window_ns: Option<Param<f64>>,
    /// Nanoseconds that each step below the full share adds to every request; for `delay` only.
    pub delay_step_ns: Option<Param<f64>>,
}

impl BandwidthControl {
    /// The shares that a class can have: a stride is at most the steps, a share is 1 to the steps (a minimum may be none),
    /// portions are some of the bits.
    pub fn shares(&self) -> RangeInclusive<u64> {
        let steps = self.steps.value;
        match self.scheme.value {
            BandwidthScheme::Stride | BandwidthScheme::Minimum => 0..=steps,
            BandwidthScheme::Delay | BandwidthScheme::Maximum => 1..=steps,
            BandwidthScheme::Portions => 1..=u64::MAX >> (64 - steps.clamp(1, 64)),
        }
    }
}

/// Monitoring of a cache and of the traffic beyond it (Intel CMT and MBM).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Monitoring {
    /// Identifiers that are counted apart (RMIDs).
    pub monitors: Param<u64>,
    /// Bytes of one count.
    pub scale_bytes: Param<u64>,
    /// Bits of a bandwidth counter.
    pub counter_bits: Param<u64>,
}

/// Schemes of bandwidth regulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BandwidthScheme {
    /// Every request of a throttled core is delayed by the same programmed time (Intel MBA).
    Delay,
    /// Under contention classes are served inversely to their stride plus one (MPAM proportional stride).
    Stride,
    /// A class gets at most so much of the bandwidth (MPAM maximum).
    Maximum,
    /// A class below its minimum goes first (MPAM minimum).
    Minimum,
    /// A class may use its own portions of time slots only (MPAM bandwidth portions).
    Portions,
}

/// A finite, set-associative directory of lines that are cached on its inner side. What it cannot hold it invalidates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnoopFilterDescription {
    /// Independent directories; the lowest bits of the line address choose one.
    pub directories: Param<u64>,
    /// Sets in each directory; the next bits of the line address choose one.
    pub sets: Param<u64>,
    /// Associativity.
    pub ways: Param<u64>,
    /// The choice of the entry that makes room, among those with no fill in flight.
    pub victim: Param<Replacement>,
    /// When a line gets its entry.
    pub taken: Param<EntryTaken>,
    /// Nanoseconds after which a request tries again that found a fill in flight in every entry of its set.
    pub retry_ns: Param<f64>,
}

/// When a snoop filter allocates an entry for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryTaken {
    /// With the request: lines in flight hold entries, and a set in which all do makes requests wait.
    AtRequest,
    /// With the fill: something else tracks lines in flight.
    AtFill,
}

/// A mode in which evictions from the cores bypass the shared cache, because its filter evicts too often.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoAllocateModeDescription {
    /// The mode begins with this many filter evictions ...
    pub evictions: Param<u64>,
    /// ... within this many nanoseconds,
    pub window_ns: Param<f64>,
    /// and ends after so many nanoseconds without one.
    pub quiet_ns: Param<f64>,
    /// Control: the bit of CLUSTERACTLR_EL1 that switches the mode off (Arm DSU).
    pub disable_bit: Option<Param<u64>>,
}
