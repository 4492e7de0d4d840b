//! When a request is tried again that found no entry in a filter, or no room in a shared cache's MSHRs.

use crate::core::shared_mshrs::SharedMshrs;
use crate::line::Line;
use crate::time::Ps;

/// A request that waits for its next attempt.
#[derive(Debug, Clone, Copy)]
pub struct Blocked {
    /// The line.
    pub line: Line,
    /// Since when it waits.
    pub since: Ps,
    /// The time between two attempts.
    pub every: Ps,
    /// It waits for a turn at this one of the shared caches whose misses are bounded.
    pub turn: Option<usize>,
}

impl Blocked {
    /// When it tries next, at `now` or later.
    #[inline(always)]
    pub fn next_try(&self, now: Ps) -> Ps {
        // A core that runs ahead may itself have made the room that it hears of.
        let waited = now.saturating_sub(self.since);
        // Numbers of 32 bits divide faster.
        let tries = match (waited.get() | self.every.get()) >> 32 {
            0 => u64::from((waited.get() as u32).div_ceil(self.every.get() as u32)),
            _ => self.tries_long(waited),
        };
        self.since + self.every * tries.max(1)
    }

    #[cold]
    #[inline(never)]
    fn tries_long(&self, waited: Ps) -> u64 {
        waited.div_ceil(self.every)
    }

    /// When it tries next if it waits for a turn at a cache; none if that is not known.
    #[cold]
    #[inline(never)]
    pub fn turn_comes(&self, misses: &mut SharedMshrs, core: usize, now: Ps) -> Option<Ps> {
        let now = now.max(self.since);
        let at = match misses.is_next(core, now) {
            true => self.next_try(now),
            // Its turn may come with a line that is on its way.
            false => misses.next_time(now),
        };
        (at != Ps::NEVER).then_some(at)
    }
}
