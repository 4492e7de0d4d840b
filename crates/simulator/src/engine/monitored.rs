//! What the monitors of a shared cache have counted.

use waykeeper_platform::CoreId;

use crate::engine::Engine;
use crate::observe::label::MOST_MONITORS;

/// What one monitor has counted at one shared cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Monitored {
    /// Bytes of the lines that the cache holds and that cores under the monitor brought.
    pub occupancy_bytes: u64,
    /// Bytes that the cache's cores have read from memory and written to it since time 0.
    pub total_bytes: u64,
    /// Those that went to the memory beside this cache. A platform has one memory, so these are all.
    pub local_bytes: u64,
}

impl Engine {
    /// What a monitor has counted at the shared cache of a level that a core uses; none where the core has no such cache,
    /// or no monitor has this number ([`MOST_MONITORS`]).
    ///
    /// Reads are counted when they are asked of the memory; a change when it leaves the last cache, for the monitor of who
    /// brought its line there.
    pub fn monitored(&self, level: u8, core: CoreId, monitor: u8) -> Option<Monitored> {
        if usize::from(monitor) >= MOST_MONITORS {
            return None;
        }
        let (shared, cores) = self.world.hierarchy.shared_level(level, self.index_of(core)?)?;
        let traffic = crate::bits::bits(cores).map(|core| self.world.memory.counts_by_monitor(core, monitor));
        let total_bytes = traffic.map(|traffic| traffic.bytes_read + traffic.bytes_written).sum();
        let occupancy_bytes = u64::from(shared.held()[usize::from(monitor)]) * self.line_bytes;
        Some(Monitored { occupancy_bytes, total_bytes, local_bytes: total_bytes })
    }
}
