//! What classes have beside ways and limits of bandwidth.

use serde::Serialize;
use waykeeper_platform::CoreId;

use crate::lockdown::{Location, LockedLines};
use crate::mask::Mask;

/// What classes have beside ways and limits of bandwidth.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AssignedControls {
    /// Priorities on the bus.
    pub priorities: Vec<AssignedPriority>,
    /// Whether the mode in which evictions bypass the last shared cache is switched off.
    pub no_allocate_mode_off: bool,
    /// Proportional strides: all classes have one, or none.
    pub strides: Vec<AssignedStride>,
    /// Clocks, by core.
    pub clocks: Vec<AssignedClock>,
    /// Clock of the ring in MHz.
    pub ring_mhz: Option<u32>,
    /// Page colours.
    pub colours: Option<AssignedColours>,
    /// Memory that is locked.
    pub lockdown: Option<AssignedLockdown>,
}

/// Priority of a class on the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AssignedPriority {
    /// The class.
    pub class: u32,
    /// Its level, 0 the lowest.
    pub level: u32,
}

/// Stride of a class: under contention bandwidth is shared inversely to strides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AssignedStride {
    /// The class.
    pub class: u32,
    /// Its stride, less one.
    pub less_one: u32,
}

/// Clock of a core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AssignedClock {
    /// The core.
    pub core: CoreId,
    /// Its class.
    pub class: u32,
    /// The lowest clock in MHz.
    pub from_mhz: u32,
    /// The highest.
    pub to_mhz: u32,
    /// Whether it shall run at `from_mhz` and nothing else.
    pub fixed: bool,
    /// Thousandths of a level of performance for 100 MHz.
    pub milli_levels_per_100_mhz: u32,
}

/// Page colours of a cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AssignedColours {
    /// Level of the cache.
    pub level: u8,
    /// How many colours there are.
    pub colours: u32,
    /// The lowest and the highest bit of a physical address that make the colour of its page.
    pub bits: (u32, u32),
    /// Size of the cache in bytes.
    pub size_bytes: u64,
    /// Its ways.
    pub ways: u32,
    /// Bytes of a way of the first-level data cache of the lowest core.
    pub first_level_way_bytes: Option<u64>,
    /// What each class has, the others included.
    pub shares: Vec<ColourShare>,
}

/// Consecutive colours of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ColourShare {
    /// The class.
    pub class: u32,
    /// Its lowest colour.
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// Memory that is locked into a cache and a TLB.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssignedLockdown {
    /// The core that loads it.
    pub core: CoreId,
    /// The others, which have to be quiet meanwhile.
    pub others: Vec<CoreId>,
    /// The ways that hold the lines; empty where there are none.
    pub ways: Mask,
    /// How many ways the cache has.
    pub all_ways: u32,
    /// The lines.
    pub lines: Vec<LockedLines>,
    /// A place in each page.
    pub pages: Vec<Location>,
}

impl AssignedControls {
    /// The level of a class's priority.
    pub fn priority(&self, class: u32) -> Option<u32> {
        self.priorities.iter().find(|it| it.class == class).map(|it| it.level)
    }

    /// A class's stride, less one.
    pub fn stride(&self, class: u32) -> Option<u32> {
        self.strides.iter().find(|it| it.class == class).map(|it| it.less_one)
    }
}

impl AssignedColours {
    /// The colours of a class.
    pub fn share(&self, class: u32) -> Option<ColourShare> {
        self.shares.iter().copied().find(|share| share.class == class)
    }
}

impl ColourShare {
    /// Its highest colour.
    pub fn last(&self) -> u32 {
        self.first + self.count - 1
    }
}
