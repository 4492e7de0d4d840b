//! Lines on their way in.

use crate::access::Want;
use crate::cache::{CODE, DIRTY, Evicted, Flags};
use crate::hierarchy::Hierarchy;
use crate::hierarchy::levels::To;
use crate::tags::Line;

impl Hierarchy {
    /// A line comes from outside of the first `from` stops of a core, with these flags, and goes to where it is wanted.
    /// Entries in filters are taken.
    #[expect(clippy::too_many_arguments, reason = "a line, an access, where it leads and where it comes from")]
    pub(super) fn enter(
        &mut self,
        core: usize,
        line: Line,
        mut flags: Flags,
        want: Want,
        to: To,
        from: usize,
        now: u64,
    ) {
        let stops = from.saturating_sub(to.first());
        let changed = if want.is_store() { DIRTY } else { 0 };
        if stops > 0 && !self.pass_stops(core, line, &mut flags, want, to, from, now) {
            return;
        }
        let Self { leaving, random, .. } = self;
        let private = &mut self.cores[core];
        match to {
            To::First => private.fill_data(line, flags | private.adds(want.is_store()), leaving, random),
            To::Instructions => private.fill_instructions(line, flags, leaving, random),
            To::Second => private.fill_second(line, flags | changed, leaving, random),
            To::Stop(_) | To::Memory => {}
        }
        self.send_off(core, now);
        if want.is_store() {
            self.stored(core, line, flags);
        }
    }

    /// Puts a line into the caches that it passes on its way in. False if it must not go further: a cache that must have
    /// what lies inside it has no way for it.
    #[expect(clippy::too_many_arguments, reason = "as for `enter`")]
    fn pass_stops(
        &mut self,
        core: usize,
        line: Line,
        flags: &mut Flags,
        want: Want,
        to: To,
        from: usize,
        now: u64,
    ) -> bool {
        let route = self.routes[core];
        let code = want == Want::Fetch;
        for at in (to.first()..from).rev() {
            let station = route.stops()[at].station;
            let Some(shared) = &mut self.stations[station].cache else { continue };
            let last = to == To::Stop(at as u8);
            let changed = if last && want.is_store() { DIRTY } else { 0 };
            if !shared.takes_inward() {
                if last {
                    let out = Evicted { line, flags: *flags | changed | self.labels[core] };
                    self.arrive(station, core, out, 0, now);
                }
                continue;
            }
            let ways = if code { shared.code_ways[core] } else { shared.data_ways[core] };
            let carried = *flags | changed | self.labels[core] | if code { CODE } else { 0 };
            match shared.cache.insert(line, carried, ways, &mut self.random) {
                Some(out) if out.line != line => self.evicted(station, core, out, now),
                None => {}
                Some(out) => {
                    // Every way that it may fill is locked.
                    if last || shared.is_inclusive() {
                        self.give_back_entries(core, line, to.tracked_from(), at + 1);
                        self.leave_station(station, core, out, now);
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
    pub(super) fn send_off(&mut self, core: usize, now: u64) {
        for out in self.leaving.take().into_iter().flatten() {
            self.leave_core(core, out, now);
        }
    }
}
