//! Lines that prefetchers ask for.

use crate::caches::access::{Answer, Want};
use crate::core::mshrs::{Arrival, Asked};
use crate::core::port::Port;
use crate::core::world::World;
use crate::line::Line;
use crate::time::Ps;

impl Port {
    /// Asks for a line on behalf of a prefetcher, if there is an MSHR for it and the line is further away than `level`.
    /// Returns the MSHR that it takes and when the line is there, or [`Ps::NEVER`] if memory decides.
    pub fn prefetch(&mut self, world: &mut World, line: Line, level: u8, now: Ps) -> Option<(usize, Ps)> {
        let mshr = self.mshrs.for_prefetch(level, now)?;
        if world.hierarchy.cores[self.core].holds_up_to(level, line) {
            return None;
        }
        if !self.limits.iter().all(|cache| world.misses[*cache].is_free(now)) {
            return None;
        }
        let want = Want::Prefetch { level };
        let answer = world.hierarchy.access(self.core, line, want, now, &mut world.effects);
        let (at, beyond) = match answer {
            _ if !answer.brings_nearer(level) => return None,
            Answer::L2 => (now + self.latencies.l2, false),
            Answer::Shared(held) => {
                let at = now + self.latencies.shared[usize::from(held)];
                self.take_turns(world, held, at);
                (at, true)
            }
            Answer::OtherCore => {
                let at = now + self.latencies.other_core;
                self.take_turns(world, u8::MAX, at);
                (at, true)
            }
            Answer::OnChip => (now + self.latencies.on_chip, true),
            Answer::Memory => (Ps::NEVER, true),
            _ => return None,
        };
        self.counts.prefetches += 1;
        if at == Ps::NEVER {
            self.counts.prefetch_memory_reads += 1;
            world.hierarchy.counts[self.core].memory_reads += 1;
            self.ask_memory(world, mshr, Asked { line, want, entry: 0 }, now);
        } else {
            self.mshrs.take(mshr, Arrival { at, beyond });
        }
        Some((mshr, at))
    }
}
