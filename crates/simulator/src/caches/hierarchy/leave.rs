//! Lines on their way out.

use waykeeper_platform::Allocation;

use crate::caches::cache::Evicted;
use crate::caches::flags::{DIRTY, Flags, HELD, LABEL, SHARED, WATCHED, class_of, label_of, merged};
use crate::caches::hierarchy::{Hierarchy, Write};
use crate::caches::node::{SharedLevel, Station, Stop};
use crate::observe::losses::Cause;

/// What a line carries through caches on its way out.
const CARRIED: Flags = WATCHED | LABEL;

impl Hierarchy {
    /// A line leaves a core's caches by replacement, or did not get into them for this reason.
    #[inline]
    pub(super) fn leave_core(&mut self, core: usize, out: Evicted, cause: Cause) {
        if out.line >= self.on_chip_from {
            // The RAM is next, and takes a change without anyone's waiting for it.
            return;
        }
        let out = Evicted { flags: out.flags | self.labels[core], ..out };
        let stop = self.routes[core].nearest();
        if out.flags & (HELD | WATCHED) != 0 {
            if out.flags & HELD != 0 {
                return self.write_back(Some(stop), core, out);
            }
            self.lost(out.line, cause, 0);
        }
        self.leave_unit(stop, core, out);
    }

    /// A line is no longer in a unit of a station, and may go to the share of `core` there.
    #[inline(always)]
    fn leave_unit(&mut self, stop: Stop, core: usize, out: Evicted) {
        let left = match &mut self.stations[stop.station()].filter {
            Some(filter) => filter.entries.drop_owner(out.line, stop.unit),
            None => self.holders(stop.station(), out.line, stop.unit),
        };
        self.arrive_seldom(stop.station(), core, out, left);
    }

    /// The same as [`Hierarchy::arrive`], for lines that come there seldom.
    #[cold]
    #[inline(never)]
    pub(super) fn arrive_seldom(&mut self, station: usize, core: usize, out: Evicted, left: u32) {
        self.arrive(station, core, out, left);
    }

    /// A line arrives at a station from inside, where the units `left` still hold it.
    #[inline(always)]
    pub(super) fn arrive(&mut self, station: usize, core: usize, out: Evicted, left: u32) {
        let at = &mut self.stations[station];
        let outer = at.outer;
        let Some(shared) = &mut at.cache else {
            return match left {
                0 => self.leave_station(station, core, out),
                _ => self.write_back(outer, core, out),
            };
        };
        let inward = shared.takes_inward();
        let alone = if left == 0 { at.alone } else { 0 };
        // What a core holds alone is not in an exclusive cache.
        if inward || out.flags & SHARED != 0 {
            if let Some(place) = shared.cache.find(out.line) {
                if left == 0 || inward {
                    shared.cache.clear(place, alone);
                    shared.cache.mark(place, out.flags & DIRTY);
                }
                return;
            }
        } else {
            debug_assert!(shared.cache.find(out.line).is_none(), "line {:#x} is in both", out.line);
        }
        if inward {
            let clean = out.flags & DIRTY == 0;
            return match (shared.allocation, left) {
                (Allocation::NonInclusive, _) if !clean => self.allocate(station, core, out),
                (_, 0) => self.leave_station(station, core, out),
                _ => self.write_back(outer, core, out),
            };
        }
        if left != 0 {
            return self.write_back(outer, core, out);
        }
        if let Some(mode) = &mut at.mode
            && mode.is_on(self.now)
        {
            let level = shared.level;
            self.shared_counts.bypassed += 1;
            if out.flags & WATCHED != 0 {
                self.lost(out.line, Cause::NotAllocated, level);
            }
            return self.leave_station(station, core, Evicted { flags: out.flags & !alone, ..out });
        }
        self.allocate(station, core, Evicted { flags: out.flags & !alone, ..out });
    }

    /// A station's cache takes a line, into the ways of the class of who brought it in.
    #[inline(always)]
    pub(super) fn allocate(&mut self, station: usize, core: usize, line: Evicted) {
        self.shared_counts.allocations += 1;
        let shared = self.stations[station].cache.as_mut().expect("the station has a cache");
        let flags = line.flags & (DIRTY | SHARED | CARRIED);
        let code = shared.ways.tell_code() && self.code.has(line.line);
        let ways = shared.ways.of(class_of(flags))[usize::from(code)];
        if let Some(out) = shared.insert(line.line, flags, ways, &mut self.random) {
            let cause = if out.line == line.line { Cause::Refused } else { self.pushed_out() };
            self.evicted(station, core, out, cause);
        }
    }

    /// Why a line goes that makes room for what the core at work does, as a watched core sees it.
    #[inline]
    pub(super) fn pushed_out(&self) -> Cause {
        if self.losses.watches(self.at_work) { Cause::Own } else { Cause::Neighbour }
    }

    /// A station's cache lost a line by replacement, or did not take it, for this reason.
    #[inline(always)]
    pub(super) fn evicted(&mut self, station: usize, core: usize, out: Evicted, cause: Cause) {
        let takes_inward = self.stations[station].cache.as_ref().is_none_or(SharedLevel::takes_inward);
        if takes_inward || out.flags & (WATCHED | SHARED) != 0 {
            self.evicted_from_many(station, core, out, cause);
        } else {
            // Nobody inside has it.
            self.leave_station(station, core, out);
        }
    }

    /// The same where cores may have the line, or somebody asks why it went.
    #[inline(never)]
    fn evicted_from_many(&mut self, station: usize, core: usize, mut out: Evicted, cause: Cause) {
        let shared = self.stations[station].cache.as_ref().expect("the station has a cache");
        if out.flags & WATCHED != 0 {
            self.lost(out.line, cause, shared.level);
        }
        let held = match self.stations[station].cache.as_ref().map(|shared| shared.allocation) {
            Some(Allocation::Inclusive) => {
                out.flags = merged(out.flags, self.lose_inside(station, out));
                false
            }
            _ if (station, out.line) == self.giving => false,
            Some(Allocation::NonInclusive) => self.is_inside(station, out.line),
            // A shared line may still be in cores when an exclusive cache drops its copy.
            _ => out.flags & SHARED != 0 && self.is_inside(station, out.line),
        };
        match held {
            true => self.write_back(self.stations[station].outer, core, out),
            false => self.leave_station(station, core, out),
        }
    }

    /// A line is no longer in a station's cache, nor further in.
    #[inline(always)]
    pub(super) fn leave_station(&mut self, station: usize, core: usize, out: Evicted) {
        let Some(stop) = self.stations[station].outer else { return self.write_to_memory(core, out) };
        match &mut self.stations[stop.station()] {
            // Behind this filter is the memory, whoever else has the line.
            Station { cache: None, filter: Some(filter), outer: None, .. } => {
                filter.entries.drop_owner(out.line, stop.unit);
                self.write_to_memory(core, out);
            }
            _ => self.leave_unit(stop, core, out),
        }
    }

    /// A line that no cache further out has leaves for the memory, if it was changed.
    #[inline(always)]
    fn write_to_memory(&mut self, core: usize, out: Evicted) {
        if out.flags & DIRTY != 0 {
            self.writes.push(Write { line: out.line, core, label: label_of(out.flags) });
        }
    }

    /// A change goes outward from a place that keeps its copy, or need not be asked: to the next cache that has the line
    /// or takes lines inward, or to memory.
    pub(super) fn write_back(&mut self, outer: Option<Stop>, core: usize, out: Evicted) {
        if out.flags & DIRTY != 0 {
            self.write_out(outer, core, out);
        }
    }

    #[cold]
    #[inline(never)]
    fn write_out(&mut self, mut outer: Option<Stop>, core: usize, out: Evicted) {
        while let Some(stop) = outer {
            let at = &mut self.stations[stop.station()];
            if let Some(shared) = &mut at.cache {
                if let Some(place) = shared.cache.find(out.line) {
                    return shared.cache.mark(place, DIRTY);
                }
                if shared.takes_inward() {
                    return self.allocate(stop.station(), core, out);
                }
            }
            outer = at.outer;
        }
        self.write_to_memory(core, out);
    }
}
