//! When a request is tried again that found no entry in a filter, or no room in a shared cache's MSHRs.

use crate::core::shared_mshrs::SharedMshrs;
use crate::line::Line;
use crate::time::NEVER;

/// A request that waits for its next attempt.
#[derive(Debug, Clone, Copy)]
pub struct Blocked {
    /// The line.
    pub line: Line,
    /// Since when it waits, in picoseconds.
    pub since: u64,
    /// Picoseconds between two attempts.
    pub every: u64,
    /// It waits for a turn at this one of the shared caches whose misses are bounded.
    pub turn: Option<usize>,
}

impl Blocked {
    /// When it tries next, at `now` or later.
    #[inline(always)]
    pub fn next_try(&self, now: u64) -> u64 {
        // A core that runs ahead may itself have made the room that it hears of.
        let waited = now.saturating_sub(self.since);
        // Numbers of 32 bits divide faster.
        let tries = match (waited | self.every) >> 32 {
            0 => u64::from((waited as u32).div_ceil(self.every as u32)),
            _ => self.tries_long(waited),
        };
        self.since + tries.max(1) * self.every
    }

    #[cold]
    #[inline(never)]
    fn tries_long(&self, waited: u64) -> u64 {
        waited.div_ceil(self.every)
    }

    /// When it tries next if it waits for a turn at a cache; none if that is not known.
    #[cold]
    #[inline(never)]
    pub fn turn_comes(&self, misses: &mut SharedMshrs, core: usize, now: u64) -> Option<u64> {
        let now = now.max(self.since);
        let at = match misses.is_next(core, now) {
            true => self.next_try(now),
            // Its turn may come with a line that is on its way.
            false => misses.next_time(now),
        };
        (at != NEVER).then_some(at)
    }
}
