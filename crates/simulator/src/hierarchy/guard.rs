//! Who may fill which ways, locked lines, and what the classes hold.

use crate::access::Want;
use crate::cache::{Cache, DIRTY, MOST_CLASSES, class_of};
use crate::hierarchy::Hierarchy;
use crate::hierarchy::levels::To;
use crate::losses::Cause;
use crate::station::Unit;
use crate::tags::Line;
use waykeeper_platform::Inclusion;

impl Hierarchy {
    /// Sets the ways of a level that a core's data and instructions may fill. Hits ignore them, and lines stay where they
    /// are. The mask for instructions holds for lines on their way in; what a cache takes from inside it takes as data.
    /// False if the core has no such cache.
    pub fn set_ways(&mut self, level: u8, core: usize, data: u32, code: u32) -> bool {
        if let Some(l2) = self.cores[core].l2.as_mut().filter(|_| level == 2) {
            let all = l2.cache.all_ways() & !l2.reserved;
            (l2.data_ways, l2.code_ways) = (data & all, code & all);
            return true;
        }
        let Some(at) = self.stop_of(core, |held| held == level) else { return false };
        let station = self.routes[core].stops()[at].station();
        let shared = self.stations[station].cache.as_mut().expect("the stop has a cache");
        let all = shared.cache.all_ways() & !shared.reserved;
        (shared.data_ways[core], shared.code_ways[core]) = (data & all, code & all);
        true
    }

    /// Loads a line into one of these ways of a level and locks it, at no cost in time. It then never leaves that cache
    /// by replacement; a filter or an inclusive cache further out that needs its place still takes it away, and the lock
    /// with it. False if the level has no such lock (exclusive caches give away what is used), if all these ways are
    /// locked already, or if the line is under way.
    pub fn lock(&mut self, level: u8, core: usize, line: Line, ways: u32) -> bool {
        let to = match self.cores[core].l2.as_ref().filter(|_| level == 2) {
            Some(l2) if l2.inclusion == Inclusion::ExclusiveOfL1d => return false,
            Some(_) => To::Second,
            None => match self.stop_of(core, |held| held == level) {
                Some(at) => To::Stop(at as u8),
                None => return false,
            },
        };
        let Some(cache) = self.cache_at(core, to) else { return false };
        let ways = ways & cache.all_ways();
        if let Some(place) = cache.find(line).filter(|place| ways >> place.way & 1 == 1) {
            cache.lock(place);
            return true;
        }
        if !cache.has_room(line, ways) || self.is_under_way(line) {
            return false;
        }
        self.flush(line);
        if let Some(touched) = &mut self.touched {
            touched.add(line, core);
        }
        let all = self.routes[core].stops().len();
        if self.take_entries(core, line, to.tracked_from(), all).is_err() {
            return false;
        }
        let before = self.ways_at(core, to, ways);
        self.enter(core, line, 0, Want::Prefetch { level }, to, all);
        self.ways_at(core, to, before);
        let Some(cache) = self.cache_at(core, to) else { return false };
        let place = cache.find(line);
        place.into_iter().for_each(|place| cache.lock(place));
        place.is_some()
    }

    /// Takes ways of a core's cache of a level away from everyone who fills it, for good: they hold locked lines.
    pub fn reserve_ways(&mut self, level: u8, core: usize, ways: u32) {
        if let Some(l2) = self.cores[core].l2.as_mut().filter(|_| level == 2) {
            l2.reserved |= ways;
            (l2.data_ways, l2.code_ways) = (l2.data_ways & !ways, l2.code_ways & !ways);
        } else if let Some(at) = self.stop_of(core, |held| held == level) {
            let station = self.routes[core].stops()[at].station();
            let shared = self.stations[station].cache.as_mut().expect("the stop has a cache");
            shared.reserved |= ways;
            shared.data_ways.iter_mut().chain(&mut shared.code_ways).for_each(|fills| *fills &= !ways);
        }
    }

    /// The ways of a level that a core's data and instructions may fill, if it has such a cache.
    pub fn ways(&self, level: u8, core: usize) -> Option<[u32; 2]> {
        if let Some(l2) = self.cores[core].l2.as_ref().filter(|_| level == 2) {
            return Some([l2.data_ways, l2.code_ways]);
        }
        let at = self.stop_of(core, |held| held == level)?;
        let shared = self.stations[self.routes[core].stops()[at].station()].cache.as_ref()?;
        Some([shared.data_ways[core], shared.code_ways[core]])
    }

    /// Opens all locks of a level, in all its caches. Lines stay.
    pub fn unlock_all(&mut self, level: u8) {
        for l2 in self.cores.iter_mut().filter_map(|core| core.l2.as_mut()).filter(|_| level == 2) {
            l2.cache.unlock_all();
        }
        let shared = self.stations.iter_mut().filter_map(|station| station.cache.as_mut());
        shared.filter(|shared| shared.level == level).for_each(|shared| shared.cache.unlock_all());
    }

    /// Takes a line out of all data and unified caches; what was changed is written to memory.
    pub fn flush(&mut self, line: Line) {
        // The last station is that of all cores.
        let flags = self.take_out(Unit::Station(self.stations.len() - 1), line, Cause::Write, false);
        if flags & DIRTY != 0 {
            self.writes.push((line, class_of(flags)));
        }
    }

    /// Whether an access is answered by a cache of the core up to a level.
    pub fn is_within(&self, core: usize, line: Line, want: Want, level: u8) -> bool {
        let private = &self.cores[core];
        let first = if want == Want::Fetch { &private.l1i } else { &private.l1d };
        let holds = |stop: &crate::station::Stop| {
            let shared = self.stations[stop.station()].cache.as_ref();
            shared.is_some_and(|shared| shared.level <= level && shared.cache.find(line).is_some())
        };
        first.find(line).is_some()
            || line >= self.on_chip_from
            || private.l2.as_ref().is_some_and(|l2| l2.cache.find(line).is_some())
            || self.routes[core].stops().iter().any(holds)
    }

    /// Lines that the shared cache of a level holds which a core uses, by the class of who brought them in.
    pub fn occupancy(&self, level: u8, core: usize) -> Option<[u64; MOST_CLASSES]> {
        let at = self.stop_of(core, |held| held == level)?;
        let shared = self.stations[self.routes[core].stops()[at].station()].cache.as_ref()?;
        let mut lines = [0; MOST_CLASSES];
        shared.cache.flags_held().for_each(|flags| lines[usize::from(class_of(flags))] += 1);
        Some(lines)
    }

    /// The cache at a place that can lock lines.
    fn cache_at(&mut self, core: usize, to: To) -> Option<&mut Cache> {
        match to {
            To::Second => self.cores[core].l2.as_mut().map(|l2| &mut l2.cache),
            To::Stop(at) => {
                let station = self.routes[core].stops()[usize::from(at)].station();
                let shared = self.stations[station].cache.as_mut();
                shared.filter(|shared| shared.takes_inward()).map(|shared| &mut shared.cache)
            }
            To::First | To::Instructions | To::Memory => None,
        }
    }

    /// Sets the ways that a core's data may fill at a place; gives those before.
    fn ways_at(&mut self, core: usize, to: To, ways: u32) -> u32 {
        let held = match to {
            To::Stop(at) => {
                let station = self.routes[core].stops()[usize::from(at)].station();
                self.stations[station].cache.as_mut().map(|shared| &mut shared.data_ways[core])
            }
            _ => self.cores[core].l2.as_mut().map(|l2| &mut l2.data_ways),
        };
        held.map_or(0, |held| std::mem::replace(held, ways))
    }

    fn is_under_way(&self, line: Line) -> bool {
        self.under_way.contains(line) || self.stations.iter().any(|station| station.awaits(line))
    }

    /// Allows or forbids the no-allocate mode of shared caches; false if none has one.
    pub fn set_no_allocate_mode(&mut self, allowed: bool, now: u64) -> bool {
        let modes = self.stations.iter_mut().filter_map(|station| station.mode.as_mut());
        modes.map(|mode| mode.set_enabled(allowed, now)).count() > 0
    }

    /// How long no-allocate modes were on up to `now`, and how often they began.
    pub fn no_allocate_totals(&self, now: u64) -> (u64, u64) {
        let totals = self.stations.iter().filter_map(|station| Some(station.mode.as_ref()?.totals(now)));
        totals.fold((0, 0), |sum, total| (sum.0 + total.0, sum.1 + total.1))
    }
}
