//! The way outward of a request that the core's own caches could not answer.

use waykeeper_platform::EntryTaken;

use crate::caches::access::{Answer, Want};
use crate::caches::flags::{DIRTY, SHARED};
use crate::caches::hierarchy::Hierarchy;
use crate::caches::hierarchy::levels::To;
use crate::caches::hierarchy::transaction::Transaction;
use crate::caches::node::Stop;
use crate::caches::snoop_filter::{EntryAllocation, Known};
use crate::line::Line;

impl Hierarchy {
    /// Asks node after node, changing nothing on the way, and acts on the first that knows the line.
    pub(super) fn request(&mut self, by: &mut Transaction<'_>, line: Line, want: Want, to: To) -> Answer {
        let core = by.core;
        if line >= self.on_chip_from {
            return self.take_from_on_chip_ram(by, line, want);
        }
        if self.in_flight.contains(line) {
            return Answer::InFlight;
        }
        if let Some(touched) = &mut self.sharers {
            touched.add(line, core);
        }
        // A store is done in the first cache that has the line, wherever it would go else.
        let first = if want.is_store() { 0 } else { to.first() };
        if first > 0 && self.is_in_flight_before(core, line, first) {
            return Answer::InFlight;
        }
        let (route, tracked_from) = (self.routes[core], to.tracked_from());
        for (at, stop) in route.stops().iter().enumerate().skip(first) {
            let node = &self.nodes[stop.node()];
            // What lies inside on this very way was asked before, except by a read that passes over caches.
            let asked = if at > first || tracked_from <= at { stop.unit } else { 0 };
            let holders = match &node.filter {
                None => self.holders(stop.node(), line, asked),
                Some(filter) => {
                    let needs_entry = filter.taken == EntryTaken::AtRequest && at >= tracked_from;
                    let look = filter.asked || needs_entry;
                    match if look { filter.entries.look(line) } else { Known::Nothing } {
                        Known::InFlight if filter.asked => return Answer::InFlight,
                        Known::Held(owners) if filter.asked => owners & !asked,
                        Known::NoRoom if needs_entry => return self.busy(stop.node()),
                        _ => 0,
                    }
                }
            };
            if holders & !stop.unit != 0 {
                return self.take_from_others(by, line, want, to, at, holders & !stop.unit);
            }
            if holders != 0 {
                return Answer::OtherCore;
            }
            if node.cache.as_ref().is_some_and(|shared| shared.cache.find(line).is_some()) {
                return self.take_from_cache(by, line, want, to, at);
            }
        }
        if want == Want::Stream {
            return self.write_without_reading(by, line, to);
        }
        for stop in route.stops().iter().skip(tracked_from) {
            if self.nodes[stop.node()].knows_in_flight() {
                let taken = self.take_entry(by, *stop, line, true);
                debug_assert!(taken, "there was room");
            }
        }
        if !self.filter_knows || matches!(to, To::Stop(_)) {
            // The filter of a cache has no entry for a line that goes no further in than that.
            self.in_flight.add(line);
        }
        Answer::Memory
    }

    /// Whether a filter that an access passes over knows a line to be in flight.
    #[inline(never)]
    fn is_in_flight_before(&self, core: usize, line: Line, first: usize) -> bool {
        self.routes[core].stops().iter().take(first).any(|stop| self.nodes[stop.node()].awaits(line))
    }

    /// The first level takes a line of the on-chip RAM.
    #[inline(never)]
    fn take_from_on_chip_ram(&mut self, by: &mut Transaction<'_>, line: Line, want: Want) -> Answer {
        let (private, random) = (&mut self.cores[by.core], &mut self.random);
        match want {
            Want::Fetch => private.fill_l1i(line, random),
            Want::Read | Want::Write | Want::Update | Want::Prefetch { .. } | Want::Walk => {
                let leaving = private.fill_data(line, 0, private.adds(want.is_store()), random);
                self.send_off(by, leaving);
            }
            Want::Stream => return Answer::Sent,
        }
        Answer::OnChip
    }

    /// The cache of a stop has the line, and nobody inside.
    #[inline(never)]
    fn take_from_cache(&mut self, by: &mut Transaction<'_>, line: Line, want: Want, to: To, at: usize) -> Answer {
        let node = self.routes[by.core].stops()[at].node();
        if stores_in_place(want, to) {
            return self.write_in_place(by, line, want, at);
        }
        if let Err(busy) = self.take_entries(&mut by.giving(node, line), line, to.tracked_from(), at + 1) {
            return busy;
        }
        let alone = self.nodes[node].alone;
        let shared = self.nodes[node].cache.as_mut().expect("it has the line");
        let level = shared.level;
        let stays = shared.takes_inward() || to.first() == at && to.tracked_from() > at;
        let flags = match shared.cache.find(line) {
            Some(_) if !stays => shared.remove(line).unwrap_or(0) & !alone,
            Some(place) => {
                shared.cache.clear(place, alone);
                shared.cache.touch(place, 0) & !DIRTY
            }
            None => {
                // Making room in a filter has pushed this very line out.
                self.give_back_entries(by, line, to.tracked_from(), at + 1);
                return self.request(by, line, want, to);
            }
        };
        self.enter(by, line, flags & (DIRTY | SHARED), want, to, at);
        Answer::Shared(level)
    }

    /// Units at a stop hold the line: from now on it is shared, unless it is to be changed.
    #[inline(never)]
    fn take_from_others(
        &mut self,
        by: &mut Transaction<'_>,
        line: Line,
        want: Want,
        to: To,
        at: usize,
        units: u32,
    ) -> Answer {
        if stores_in_place(want, to) {
            self.take_away_elsewhere(by, line);
            return self.request(by, line, want, to);
        }
        if let Err(busy) = self.take_entries(by, line, to.tracked_from(), at) {
            return busy;
        }
        let stop = self.routes[by.core].stops()[at];
        let node = stop.node();
        let shared = self.nodes[node].cache.as_ref();
        let copy = shared.and_then(|shared| Some((shared, shared.cache.find(line)?)));
        let answer = match copy {
            Some((shared, place)) if shared.cache.flags(place) & SHARED != 0 => Answer::Shared(shared.level),
            _ => Answer::OtherCore,
        };
        if to.tracked_from() <= at
            && let Some(filter) = &mut self.nodes[node].filter
        {
            filter.entries.add_owner(line, stop.unit);
        }
        self.share(by, node, units, line);
        self.enter(by, line, SHARED, want, to, at);
        answer
    }

    /// Takes entries for a line in the filters from the stop `first` to before the stop `end`; none if one has no room.
    pub(super) fn take_entries(
        &mut self,
        by: &mut Transaction<'_>,
        line: Line,
        first: usize,
        end: usize,
    ) -> Result<(), Answer> {
        for at in first..end {
            let stop = self.routes[by.core].stops()[at];
            if !self.take_entry(by, stop, line, false) {
                self.give_back_entries(by, line, first, at);
                return Err(self.busy(stop.node()));
            }
        }
        Ok(())
    }

    fn busy(&self, node: usize) -> Answer {
        Answer::Busy(self.nodes[node].kind_of_filter() as u8)
    }

    /// Takes the core's side off the entries of a line, from the stop `first` to before the stop `end`.
    #[inline(never)]
    pub(super) fn give_back_entries(&mut self, by: &Transaction<'_>, line: Line, first: usize, end: usize) {
        for at in first..end {
            let stop = self.routes[by.core].stops()[at];
            if let Some(filter) = &mut self.nodes[stop.node()].filter {
                filter.entries.drop_owner(line, stop.unit);
            }
        }
    }

    /// Takes an entry of a node's filter, where there is one; false if every entry of the set waits for a fill.
    #[inline(never)]
    pub(super) fn take_entry(&mut self, by: &mut Transaction<'_>, stop: Stop, line: Line, busy: bool) -> bool {
        let Some(filter) = &mut self.nodes[stop.node()].filter else { return true };
        match filter.entries.take(line, stop.unit, busy, &mut self.random) {
            EntryAllocation::AllBusy => false,
            EntryAllocation::Taken(None) => true,
            EntryAllocation::Taken(Some(out)) => {
                self.lose_entry_seldom(by, stop.node(), out);
                true
            }
        }
    }
}

/// Whether an access changes the line in a shared cache instead of bringing it further in.
fn stores_in_place(want: Want, to: To) -> bool {
    want == Want::Stream || want.is_store() && matches!(to, To::Stop(_))
}
