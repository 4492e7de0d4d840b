//! Accesses that do not bring their line to the first level.

use crate::caches::access::{Answer, Want};
use crate::caches::flags::{DIRTY, SHARED};
use crate::caches::hierarchy::levels::To;
use crate::caches::hierarchy::transaction::Transaction;
use crate::caches::hierarchy::{Effects, Hierarchy, Write};
use crate::line::Line;
use crate::time::Ps;

impl Hierarchy {
    /// A prefetch, a read of a page walk, a streamed store, or a store of a core whose first level takes no line for it.
    #[inline(never)]
    pub(super) fn bypass(&mut self, core: usize, line: Line, want: Want, now: Ps, effects: &mut Effects) -> Answer {
        let by = &mut Transaction::new(core, now, effects);
        let to = self.destination(core, want);
        match want {
            Want::Read | Want::Fetch => self.access(core, line, want, now, effects),
            Want::Update => self.access(core, line, Want::Write, now, effects),
            Want::Prefetch { .. } | Want::Walk if to == To::First => self.access(core, line, Want::Read, now, effects),
            Want::Prefetch { .. } | Want::Walk => match (self.held_by(core, line), to) {
                (Some(answer), _) => {
                    if answer == Answer::L2 && want == Want::Walk {
                        self.cores[core].second(line);
                    }
                    answer
                }
                (None, To::Memory) if want == Want::Walk => Answer::Memory,
                (None, To::Memory) => Answer::Sent,
                (None, _) => self.miss(by, line, want, to),
            },
            Want::Stream => match self.held_by(core, line) {
                Some(_) => self.store_in_place(by, line),
                None => self.miss(by, line, want, to),
            },
            Want::Write => match (self.held_by(core, line), to) {
                (Some(_), _) => self.store_in_place(by, line),
                // It needs no line to write into.
                (None, To::Memory) => self.miss(by, line, Want::Stream, to),
                (None, _) => self.miss(by, line, want, to),
            },
        }
    }

    /// The innermost data or unified cache of a core that holds a line.
    fn held_by(&self, core: usize, line: Line) -> Option<Answer> {
        let private = &self.cores[core];
        if private.l1d.find(line).is_some() {
            return Some(Answer::L1);
        }
        private.l2.as_ref().and_then(|l2| l2.cache.find(line)).map(|_| Answer::L2)
    }

    /// A store to a line that the core holds; it stays in its level.
    fn store_in_place(&mut self, by: &mut Transaction<'_>, line: Line) -> Answer {
        let private = &mut self.cores[by.core];
        let add = private.adds(true);
        if let Some(place) = private.l1d.find(line) {
            let flags = private.l1d.touch(place, add);
            self.stored(by, line, flags);
            return Answer::L1;
        }
        let l2 = private.l2.as_mut().expect("the core holds the line");
        let place = l2.cache.find(line).expect("the core holds the line");
        let flags = l2.cache.touch(place, DIRTY);
        self.stored(by, line, flags);
        Answer::L2
    }

    /// A store that goes on outward at once, from a line that the first level holds: to the first cache that has the
    /// line, or to memory.
    #[inline(never)]
    pub(super) fn store_through(&mut self, by: &mut Transaction<'_>, line: Line) {
        let core = by.core;
        if let Some(l2) = &mut self.cores[core].l2
            && let Some(place) = l2.cache.find(line)
        {
            return l2.cache.mark(place, DIRTY);
        }
        for stop in self.routes[core].stops() {
            if let Some(shared) = &mut self.nodes[stop.node()].cache
                && let Some(place) = shared.cache.find(line)
            {
                return shared.cache.mark(place, DIRTY);
            }
        }
        by.effects.writes.push(Write { line, core, label: self.label(core) });
    }

    /// A store to a line that the cache of a stop has, and no core inside.
    pub(super) fn write_in_place(&mut self, by: &mut Transaction<'_>, line: Line, want: Want, at: usize) -> Answer {
        let node = self.routes[by.core].stops()[at].node();
        let shared = self.nodes[node].cache.as_mut().expect("it has the line");
        let place = shared.cache.find(line).expect("it has the line");
        let level = shared.level;
        let flags = shared.cache.touch(place, DIRTY);
        shared.cache.clear(place, SHARED);
        if flags & SHARED != 0 {
            self.own_outside(by, line, at + 1);
        }
        if want == Want::Stream { Answer::Sent } else { Answer::Shared(level) }
    }

    /// A line that no cache has is written in full.
    #[inline(never)]
    pub(super) fn write_without_reading(&mut self, by: &mut Transaction<'_>, line: Line, to: To) -> Answer {
        let core = by.core;
        if to == To::Memory {
            by.effects.writes.push(Write { line, core, label: self.label(core) });
            return Answer::Sent;
        }
        let all = self.routes[core].stops().len();
        if let Err(busy) = self.take_entries(by, line, to.tracked_from(), all) {
            return busy;
        }
        self.enter(by, line, 0, Want::Stream, to, all);
        Answer::Sent
    }
}
