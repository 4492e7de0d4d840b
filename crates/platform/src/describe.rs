//! The parts of a platform: the machine, its cores and its private caches.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::front::{Event, PrefetcherDescription, TlbDescription, TranslationDescription, WriteStreaming};
use crate::index::Index;
use crate::memory::{Interconnect, MemoryDescription, OnChipRam};
use crate::mitigation::Mitigation;
use crate::param::Param;
use crate::shared::SharedCache;
use crate::way_control::WayControl;

/// The number of a core, as Linux numbers it.
pub type CoreId = u32;

/// A machine as data. What only a simulation needs is optional: a machine that was discovered has only its geometry.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    /// The name that experiments use; the file's name without its ending.
    pub name: String,
    /// One line for `waykeeper list`.
    pub title: String,
    /// Short names for the documents that the parameters cite.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
    /// What the processor calls itself, where it has the CPUID instruction.
    pub cpuid: Option<Cpuid>,
    /// The instruction set of its cores; unknown where absent.
    pub architecture: Option<Param<Architecture>>,
    /// Bytes in a cache line.
    pub line_bytes: Param<u64>,
    /// The counter that timed loops read.
    pub counter: Option<Counter>,
    /// The cores, by kind.
    pub cores: Vec<CoreKind>,
    /// Caches that several cores share, inner ones first.
    #[serde(default)]
    pub shared_caches: Vec<SharedCache>,
    /// What lies between the last shared cache and the memory.
    pub interconnect: Option<Interconnect>,
    /// The memory and its controller.
    pub memory: Option<MemoryDescription>,
    /// Other memories that the machine can be built or set up with, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub alternative_memories: BTreeMap<String, MemoryDescription>,
    /// Memory on the chip, beside the caches.
    pub on_chip_ram: Option<OnChipRam>,
    /// Named assignments of this platform's controls: what an experiment can list as a mitigation.
    #[serde(default)]
    pub mitigations: BTreeMap<String, Mitigation>,
    /// What does not work on this machine although its registers say that it does; a flawless machine where absent.
    #[serde(default, skip_serializing_if = "Flaws::is_none")]
    pub flaws: Flaws,
}

/// What does not work on a machine although its registers say that it does: for trying what finds such flaws.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flaws {
    /// Levels of caches whose way masks can be written and read back, and have no effect on fills.
    #[serde(default)]
    pub inert_masks: Vec<u8>,
}

impl Flaws {
    /// Whether everything works.
    pub fn is_none(&self) -> bool {
        self.inert_masks.is_empty()
    }
}

/// What an x86 processor calls itself: what Linux shows in /proc/cpuinfo, and knows parts by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cpuid {
    /// Family, with the extended one.
    pub family: Param<u64>,
    /// Model, with the extended one.
    pub model: Param<u64>,
    /// Stepping.
    pub stepping: Param<u64>,
}

/// The instruction set of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Architecture {
    /// x86, 64 bits.
    #[serde(rename = "x86_64")]
    X86,
    /// Arm, 64 bits.
    #[serde(rename = "aarch64")]
    Arm,
    /// Arm, 32 bits.
    #[serde(rename = "aarch32")]
    Arm32,
}

/// The counter that timed loops read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counter {
    /// Nanoseconds between two values. A reading is truncated to the last one.
    pub tick_ns: Param<f64>,
}

/// Cores of one kind.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreKind {
    /// The part's name, such as `Cortex-A55`.
    pub kind: String,
    /// The numbers of these cores.
    pub ids: Vec<CoreId>,
    /// Clock in GHz.
    pub clock_ghz: Option<Param<f64>>,
    /// Control: levels of performance that the hardware counts for 100 MHz of clock (Intel Speed Shift, HWP).
    pub performance_per_100_mhz: Option<Param<f64>>,
    /// The lowest bit of MPIDR_EL1 in which these cores have their number: 0 or 8. Firmware starts a core by it (PSCI).
    pub mpidr_shift: Option<Param<u64>>,
    /// Whether later accesses may pass an earlier one that waits for memory.
    pub execution: Option<Param<Execution>>,
    /// Lines that a core can wait for at one time.
    pub outstanding_misses: Option<Param<u64>>,
    /// Instructions that begin in one cycle; 1 where absent.
    pub issue_width: Option<Param<u64>>,
    /// Instructions without memory that a program runs in one cycle, in the mean, while no branch is
    /// mispredicted: they wait for each other. `issue_width` where absent.
    pub instructions_per_cycle: Option<Param<f64>>,
    /// Instructions that an out-of-order core can be ahead of the oldest one that waits; unlimited where absent.
    pub window_instructions: Option<Param<u64>>,
    /// Instructions that an in-order core begins from a load to the first use of its value, the load included: a load
    /// that waits stops the core there. At the load itself where absent.
    pub first_use_instructions: Option<Param<u64>>,
    /// Stores that can wait for their lines while the core goes on; bounded by `outstanding_misses` alone where absent.
    pub store_buffer_entries: Option<Param<u64>>,
    /// Cycles from a mispredicted branch to the next instruction; all are predicted where absent.
    pub misprediction_cycles: Option<Param<u64>>,
    /// Runs of full-line stores; every store allocates where absent.
    pub write_streaming: Option<WriteStreaming>,
    /// Hardware prefetchers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefetchers: Vec<PrefetcherDescription>,
    /// TLBs, inner ones first; translation is free where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tlbs: Vec<TlbDescription>,
    /// Page walks; needed where there are TLBs.
    pub translation: Option<TranslationDescription>,
    /// First-level data cache.
    pub l1d: Option<PrivateCache>,
    /// First-level instruction cache.
    pub l1i: Option<PrivateCache>,
    /// Private second-level cache.
    pub l2: Option<PrivateCache>,
    /// What a `tick` workload costs on these cores.
    pub tick_loop: Option<TickLoop>,
    /// What the event of a `random` workload costs on these cores besides its accesses; nothing where absent.
    pub event: Option<Event>,
}

/// How a core deals with an access that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Execution {
    /// A load that misses stops the core; stores and prefetches do not.
    InOrder,
    /// Independent accesses overlap up to `outstanding_misses`.
    OutOfOrder,
}

/// The choice of the line that makes room, among the ways that the fill may use. Empty ways are filled first, the lowest
/// one before the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// The least recently used one.
    Lru,
    /// A binary tree of bits that point away from recent use. The ways are a power of two.
    TreePlru,
    /// One bit a way, set by its use; the use that would set the last one clears the others. The lowest way whose bit is
    /// clear makes room, or the lowest one if no bit of an allowed way is.
    BitPlru,
    /// Any, with equal chance.
    Random,
    /// The ways in turn: each set has a pointer, and the first allowed way at or after it makes room and moves it on.
    /// Uses and fills of empty ways do not.
    RoundRobin,
    /// The most recently used one; a fill is a use.
    Mru,
    /// Biased against lines that were not used again: static re-reference interval prediction with two bits and hit
    /// priority (SRRIP-HP of Jaleel, Theobald, Steely and Emer, "High Performance Cache Replacement Using Re-Reference
    /// Interval Prediction", ISCA 2010). A fill predicts 2, a use 0; the lowest way of the highest interval makes room,
    /// and the allowed ways then age by what it lacked to 3.
    Biased,
}

/// How a private second level relates to the first-level data cache. Neither kind is inclusive of the instruction side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inclusion {
    /// A data line is in one of the two; the second level holds what the first evicted.
    ExclusiveOfL1d,
    /// Every data line of the first level is in the second too.
    InclusiveOfL1d,
    /// Lines pass through the second level on their way in; what it evicts stays in the first.
    NonInclusive,
}

/// A cache of one core.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrivateCache {
    /// Capacity in KiB.
    pub size_kib: Param<u64>,
    /// Associativity.
    pub ways: Param<u64>,
    /// Core cycles from a load to the use of its value.
    pub hit_cycles: Option<Param<u64>>,
    /// The choice of the victim.
    pub replacement: Option<Param<Replacement>>,
    /// Relation to the first level; for a second level only.
    pub inclusion: Option<Param<Inclusion>>,
    /// Lines that this level can wait for at one time; bounded by the core's `outstanding_misses` alone where absent.
    pub outstanding_misses: Option<Param<u64>>,
    /// Whether a store that misses brings its line here; it does where absent.
    pub write_allocate: Option<Param<bool>>,
    /// Whether a changed line waits here until it is evicted; it does where absent. Otherwise each store goes on outward.
    pub write_back: Option<Param<bool>>,
    /// Control: the ways form this many equal groups that can be given to classes.
    pub way_groups: Option<Param<u64>>,
    /// Control: the registers behind `way_groups`; unknown where absent.
    pub way_control: Option<Param<WayControl>>,
    /// Control: classes that can be distinguished here.
    pub classes: Option<Param<u64>>,
    /// How the set is chosen; by the lowest bits of the line address where absent.
    pub index: Option<Index>,
}

impl PrivateCache {
    /// A cache of which only the geometry is known.
    pub fn new(size_kib: Param<u64>, ways: Param<u64>) -> Self {
        Self {
            size_kib,
            ways,
            hit_cycles: None,
            replacement: None,
            inclusion: None,
            outstanding_misses: None,
            write_allocate: None,
            write_back: None,
            way_groups: None,
            way_control: None,
            classes: None,
            index: None,
        }
    }
}

/// What a `tick` workload costs on a core whose lines are all in the first level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TickLoop {
    /// Core cycles of one pass without a body.
    pub pass_cycles: Param<u64>,
    /// Core cycles of one increment in the body `loop`; an add of the body `adds` takes one.
    pub increment_cycles: Param<u64>,
    /// Lines of code of a pass, without its body.
    pub code_lines: Param<u64>,
    /// Lines of stack that a pass writes, besides the recorder.
    pub stack_lines: Param<u64>,
    /// The longest delay of a pass on an idle machine, beyond the cycles and the counter's truncation.
    pub idle_jitter_ns: Param<f64>,
    /// Passes from one such delay to the next.
    pub idle_jitter_every_passes: Param<u64>,
}

impl Platform {
    /// All core numbers, ascending.
    pub fn core_ids(&self) -> Vec<CoreId> {
        let mut ids: Vec<_> = self.cores.iter().flat_map(|kind| kind.ids.iter().copied()).collect();
        ids.sort_unstable();
        ids
    }

    /// The kind of a core.
    pub fn core_kind(&self, core: CoreId) -> Option<&CoreKind> {
        self.cores.iter().find(|kind| kind.ids.contains(&core))
    }
}
