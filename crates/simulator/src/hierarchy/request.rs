//! The way outward of a request that the core's own caches could not answer.

use waykeeper_platform::EntryTaken;

use crate::access::{Answer, Want};
use crate::cache::{CODE, DIRTY, SHARED};
use crate::filter::Entry;
use crate::hierarchy::Hierarchy;
use crate::hierarchy::levels::To;
use crate::station::Stop;
use crate::tags::Line;

impl Hierarchy {
    /// Asks station after station, changing nothing on the way, and acts on the first that knows the line.
    pub(super) fn request(&mut self, core: usize, line: Line, want: Want, to: To, now: u64) -> Answer {
        if self.under_way.as_ref().is_some_and(|lines| lines.contains(line)) {
            return Answer::UnderWay;
        }
        if let Some(touched) = &mut self.touched {
            touched.add(line, core);
        }
        let route = self.routes[core];
        let first = if want == Want::Stream { 0 } else { to.first() };
        for (at, stop) in route.stops().iter().enumerate().skip(first) {
            let station = &self.stations[stop.station];
            // What lies inside on this very way was asked before, except by an access that passes over caches.
            let asked = if at > first || to.tracked_from() <= at { stop.unit } else { 0 };
            let holders = match &station.filter {
                None => self.holders(stop.station, line, asked),
                Some(filter) => {
                    let entry = if filter.asked { filter.entries.find(line) } else { None };
                    match entry {
                        Some(place) if filter.entries.is_busy(place) => return Answer::UnderWay,
                        Some(place) => filter.entries.owners(place) & !asked,
                        None => {
                            let needs_entry = filter.taken == EntryTaken::AtRequest && at >= to.tracked_from();
                            if needs_entry && !filter.entries.has_room(line) {
                                return self.busy(stop.station);
                            }
                            0
                        }
                    }
                }
            };
            if holders & !stop.unit != 0 {
                return self.take_from_others(core, line, want, to, at, holders & !stop.unit, now);
            }
            if holders != 0 {
                return Answer::OtherCore;
            }
            if station.cache.as_ref().is_some_and(|shared| shared.cache.find(line).is_some()) {
                return self.take_from_cache(core, line, want, to, at, now);
            }
        }
        if want == Want::Stream {
            return self.write_without_reading(core, line, to, now);
        }
        for stop in route.stops().iter().skip(to.tracked_from()) {
            if self.stations[stop.station].knows_under_way() {
                let taken = self.take_entry(*stop, line, true, now);
                debug_assert!(taken, "there was room");
            }
        }
        if let Some(under_way) = &mut self.under_way {
            under_way.add(line);
        }
        Answer::Memory
    }

    /// The cache of a stop has the line, and nobody inside.
    fn take_from_cache(&mut self, core: usize, line: Line, want: Want, to: To, at: usize, now: u64) -> Answer {
        let Stop { station, .. } = self.routes[core].stops()[at];
        if want == Want::Stream || want.is_store() && to.first() <= at && to.tracked_from() > to.first() {
            return self.write_in_place(core, line, want, station, now);
        }
        if let Err(busy) = self.take_entries(core, line, to.tracked_from(), at + 1, now) {
            return busy;
        }
        let alone = self.stations[station].alone();
        let shared = self.stations[station].cache.as_mut().expect("it has the line");
        let level = shared.level;
        let stays = shared.takes_inward() || to.first() == at && to.tracked_from() > at;
        let flags = match shared.cache.find(line) {
            Some(_) if !stays => shared.cache.remove(line).unwrap_or(0) & !alone,
            Some(place) => {
                shared.cache.clear(place, alone);
                let code = if want == Want::Fetch { CODE } else { 0 };
                shared.cache.touch(place, code) & !DIRTY
            }
            None => {
                // Making room in a filter has pushed this very line out.
                self.give_back_entries(core, line, to.tracked_from(), at + 1);
                return self.request(core, line, want, to, now);
            }
        };
        self.enter(core, line, flags & (DIRTY | SHARED), want, to, at, now);
        Answer::Shared(level)
    }

    /// Units at a stop hold the line: from now on it is shared, unless it is to be changed.
    #[expect(clippy::too_many_arguments, reason = "an access, where it leads and where it was stopped")]
    fn take_from_others(
        &mut self,
        core: usize,
        line: Line,
        want: Want,
        to: To,
        at: usize,
        units: u32,
        now: u64,
    ) -> Answer {
        if want == Want::Stream || want.is_store() && to.tracked_from() > to.first() {
            self.take_away_elsewhere(core, line, now);
            return self.request(core, line, want, to, now);
        }
        if let Err(busy) = self.take_entries(core, line, to.tracked_from(), at, now) {
            return busy;
        }
        let Stop { station, unit } = self.routes[core].stops()[at];
        let shared = self.stations[station].cache.as_ref();
        let copy = shared.and_then(|shared| Some((shared, shared.cache.find(line)?)));
        let answer = match copy {
            Some((shared, place)) if shared.cache.flags(place) & SHARED != 0 => Answer::Shared(shared.level),
            _ => Answer::OtherCore,
        };
        if to.tracked_from() <= at
            && let Some(filter) = &mut self.stations[station].filter
        {
            filter.entries.add_owner(line, unit);
        }
        self.share(station, units, core, line, now);
        self.enter(core, line, SHARED, want, to, at, now);
        answer
    }

    /// Takes entries for a line in the filters from the stop `first` to before the stop `end`; none if one has no room.
    pub(super) fn take_entries(
        &mut self,
        core: usize,
        line: Line,
        first: usize,
        end: usize,
        now: u64,
    ) -> Result<(), Answer> {
        let route = self.routes[core];
        for (at, stop) in route.stops().iter().enumerate().take(end).skip(first) {
            if !self.take_entry(*stop, line, false, now) {
                self.give_back_entries(core, line, first, at);
                return Err(self.busy(stop.station));
            }
        }
        Ok(())
    }

    fn busy(&self, station: usize) -> Answer {
        Answer::Busy(u8::from(self.stations[station].cache.is_none()))
    }

    /// Takes the core's side off the entries of a line, from the stop `first` to before the stop `end`.
    pub(super) fn give_back_entries(&mut self, core: usize, line: Line, first: usize, end: usize) {
        let route = self.routes[core];
        for stop in route.stops().iter().take(end).skip(first) {
            if let Some(filter) = &mut self.stations[stop.station].filter {
                filter.entries.drop_owner(line, stop.unit);
            }
        }
    }

    /// Takes an entry of a station's filter, where there is one; false if every entry of the set waits for a fill.
    pub(super) fn take_entry(&mut self, stop: Stop, line: Line, busy: bool, now: u64) -> bool {
        let Some(filter) = &mut self.stations[stop.station].filter else { return true };
        match filter.entries.take(line, stop.unit, busy, &mut self.random) {
            Entry::AllBusy => false,
            Entry::Taken(None) => true,
            Entry::Taken(Some(out)) => {
                self.lose_entry(stop.station, out, now);
                true
            }
        }
    }
}
