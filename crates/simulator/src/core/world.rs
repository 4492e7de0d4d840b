//! The caches, the memory and the shared MSHRs, behind all cores.

use crate::caches::hierarchy::{Effects, Hierarchy};
use crate::core::shared_mshrs::SharedMshrs;
use crate::memory::Memory;
use crate::observe::explain::Explainer;

/// What the cores share.
#[derive(Debug, Clone)]
pub struct World {
    /// Caches and filters.
    pub hierarchy: Hierarchy,
    /// What accesses have caused outside of the caches since the engine last passed it on.
    pub effects: Effects,
    /// The memory.
    pub memory: Memory,
    /// Shared caches whose outstanding misses are bounded.
    pub misses: Vec<SharedMshrs>,
    /// Whether one of them may have room for a core that waits.
    pub has_room: bool,
    /// Who collects what the target waits for, if anybody does.
    pub explainer: Option<Box<Explainer>>,
}

impl World {
    /// Whether an access has left nothing that the engine must pass on: no write to memory, no loss that a core hears of, no
    /// room for a core that waits.
    #[inline(always)]
    pub fn is_settled(&self) -> bool {
        self.effects.disturbed | u32::from(self.has_room) == 0 && self.effects.writes.is_empty()
    }

    /// The cores whose turn it may be at a shared cache whose misses are bounded, one bit each.
    #[inline]
    pub fn turns(&self) -> u32 {
        self.misses.iter().fold(0, |cores, misses| cores | misses.may_be_next())
    }
}
