//! Who may fill which ways, locked lines, and what the classes hold.

use waykeeper_platform::Inclusion;

use crate::caches::access::Want;
use crate::caches::allocation::class_ways::{ClassWays, Ways};
use crate::caches::cache::{Cache, Evicted};
use crate::caches::flags::class_of;
use crate::caches::hierarchy::levels::To;
use crate::caches::hierarchy::transaction::Transaction;
use crate::caches::hierarchy::{Effects, Hierarchy};
use crate::caches::node::NodeChild;
use crate::caches::shared_level::SharedLevel;
use crate::line::Line;
use crate::observe::label::MOST_CLASSES;
use crate::observe::losses::Cause;
use crate::time::Ps;

/// Why a line was not locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotLocked {
    /// The core uses no cache of the level.
    NoCache,
    /// The cache moves lines that hit inwards.
    GivesAway,
    /// All of the ways hold locked lines in its set already, or a filter has no entry for it.
    NoRoom,
    /// It is on its way from the memory.
    InFlight,
}

impl Hierarchy {
    /// Sets the ways that a class fills with data and with instructions, in the cache of a level that a core uses. Hits
    /// ignore them, and lines stay where they are. The mask for instructions holds for lines on their way in; what a cache
    /// takes from inside it takes as data. False if the core has no such cache.
    pub fn set_ways(&mut self, level: u8, core: usize, class: usize, ways: Ways) -> bool {
        self.change_ways(level, core, |of| of.set(class, ways))
    }

    /// Changes who may fill which ways of the cache of a level that a core uses; false if there is none.
    fn change_ways(&mut self, level: u8, core: usize, change: impl FnOnce(&mut ClassWays)) -> bool {
        if let Some(l2) = self.cores[core].l2.as_mut().filter(|_| level == 2) {
            l2.change_ways(change);
            return true;
        }
        let Some(at) = self.stop_of(core, |held| held == level) else { return false };
        let node = self.routes[core].stops()[at].node();
        change(&mut self.nodes[node].cache.as_mut().expect("the stop has a cache").ways);
        true
    }

    /// Loads a line into one of these ways of a level and locks it, at no cost in time. It then never leaves that cache
    /// by replacement; a filter or an inclusive cache further out that needs its place still takes it away, and the lock
    /// with it.
    ///
    /// # Errors
    /// Why it was not locked; nothing has changed but where copies of the line lie.
    pub fn lock(
        &mut self,
        level: u8,
        core: usize,
        line: Line,
        ways: u32,
        now: Ps,
        effects: &mut Effects,
    ) -> Result<(), NotLocked> {
        let to = match self.cores[core].l2.as_ref().filter(|_| level == 2) {
            Some(l2) if l2.inclusion == Inclusion::ExclusiveOfL1d => return Err(NotLocked::GivesAway),
            Some(_) => To::Second,
            None => To::Stop(self.stop_of(core, |held| held == level).ok_or(NotLocked::NoCache)? as u8),
        };
        let cache = self.cache_at(core, to).ok_or(NotLocked::GivesAway)?;
        let ways = ways & cache.all_ways();
        if let Some(place) = cache.find(line).filter(|place| ways >> place.way & 1 == 1) {
            cache.lock(place);
            return Ok(());
        }
        if !cache.has_room(line, ways) {
            return Err(NotLocked::NoRoom);
        }
        if self.is_in_flight(line) {
            return Err(NotLocked::InFlight);
        }
        let by = &mut Transaction::new(core, now, effects);
        self.flush(by, line);
        if let Some(touched) = &mut self.sharers {
            touched.add(line, core);
        }
        let all = self.routes[core].stops().len();
        if self.take_entries(by, line, to.tracked_from(), all).is_err() {
            return Err(NotLocked::NoRoom);
        }
        let before = self.ways_at(core, to, ways);
        self.enter(by, line, 0, Want::Prefetch { level }, to, all);
        self.ways_at(core, to, before);
        let cache = self.cache_at(core, to).ok_or(NotLocked::GivesAway)?;
        let place = cache.find(line).ok_or(NotLocked::NoRoom)?;
        cache.lock(place);
        Ok(())
    }

    /// Takes ways of a core's cache of a level away from everyone who fills it: they hold locked lines.
    pub fn reserve_ways(&mut self, level: u8, core: usize, ways: u32) {
        self.change_ways(level, core, |of| of.reserve(ways));
    }

    /// Opens the locks of ways that were reserved, and returns the ways to the classes that had them. Lines stay.
    pub fn release_ways(&mut self, level: u8, core: usize, ways: u32) {
        self.change_ways(level, core, |of| of.release(ways));
        if let Some(cache) = self.level(level, core) {
            cache.unlock_ways(ways);
        }
    }

    /// The reserved ways of a core's cache of a level.
    pub fn reserved_ways(&self, level: u8, core: usize) -> Option<u32> {
        Some(self.ways_of_level(level, core)?.reserved())
    }

    /// The ways of a level that a class's data and instructions may fill, if the core has such a cache.
    pub fn ways(&self, level: u8, core: usize, class: usize) -> Option<Ways> {
        Some(self.ways_of_level(level, core)?.of(class))
    }

    /// Number of sets of a core's private or shared cache of a level, if it has such a cache.
    pub fn sets(&self, level: u8, core: usize) -> Option<usize> {
        let private = self.cores[core].l2.as_ref().filter(|_| level == 2).map(|l2| &l2.cache);
        let cache = private.or_else(|| self.shared_level(level, core).map(|(shared, _)| &shared.cache))?;
        Some(cache.sets())
    }

    fn ways_of_level(&self, level: u8, core: usize) -> Option<&ClassWays> {
        if let Some(l2) = self.cores[core].l2.as_ref().filter(|_| level == 2) {
            return Some(l2.ways());
        }
        let at = self.stop_of(core, |held| held == level)?;
        Some(&self.nodes[self.routes[core].stops()[at].node()].cache.as_ref()?.ways)
    }

    /// A core's private or shared cache of a level.
    fn level(&mut self, level: u8, core: usize) -> Option<&mut Cache> {
        if level == 2 && self.cores[core].l2.is_some() {
            return self.cores[core].l2.as_mut().map(|l2| &mut l2.cache);
        }
        let at = self.stop_of(core, |held| held == level)?;
        let node = self.routes[core].stops()[at].node();
        self.nodes[node].cache.as_mut().map(|shared| &mut shared.cache)
    }

    /// Opens all locks of a level, in all its caches. Lines stay.
    pub fn unlock_all(&mut self, level: u8) {
        for l2 in self.cores.iter_mut().filter_map(|core| core.l2.as_mut()).filter(|_| level == 2) {
            l2.cache.unlock_all();
        }
        let shared = self.nodes.iter_mut().filter_map(|node| node.cache.as_mut());
        shared.filter(|shared| shared.level == level).for_each(|shared| shared.cache.unlock_all());
    }

    /// Takes a line out of all data and unified caches; what was changed is written to memory, on the way of a core.
    fn flush(&mut self, by: &mut Transaction<'_>, line: Line) {
        // The last node is that of all cores.
        let flags = self.take_out(by, NodeChild::Node(self.nodes.len() - 1), line, Cause::Write, false);
        by.effects.write_to_memory(by.core, Evicted { line, flags });
    }

    /// Whether an access is answered by a cache of the core up to a level.
    pub fn is_within(&self, core: usize, line: Line, want: Want, level: u8) -> bool {
        let private = &self.cores[core];
        let first = if want == Want::Fetch { &private.l1i } else { &private.l1d };
        let holds = |stop: &crate::caches::node::Stop| {
            let shared = self.nodes[stop.node()].cache.as_ref();
            shared.is_some_and(|shared| shared.level <= level && shared.cache.find(line).is_some())
        };
        first.find(line).is_some()
            || line >= self.on_chip_from
            || private.l2.as_ref().is_some_and(|l2| l2.cache.find(line).is_some())
            || self.routes[core].stops().iter().any(holds)
    }

    /// The shared cache of a level that a core uses, and its cores, one bit each.
    pub fn shared_level(&self, level: u8, core: usize) -> Option<(&SharedLevel, u32)> {
        let at = self.stop_of(core, |held| held == level)?;
        let node = &self.nodes[self.routes[core].stops()[at].node()];
        Some((node.cache.as_ref()?, node.cores))
    }

    /// Lines that the shared cache of a level holds which a core uses, by the class of who brought them in.
    pub fn occupancy(&self, level: u8, core: usize) -> Option<[u64; MOST_CLASSES]> {
        let (shared, _) = self.shared_level(level, core)?;
        let mut lines = [0; MOST_CLASSES];
        shared.cache.flags_held().for_each(|flags| lines[class_of(flags)] += 1);
        Some(lines)
    }

    /// The cache at a place that can lock lines.
    fn cache_at(&mut self, core: usize, to: To) -> Option<&mut Cache> {
        match to {
            To::Second => self.cores[core].l2.as_mut().map(|l2| &mut l2.cache),
            To::Stop(at) => {
                let node = self.routes[core].stops()[usize::from(at)].node();
                let shared = self.nodes[node].cache.as_mut();
                shared.filter(|shared| shared.takes_inward()).map(|shared| &mut shared.cache)
            }
            To::First | To::Instructions | To::Memory => None,
        }
    }

    /// Lets a core's data fill these ways at a place; returns those before.
    fn ways_at(&mut self, core: usize, to: To, ways: u32) -> u32 {
        let class = usize::from(self.label(core).class);
        match to {
            To::Stop(at) => {
                let node = self.routes[core].stops()[usize::from(at)].node();
                self.nodes[node].cache.as_mut().map_or(0, |shared| shared.ways.swap_data(class, ways))
            }
            _ => self.cores[core].l2.as_mut().map_or(0, |l2| std::mem::replace(&mut l2.data_ways, ways)),
        }
    }

    fn is_in_flight(&self, line: Line) -> bool {
        self.in_flight.contains(line) || self.nodes.iter().any(|node| node.awaits(line))
    }

    /// Allows or forbids the no-allocate mode of shared caches; false if none has one.
    pub fn set_no_allocate_mode(&mut self, allowed: bool, now: Ps) -> bool {
        let modes = self.nodes.iter_mut().filter_map(|node| node.mode.as_mut());
        modes.map(|mode| mode.set_enabled(allowed, now)).count() > 0
    }

    /// How long no-allocate modes were on up to `now`, and how often they began.
    pub fn no_allocate_totals(&self, now: Ps) -> (Ps, u64) {
        let totals = self.nodes.iter().filter_map(|node| Some(node.mode.as_ref()?.totals(now)));
        totals.fold((Ps::ZERO, 0), |sum, total| (sum.0 + total.0, sum.1 + total.1))
    }
}
