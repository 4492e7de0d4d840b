//! Turns at shared caches whose MSHRs are bounded.

use crate::caches::access::Want;
use crate::core::port::retry::Blocked;
use crate::core::port::{Issued, Port};
use crate::core::world::World;
use crate::line::Line;
use crate::time::Ps;

impl Port {
    #[cold]
    #[inline(never)]
    pub(super) fn limits_owe(&self, world: &mut World) {
        self.limits.iter().for_each(|cache| world.misses[*cache].owe());
    }

    /// Refuses a request that would leave a shared cache which can wait for no further line, or where others were before.
    #[inline(never)]
    pub(super) fn out_of_turn(&mut self, world: &mut World, line: Line, want: Want, now: Ps) -> Option<Issued> {
        // Nobody waits and there is room: nothing would change.
        if self.limits.iter().all(|cache| world.misses[*cache].is_free(now)) {
            return None;
        }
        let mine = self.mshrs.is_owed(line);
        for at in 0..self.limits.len() {
            let cache = self.limits[at];
            let misses = &mut world.misses[cache];
            if mine || world.hierarchy.is_within(self.core, line, want, misses.passes) {
                misses.leave(self.core);
            } else if !misses.may_begin(self.core, now) {
                // Whoever is first may not have heard that there is room.
                world.has_room |= misses.has_news(now);
                return Some(match misses.next_time(now) {
                    Ps::NEVER => {
                        self.blocked = Some(Blocked { line, since: now, every: Ps::new(1), turn: Some(cache) });
                        Issued::Blocked
                    }
                    time => Issued::Full(time),
                });
            }
            world.has_room |= world.misses[cache].has_news(now);
        }
        None
    }

    /// A line comes at a time from a cache of this level: the bounded caches before it wait for it. Who waits for one of them
    /// must hear of it, because nothing reports when it has come.
    #[inline(never)]
    pub(super) fn take_turns(&self, world: &mut World, level: u8, at: Ps) {
        for cache in &self.limits {
            let misses = &mut world.misses[*cache];
            if misses.level < level {
                misses.take_until(at);
                world.has_room |= misses.is_waited_for();
            }
        }
    }
}
