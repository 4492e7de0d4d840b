//! How far in an access brings its line.

use crate::caches::access::Want;
use crate::caches::hierarchy::Hierarchy;
use crate::caches::node::MOST_STOPS;

/// The innermost place that an access brings its line to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// The first-level data cache, through the second level where that takes lines inward.
    First,
    /// The first-level instruction cache and the second level.
    Instructions,
    /// The private second level.
    Second,
    /// The cache at this stop.
    Stop(u8),
    /// No cache.
    Memory,
}

impl To {
    /// The first stop that is asked for the line.
    #[inline(always)]
    pub fn first(self) -> usize {
        match self {
            Self::First | Self::Instructions | Self::Second => 0,
            Self::Stop(at) => at as usize,
            Self::Memory => MOST_STOPS,
        }
    }

    /// The first stop whose filter tracks the line from then on.
    #[inline(always)]
    pub fn tracked_from(self) -> usize {
        match self {
            Self::Stop(at) => at as usize + 1,
            other => other.first(),
        }
    }
}

/// Where accesses of a core go that need not go to its first level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// Stores that miss.
    pub stores: To,
    /// Reads of page walks.
    pub walks: To,
    /// Stores that do not allocate.
    pub streams: To,
}

impl Default for Levels {
    fn default() -> Self {
        Self { stores: To::First, walks: To::First, streams: To::Memory }
    }
}

impl Hierarchy {
    /// The innermost place for a line that a core wants so.
    #[inline(always)]
    pub(super) fn destination(&self, core: usize, want: Want) -> To {
        match want {
            Want::Read | Want::Update => To::First,
            Want::Write => self.levels[core].stores,
            Want::Fetch => To::Instructions,
            Want::Walk => self.levels[core].walks,
            Want::Stream => self.levels[core].streams,
            Want::Prefetch { level } => self.place_of(core, level),
        }
    }

    /// Whether a line that a core wants so comes into no cache.
    pub fn passes_caches(&self, core: usize, want: Want) -> bool {
        self.destination(core, want) == To::Memory
    }

    /// The place of a level as a core sees it: the innermost data cache of at least that level.
    fn place_of(&self, core: usize, level: u8) -> To {
        match level {
            0 | 1 => To::First,
            2 if self.cores[core].l2.is_some() => To::Second,
            _ => self.stop_of(core, |held| held >= level).map_or(To::Memory, |at| To::Stop(at as u8)),
        }
    }

    /// The first stop of a core with a cache whose level fulfils this.
    pub(super) fn stop_of(&self, core: usize, fits: impl Fn(u8) -> bool) -> Option<usize> {
        let fits = |node: usize| self.nodes[node].cache.as_ref().is_some_and(|shared| fits(shared.level));
        self.routes[core].stops().iter().position(|stop| fits(stop.node()))
    }

    /// Lets a core's page walks look into caches from this level on; the first level does where this is not called.
    pub fn set_walk_level(&mut self, core: usize, level: u8) {
        self.levels[core].walks = self.place_of(core, level);
    }

    /// Lets a core's streamed stores write to this level; to memory where this is not called.
    pub fn set_stream_level(&mut self, core: usize, level: u8) {
        self.levels[core].streams = match self.place_of(core, level) {
            To::First => To::Memory,
            place => place,
        };
    }

    /// Lets a core's stores that miss in the first level bring their line to this level only.
    pub fn set_store_level(&mut self, core: usize, level: u8) {
        self.levels[core].stores = self.place_of(core, level);
    }
}
