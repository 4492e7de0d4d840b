//! What the fast path takes out of caches, as time that is not simulated would have.

use waykeeper_platform::Allocation;

use crate::caches::cache::Evicted;
use crate::caches::flags::{DIRTY, HELD, class_of};
use crate::caches::hierarchy::transaction::Transaction;
use crate::caches::hierarchy::{Effects, Hierarchy};
use crate::caches::shared_level::SharedLevel;
use crate::caches::snoop_filter::Displaced;
use crate::line::Line;
use crate::observe::losses::Cause;
use crate::time::Ps;

impl Hierarchy {
    /// The smallest number of sets of what cores share, if everywhere the lowest bits decide: lines of different cores that
    /// differ modulo this never meet.
    pub fn least_sets(&self) -> Option<usize> {
        let shared = self.shared_caches().map(|shared| shared.cache.linear_sets());
        let filters = self.nodes.iter().filter_map(|node| Some(node.filter.as_ref()?.entries.linear_sets()));
        shared.chain(filters).collect::<Option<Vec<_>>>()?.into_iter().min()
    }

    /// The number of sets of the last of a core's own caches, if the lowest bits decide there.
    pub fn own_sets(&self, core: usize) -> Option<usize> {
        self.cores[core].last().linear_sets()
    }

    /// So many lines have come to the set of a line, in the last of a core's own caches, that those before are no longer in
    /// any of them.
    pub fn push_out(&mut self, core: usize, line: Line, now: Ps, effects: &mut Effects) {
        let by = &mut Transaction::new(core, now, effects);
        let private = &self.cores[core];
        let last = private.last();
        let in_first = private.l1d.held_with(line).filter(|held| last.same_set(held.line, line));
        let lines: Vec<Line> = last.held_with(line).chain(in_first).map(|held| held.line).collect();
        // One that both caches hold comes up twice, and has gone the second time.
        for line in lines {
            if let Some(flags) = self.cores[core].invalidate(line) {
                self.leave_core(by, Evicted { line, flags }, Cause::Own);
            }
        }
    }

    fn shared_caches(&self) -> impl Iterator<Item = &SharedLevel> {
        self.nodes.iter().filter_map(|node| node.cache.as_ref())
    }

    /// Whether every shared cache evicts clean lines without back-invalidation of the cores.
    pub fn can_forget(&self) -> bool {
        self.shared_caches().all(|shared| shared.allocation == Allocation::ExclusiveUntilShared)
    }

    /// Whether a line is in a core's own caches or in a shared one on its way.
    pub fn is_held(&self, core: usize, line: Line) -> bool {
        let mut caches = self.routes[core].stops().iter().filter_map(|stop| self.nodes[stop.node()].cache.as_ref());
        self.cores[core].holds(line) || caches.any(|shared| shared.cache.find(line).is_some())
    }

    /// Which filters on a core's way have an entry of a line: one at a shared cache, and one without.
    pub fn has_entries(&self, core: usize, line: Line) -> [bool; 2] {
        let mut has = [false; 2];
        for stop in self.routes[core].stops() {
            let at = &self.nodes[stop.node()];
            has[at.kind_of_filter()] |= at.filter.as_ref().is_some_and(|filter| filter.entries.find(line).is_some());
        }
        has
    }

    /// The numbers of sets of the filters on a core's way: of one at a shared cache, and of one without, where the lowest
    /// bits decide.
    pub fn filter_sets(&self, core: usize) -> [Option<usize>; 2] {
        let mut sets = [None; 2];
        for stop in self.routes[core].stops() {
            let at = &self.nodes[stop.node()];
            if let Some(filter) = &at.filter {
                sets[at.kind_of_filter()] = filter.entries.linear_sets();
            }
        }
        sets
    }

    /// A walker, which is a core, has filled sets: those of filters and shared caches, known by their number of sets, for
    /// which `fills` is true of a line of `core`. The line makes room there: in shared caches at once, in filters with a
    /// probability, that of [`Hierarchy::filter_sets`].
    pub fn make_room(
        &mut self,
        core: usize,
        line: Line,
        (walker, chances): (usize, [f64; 2]),
        fills: impl Fn(u64) -> bool,
        now: Ps,
        effects: &mut Effects,
    ) {
        let by = &mut Transaction::new(walker, now, effects);
        let route = self.routes[core];
        let walker = class_of(self.labels[walker]);
        for stop in route.stops() {
            let at = &mut self.nodes[stop.node()];
            let chance = chances[at.kind_of_filter()];
            if let Some(filter) = &mut at.filter
                && filter.entries.linear_sets().is_some_and(|sets| fills(sets as u64))
                && filter.entries.find(line).is_some()
                && (self.random.below(1 << 32) as f64) < chance * 2f64.powi(32)
                && let Some(owners) = filter.entries.release(line)
            {
                self.lose_entry_seldom(by, stop.node(), Displaced { line, owners });
            }
            let at = &mut self.nodes[stop.node()];
            if let Some(shared) = &mut at.cache
                && shared.cache.linear_sets().is_some_and(|sets| fills(sets as u64))
                && let Some(place) = shared.cache.find(line)
                && shared.ways.of(walker)[0] >> place.way & 1 == 1
                && let Some(flags) = shared.remove(line)
                && !self.is_inside(stop.node(), line)
            {
                self.leave_node(by, stop.node(), core, Evicted { line, flags });
            }
        }
    }

    /// Whether two lines share a set of a shared cache.
    pub fn share_a_set(&self, one: Line, other: Line) -> bool {
        self.shared_caches().any(|shared| shared.cache.same_set(one, other))
    }

    /// Shared caches drop the clean lines that are in a line's set and nowhere further in, apart from those of a class.
    pub fn forget_set(&mut self, core: usize, line: Line, kept: u8, now: Ps, effects: &mut Effects) {
        let by = &mut Transaction::new(core, now, effects);
        let route = self.routes[core];
        for stop in route.stops() {
            let at = &mut self.nodes[stop.node()];
            if at.mode.as_ref().is_none_or(|mode| !mode.is_enabled()) {
                continue;
            }
            let Some(shared) = &mut at.cache else { continue };
            let leaves = |flags| flags & (DIRTY | HELD) == 0 && class_of(flags) != usize::from(kept);
            let out: Vec<Evicted> = shared.cache.held_with(line).filter(|out| leaves(out.flags)).collect();
            for out in out {
                let shared = self.nodes[stop.node()].cache.as_mut().expect("it was there");
                shared.remove(out.line);
                if !self.is_inside(stop.node(), out.line) {
                    self.leave_node(by, stop.node(), core, out);
                }
            }
        }
    }
}
