//! Lines on their way in.

use crate::caches::access::Want;
use crate::caches::cache::Evicted;
use crate::caches::flags::{DIRTY, Flags, SHARED, class_of};
use crate::caches::hierarchy::Hierarchy;
use crate::caches::hierarchy::levels::To;
use crate::caches::hierarchy::transaction::Transaction;
use crate::caches::private::Leaving;
use crate::line::Line;
use crate::observe::losses::Cause;

impl Hierarchy {
    /// A line comes from outside of the first `from` stops of a core, with these flags, and goes to where it is wanted.
    /// Entries in filters are taken.
    #[inline(never)]
    pub(super) fn enter(
        &mut self,
        by: &mut Transaction<'_>,
        line: Line,
        mut flags: Flags,
        want: Want,
        to: To,
        from: usize,
    ) {
        let changed = if want.is_store() { DIRTY } else { 0 };
        if want.is_store() && flags & SHARED != 0 {
            self.own(by, line);
            flags &= !SHARED;
        }
        let passes = self.takes_inward || matches!(to, To::Stop(_));
        if passes && from > to.first() && !self.pass_stops(by, line, &mut flags, want, to, from) {
            return;
        }
        let (private, random) = (&mut self.cores[by.core], &mut self.random);
        let leaving = match to {
            To::First => private.fill_data(line, flags, private.adds(want.is_store()), random),
            To::Instructions => private.fill_instructions(line, flags, random),
            To::Second => private.fill_second(line, flags | changed, random),
            To::Stop(_) | To::Memory => Leaving::NONE,
        };
        self.send_off(by, leaving);
        // A store that went to a place further out is there already, whatever the first level does.
        if want.is_store() && to == To::First {
            self.stored(by, line, flags);
        }
    }

    /// Puts a line into the caches that it passes on its way in. False if it must not go further: a cache that must have
    /// what lies inside it has no way for it.
    #[inline(never)]
    fn pass_stops(
        &mut self,
        by: &mut Transaction<'_>,
        line: Line,
        flags: &mut Flags,
        want: Want,
        to: To,
        from: usize,
    ) -> bool {
        let (core, code) = (by.core, want == Want::Fetch);
        for at in (to.first()..from).rev() {
            let node = self.routes[core].stops()[at].node();
            let Some(shared) = &mut self.nodes[node].cache else { continue };
            let last = to == To::Stop(at as u8);
            if !last && !shared.takes_inward() {
                continue;
            }
            let changed = if last && want.is_store() { DIRTY } else { 0 };
            let carried = *flags | changed | self.labels[core];
            if !shared.takes_inward() {
                self.arrive_seldom(by, node, core, Evicted { line, flags: carried }, 0);
                continue;
            }
            let ways = shared.ways.of(class_of(carried))[usize::from(code)];
            match shared.insert(line, carried, ways, &mut self.random) {
                None => {}
                Some(out) if out.line != line => {
                    let cause = self.pushed_out(by);
                    self.evicted(by, node, core, out, cause);
                }
                Some(mut out) => {
                    // Every way that it may fill is locked.
                    let (level, inclusive) = (shared.level, shared.is_inclusive());
                    if self.losses.watches(core) {
                        self.lost(by, line, Cause::Refused, level);
                    }
                    if last || inclusive {
                        if want.is_store() {
                            // What was to be changed in a cache further in is changed out there.
                            out.flags |= DIRTY;
                        }
                        self.give_back_entries(by, line, to.tracked_from(), at + 1);
                        self.leave_node(by, node, core, out);
                        return false;
                    }
                    continue;
                }
            }
            // The outermost cache that takes the line keeps its change; further in it is clean.
            *flags &= !DIRTY;
        }
        true
    }

    /// Lines leave a core for one that came in.
    #[inline(always)]
    pub(super) fn send_off(&mut self, by: &mut Transaction<'_>, leaving: Leaving) {
        for out in leaving.lines() {
            self.leave_core(by, *out, Cause::Own);
        }
    }
}
