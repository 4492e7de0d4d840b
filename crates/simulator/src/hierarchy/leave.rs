//! Lines on their way out.

use waykeeper_platform::Allocation;

use crate::cache::{CLASS_AT, DIRTY, Evicted, Flags, HELD, SHARED, WATCHED, class_of};
use crate::hierarchy::Hierarchy;
use crate::station::Stop;

/// What a line carries through caches on its way out.
const LABELS: Flags = WATCHED | u8::MAX << CLASS_AT;

impl Hierarchy {
    /// A line leaves a core's caches by replacement.
    #[inline]
    pub(super) fn leave_core(&mut self, core: usize, out: Evicted, now: u64) {
        let out = Evicted { flags: out.flags | self.labels[core], ..out };
        let stop = self.routes[core].stops()[0];
        if out.flags & HELD != 0 {
            return self.write_back(Some(stop), core, out, now);
        }
        self.leave_unit(stop, core, out, now);
    }

    /// A line is no longer in a unit of a station; `core` is at work.
    #[inline]
    fn leave_unit(&mut self, stop: Stop, core: usize, out: Evicted, now: u64) {
        let left = match &mut self.stations[stop.station].filter {
            Some(filter) => filter.entries.drop_owner(out.line, stop.unit),
            None => self.holders(stop.station, out.line, stop.unit),
        };
        self.arrive(stop.station, core, out, left, now);
    }

    /// A line arrives at a station from inside, where the units `left` still hold it.
    pub(super) fn arrive(&mut self, station: usize, core: usize, out: Evicted, left: u32, now: u64) {
        let alone = if left == 0 { self.stations[station].alone() } else { 0 };
        let at = &mut self.stations[station];
        let Some(shared) = &mut at.cache else {
            return match left {
                0 => self.leave_station(station, core, out, now),
                _ => self.write_back(self.stations[station].outer, core, out, now),
            };
        };
        if let Some(place) = shared.cache.find(out.line) {
            if left == 0 || shared.takes_inward() {
                shared.cache.clear(place, alone);
                shared.cache.mark(place, out.flags & DIRTY);
            }
            return;
        }
        let clean = out.flags & DIRTY == 0;
        match shared.allocation {
            Allocation::ExclusiveUntilShared | Allocation::Victim if left == 0 => {
                let out = Evicted { flags: out.flags & !alone, ..out };
                if at.mode.as_mut().is_some_and(|mode| mode.is_on(now)) {
                    self.shared_counts.bypassed += 1;
                    return self.leave_station(station, core, out, now);
                }
                self.allocate(station, core, out, now);
            }
            Allocation::NonInclusive if !clean => self.allocate(station, core, out, now),
            _ if left == 0 => self.leave_station(station, core, out, now),
            _ => self.write_back(self.stations[station].outer, core, out, now),
        }
    }

    /// A station's cache takes a line.
    #[inline]
    pub(super) fn allocate(&mut self, station: usize, core: usize, line: Evicted, now: u64) {
        self.shared_counts.allocations += 1;
        let shared = self.stations[station].cache.as_mut().expect("the station has a cache");
        let flags = line.flags & (DIRTY | SHARED | LABELS);
        if let Some(out) = shared.cache.insert(line.line, flags, shared.data_ways[core], &mut self.random) {
            self.evicted(station, core, out, now);
        }
    }

    /// A station's cache lost a line by replacement, or did not take it.
    #[inline]
    pub(super) fn evicted(&mut self, station: usize, core: usize, out: Evicted, now: u64) {
        let (held, flags) = match self.stations[station].cache.as_ref().map(|shared| shared.allocation) {
            Some(Allocation::Inclusive) => (false, self.lose_inside(station, out)),
            Some(Allocation::NonInclusive) => (self.is_inside(station, out.line), 0),
            // A shared line may still be in cores when an exclusive cache drops its copy.
            _ => (out.flags & SHARED != 0 && self.is_inside(station, out.line), 0),
        };
        let out = Evicted { flags: out.flags | flags, ..out };
        match held {
            true => self.write_back(self.stations[station].outer, core, out, now),
            false => self.leave_station(station, core, out, now),
        }
    }

    /// A line is no longer in a station's cache, nor further in.
    #[inline]
    pub(super) fn leave_station(&mut self, station: usize, core: usize, out: Evicted, now: u64) {
        match self.stations[station].outer {
            Some(stop) => self.leave_unit(stop, core, out, now),
            None => self.write_back(None, core, out, now),
        }
    }

    /// A change goes outward from a place that keeps its copy, or need not be asked: to the next cache that has the line
    /// or takes lines inward, or to memory.
    pub(super) fn write_back(&mut self, mut outer: Option<Stop>, core: usize, out: Evicted, now: u64) {
        if out.flags & DIRTY == 0 {
            return;
        }
        while let Some(stop) = outer {
            let at = &mut self.stations[stop.station];
            if let Some(shared) = &mut at.cache {
                if let Some(place) = shared.cache.find(out.line) {
                    return shared.cache.mark(place, DIRTY);
                }
                if shared.takes_inward() {
                    return self.allocate(stop.station, core, out, now);
                }
            }
            outer = at.outer;
        }
        self.writes.push((out.line, class_of(out.flags)));
    }
}
