//! The cluster and what tracks it: private caches, shared cache, the two snoop filters. State only; time is elsewhere.
//!
//! Kept at all times (and checked in `tests/invariants.rs`): a line of one core is in that core or in the shared cache,
//! never in both; the cluster's filter has an entry for every line in a core; the interconnect's filter has one for
//! every line in the cluster.

use waykeeper_platform::EntryTaken;
use waykeeper_workload::Xorshift;

use crate::access::{Answer, Want};
use crate::bits::bits;
use crate::cache::{Cache, DIRTY, Evicted, Flags, SHARED};
use crate::counters::{CoreCounters, SharedCounters};
use crate::filter::{Displaced, Entry, SnoopFilter};
use crate::mode::NoAllocateMode;
use crate::private::{Found, Private};
use crate::tags::Line;

/// The cluster and the filters that track it.
#[derive(Debug, Clone)]
pub struct Hierarchy {
    /// Caches by core.
    pub cores: Vec<Private>,
    /// The shared cache.
    pub shared: Cache,
    /// Ways of the shared cache that each core's lines may fill.
    pub fill_ways: Vec<u32>,
    /// Tracks the lines in the cores.
    pub cluster_filter: SnoopFilter,
    /// Tracks the lines in the cluster.
    pub interconnect_filter: Option<SnoopFilter>,
    /// When a line gets its entry there. The cluster's filter always gives it with the request.
    pub interconnect_taken: EntryTaken,
    /// Evictions from the cores bypass the shared cache while it is on.
    pub mode: Option<NoAllocateMode>,
    /// Changed lines that left the cluster and must be written to memory.
    pub writes: Vec<Line>,
    /// Cores that lost a line since this was last cleared, one bit each.
    pub disturbed: u32,
    /// Counts by core.
    pub counts: Vec<CoreCounters>,
    /// Counts of what is shared.
    pub shared_counts: SharedCounters,
    /// For random choices.
    pub random: Xorshift,
}

impl Hierarchy {
    /// One access of a core. Where the answer is not [`Answer::Memory`], [`Answer::UnderWay`] or busy, the line is then
    /// in the core's first level.
    #[inline]
    pub fn access(&mut self, core: usize, line: Line, want: Want, now: u64) -> Answer {
        let add = if want == Want::Write { DIRTY } else { 0 };
        let found = match want {
            Want::Fetch => self.cores[core].instructions(line, &mut self.random),
            Want::Read | Want::Write => self.cores[core].data(line, add, &mut self.random),
        };
        let (answer, flags) = match found {
            Found::L1(flags) => (Answer::L1, flags),
            Found::L2(flags, out) => {
                if let Some(out) = out {
                    self.leave_core(core, out, now);
                }
                (Answer::L2, flags)
            }
            Found::Nowhere => return self.request(core, line, want, now),
        };
        if want == Want::Write && flags & SHARED != 0 {
            self.own(core, line);
        }
        answer
    }

    /// A request that the core's own caches could not answer.
    fn request(&mut self, core: usize, line: Line, want: Want, now: u64) -> Answer {
        let owner = 1 << core;
        let entry = self.cluster_filter.find(line);
        if let Some(place) = entry {
            if self.cluster_filter.is_busy(place) {
                return Answer::UnderWay;
            }
            // Held by others: from now on it is shared, and the shared cache has it too.
            let from_shared = self.shared.find(line).is_some();
            let owners = self.cluster_filter.owners(place);
            self.cluster_filter.add_owner(place, owner);
            self.share(line, owners, core);
            self.enter_core(core, line, SHARED, want, now);
            return if from_shared { Answer::Shared } else { Answer::OtherCore };
        }
        if !self.cluster_filter.has_room(line) {
            return Answer::ClusterBusy;
        }
        if self.shared.find(line).is_some() {
            return match self.take_cluster_entry(line, owner, false, now) {
                false => Answer::ClusterBusy,
                // Making room in the filter may have pushed this very line out of the shared cache.
                true => match self.shared.remove(line) {
                    Some(flags) => {
                        self.enter_core(core, line, flags & !SHARED, want, now);
                        Answer::Shared
                    }
                    None => {
                        self.cluster_filter.release(line);
                        self.request(core, line, want, now)
                    }
                },
            };
        }
        let at_request = self.interconnect_taken == EntryTaken::AtRequest;
        if at_request && self.interconnect_filter.as_ref().is_some_and(|filter| !filter.has_room(line)) {
            return Answer::InterconnectBusy;
        }
        if !self.take_cluster_entry(line, owner, true, now) {
            return Answer::ClusterBusy;
        }
        if at_request {
            self.take_interconnect_entry(line, true);
        }
        Answer::Memory
    }

    fn take_interconnect_entry(&mut self, line: Line, busy: bool) {
        if let Some(filter) = &mut self.interconnect_filter
            && let Entry::Taken(Some(out)) = filter.take(line, 1, busy, &mut self.random)
        {
            self.leave_for_interconnect(out.line);
        }
    }

    /// Memory has answered a request.
    #[inline]
    pub fn fill(&mut self, core: usize, line: Line, want: Want, now: u64) {
        self.cluster_filter.settle(line);
        match (self.interconnect_taken, &mut self.interconnect_filter) {
            (EntryTaken::AtRequest, Some(filter)) => filter.settle(line),
            (EntryTaken::AtFill, _) => self.take_interconnect_entry(line, false),
            (EntryTaken::AtRequest, None) => {}
        }
        self.enter_core(core, line, 0, want, now);
    }

    /// Whether two lines compete for entries in one of the filters.
    #[inline]
    pub fn compete(&self, one: Line, other: Line) -> bool {
        self.cluster_filter.same_set(one, other)
            || self.interconnect_filter.as_ref().is_some_and(|filter| filter.same_set(one, other))
    }

    fn enter_core(&mut self, core: usize, line: Line, flags: Flags, want: Want, now: u64) {
        let private = &mut self.cores[core];
        let out = match want {
            Want::Fetch => {
                let out = private.fill_instructions(line, &mut self.random);
                if private.l2.is_none() {
                    // Only the unsnooped first level has it: nothing is left to track.
                    self.leave_core(core, Evicted { line, flags }, now);
                }
                out
            }
            Want::Read | Want::Write => {
                let add = if want == Want::Write { DIRTY } else { 0 };
                private.fill_data(line, flags | add, &mut self.random)
            }
        };
        if let Some(out) = out {
            self.leave_core(core, out, now);
        }
        if want == Want::Write && flags & SHARED != 0 {
            self.own(core, line);
        }
    }

    /// A line leaves a core's caches by replacement.
    #[inline]
    fn leave_core(&mut self, core: usize, out: Evicted, now: u64) {
        let left = self.cluster_filter.drop_owner(out.line, 1 << core);
        if left == 0 {
            self.allocate_or_bypass(core, out, now);
        }
    }

    /// A line that no core holds any more goes to the shared cache, or past it.
    #[inline]
    fn allocate_or_bypass(&mut self, core: usize, out: Evicted, now: u64) {
        if let Some(place) = self.shared.find(out.line) {
            self.shared.clear(place, SHARED);
            self.shared.mark(place, out.flags & DIRTY);
            return;
        }
        if self.mode.as_mut().is_some_and(|mode| mode.is_on(now)) {
            self.shared_counts.bypassed += 1;
            self.leave_cluster(Evicted { line: out.line, flags: out.flags & !SHARED });
            return;
        }
        self.shared_counts.allocations += 1;
        let flags = out.flags & !SHARED;
        if let Some(victim) = self.shared.insert(out.line, flags, self.fill_ways[core], &mut self.random) {
            self.leave_cluster(victim);
        }
    }

    #[inline]
    fn leave_cluster(&mut self, out: Evicted) {
        if out.flags & DIRTY != 0 {
            self.writes.push(out.line);
        }
        // A shared line may still be in cores when the shared cache drops its copy.
        let still_held = out.flags & SHARED != 0 && self.cluster_filter.find(out.line).is_some();
        if !still_held && let Some(filter) = &mut self.interconnect_filter {
            filter.release(out.line);
        }
    }

    /// Takes an entry of the cluster's filter; false if every entry of the set waits for a fill.
    fn take_cluster_entry(&mut self, line: Line, owner: u32, busy: bool, now: u64) -> bool {
        match self.cluster_filter.take(line, owner, busy, &mut self.random) {
            Entry::AllBusy => false,
            Entry::Taken(None) => true,
            Entry::Taken(Some(out)) => {
                self.leave_for_cluster(out, now);
                true
            }
        }
    }

    /// The cluster's filter needs the entry of a line: the cores lose it, the shared cache gets it.
    fn leave_for_cluster(&mut self, out: Displaced, now: u64) {
        if let Some(mode) = &mut self.mode {
            mode.evicted(now);
        }
        self.shared_counts.cluster_filter_evictions += 1;
        let mut flags = 0;
        for core in bits(out.owners) {
            if let Some(had) = self.cores[core].invalidate(out.line) {
                flags |= had;
                self.counts[core].invalidated_by_cluster += 1;
                self.disturbed |= 1 << core;
            }
        }
        let first = out.owners.trailing_zeros() as usize;
        self.allocate_or_bypass(first, Evicted { line: out.line, flags }, now);
    }

    /// The interconnect's filter needs the entry of a line: the whole cluster loses it.
    fn leave_for_interconnect(&mut self, line: Line) {
        self.shared_counts.interconnect_filter_evictions += 1;
        let mut flags = self.shared.remove(line).unwrap_or(0);
        for core in bits(self.cluster_filter.release(line).unwrap_or(0)) {
            if let Some(had) = self.cores[core].invalidate(line) {
                flags |= had;
                self.counts[core].invalidated_by_interconnect += 1;
                self.disturbed |= 1 << core;
            }
        }
        if flags & DIRTY != 0 {
            self.writes.push(line);
        }
    }

    /// A line that `owners` hold becomes shared: its changes go to the shared cache, which takes a copy.
    fn share(&mut self, line: Line, owners: u32, by: usize) {
        let had = bits(owners).fold(0, |had, core| had | self.cores[core].share(line));
        self.disturbed |= owners;
        match self.shared.find(line) {
            Some(place) => self.shared.mark(place, SHARED | had & DIRTY),
            None => {
                self.shared_counts.allocations += 1;
                let flags = SHARED | had & DIRTY;
                if let Some(victim) = self.shared.insert(line, flags, self.fill_ways[by], &mut self.random) {
                    self.leave_cluster(victim);
                }
            }
        }
    }

    /// A core changes a line that may be shared: all other copies go.
    fn own(&mut self, core: usize, line: Line) {
        let Some(place) = self.cluster_filter.find(line) else { return };
        for other in bits(self.cluster_filter.owners(place) & !(1 << core)) {
            self.cores[other].invalidate(line);
            self.disturbed |= 1 << other;
            self.cluster_filter.drop_owner(line, 1 << other);
        }
        self.shared.remove(line);
        self.cores[core].unshare(line);
    }
}
