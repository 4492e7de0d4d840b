//! What settings of controls do to an engine.

use waykeeper_platform::{Clocks, CoreKind, Lock, Locked, Priority, Settings, WayGroups};

use crate::caches::hierarchy::NotLocked;
use crate::core::front::Front;
use crate::core::front::translation::Side;
use crate::core::program::EventLine;
use crate::core::world::World;
use crate::engine::controls::{OTHERS_CLASS, TARGET_CLASS, ways_of_groups};
use crate::engine::running::Running;
use crate::engine::{Engine, build, start};
use crate::refused::Refused;
use crate::time::Ps;

impl Engine {
    /// Sets controls at the present time; what `settings` leaves open stays as it is. Lines stay where they are.
    ///
    /// # Errors
    /// A control that the platform lacks, and what decides where memory lies and so cannot change later. Then nothing is set.
    pub fn set_control(&mut self, settings: &Settings) -> Result<(), Refused> {
        let at_start_only = [
            ("colouring", settings.colouring.is_some()),
            ("memory", settings.memory.is_some()),
            ("page_kib", settings.page_kib.is_some()),
            ("on_chip_ram", settings.on_chip_ram.is_some()),
            ("lock", settings.lock.as_ref().is_some_and(|lock| lock.what == Locked::Buffer)),
        ];
        if let Some((key, _)) = at_start_only.into_iter().find(|(_, given)| *given) {
            return Err(Refused::new(key, "the memory is given out already; name the mitigation at the start"));
        }
        let before = self.clone();
        if let Err(refused) = self.apply(settings) {
            *self = before;
            return Err(refused);
        }
        self.settings = self.settings.then(settings);
        Ok(())
    }

    /// Sets what can be set at any time.
    pub(crate) fn apply(&mut self, settings: &Settings) -> Result<(), Refused> {
        if let Some(allowed) = settings.no_allocate_mode
            && !self.world.hierarchy.set_no_allocate_mode(allowed, self.now)
        {
            return Err(Refused::new("no_allocate_mode", "no shared cache has such a mode"));
        }
        if let Some(groups) = &settings.way_groups {
            self.set_way_groups("way_groups", groups)?;
        }
        if let Some(groups) = &settings.l2_way_groups {
            self.set_way_groups("l2_way_groups", groups)?;
        }
        if let Some(priority) = settings.priority {
            self.set_priority(priority)?;
        }
        if let Some(ns) = settings.write_age_ns {
            if !ns.is_finite() || ns <= 0.0 {
                return Err(Refused::new("write_age_ns", format!("{ns} is not above zero")));
            }
            self.world.memory.set_write_age(Ps::from_ns(ns), self.now);
        }
        if let Some(allocation) = settings.memory_cache
            && !self.world.memory.set_memory_cache(allocation.read, allocation.dirty_write)
        {
            return Err(Refused::new("memory_cache", "the interconnect has no memory cache"));
        }
        if let Some(bandwidth) = &settings.bandwidth {
            for (class, share) in [(OTHERS_CLASS, bandwidth.others), (TARGET_CLASS, bandwidth.target)] {
                if !self.world.memory.set_bandwidth(class, share, bandwidth.enabled, self.now) {
                    return Err(Refused::new("bandwidth", "no shared cache has a `bandwidth_control`"));
                }
            }
        }
        if let Some(clocks) = settings.clock_ghz {
            self.set_clocks(clocks)?;
        }
        self.set_fronts(settings)?;
        if let Some(lock) = &settings.lock {
            self.lock(lock)?;
        }
        Ok(())
    }

    /// Index of the program that is measured.
    fn target(&self) -> Option<usize> {
        self.programs.iter().position(|program| program.role.is_target())
    }

    /// Assigns the ways of a level to the target's core and to the others: in each core's own cache of that level.
    fn set_way_groups(&mut self, key: &str, groups: &WayGroups) -> Result<(), Refused> {
        let last = self.platform.shared_caches.iter().map(|cache| cache.level).max().unwrap_or(0);
        let level = if key == "way_groups" { last } else { 2 };
        if level == 0 || (key != "way_groups" && last == 2) {
            return Err(Refused::new(key, "no cache of that level has way groups of its own"));
        }
        let target = self.target().map(|at| self.running[at].core());
        let mut masks = Vec::new();
        for core in 0..self.cores.len() {
            let Some((count, ways)) = build::way_groups(&self.platform, core, level)? else { continue };
            let (data, code) = match Some(core) == target {
                true => (&groups.target, &groups.target_code),
                false => (&groups.others, &groups.others_code),
            };
            let code = code.as_ref().unwrap_or(data);
            for list in [data, code] {
                if list.is_empty() {
                    return Err(Refused::new(key, "a class needs at least one group"));
                }
                if let Some(group) = list.iter().find(|group| u64::from(**group) >= count) {
                    let why = format!("core {} has no group {group}; it has {count}", self.cores[core]);
                    return Err(Refused::new(key, why));
                }
            }
            masks.push((core, [data, code].map(|list| ways_of_groups(list, count, ways))));
        }
        if masks.is_empty() {
            return Err(Refused::new(key, "no cache of that level has way groups"));
        }
        for (core, ways) in masks {
            let class = if Some(core) == target { TARGET_CLASS } else { OTHERS_CLASS };
            self.world.hierarchy.set_ways(level, core, usize::from(class), ways);
        }
        self.everyone_has_ways(key, level)
    }

    /// Locked ways may leave a class none.
    pub(crate) fn everyone_has_ways(&self, key: &str, level: u8) -> Result<(), Refused> {
        let hierarchy = &self.world.hierarchy;
        let of = |core: usize| hierarchy.ways(level, core, usize::from(hierarchy.label(core).class));
        let none = |core: &usize| of(*core).is_some_and(|ways| ways.contains(&0));
        match (0..self.cores.len()).find(none) {
            Some(core) => {
                let why = format!("core {} would have no way left to fill at level {level}", self.cores[core]);
                Err(Refused::new(key, why))
            }
            None => Ok(()),
        }
    }

    fn set_priority(&mut self, priority: Priority) -> Result<(), Refused> {
        if !self.platform.memory.as_ref().is_some_and(|memory| memory.scheduler.priorities.value) {
            return Err(Refused::new("priority", "the memory has no priorities"));
        }
        if let Some(at) = self.target() {
            self.running[at].port().first = priority == Priority::TargetFirst;
        }
        Ok(())
    }

    fn set_clocks(&mut self, clocks: Clocks) -> Result<(), Refused> {
        (0..self.running.len()).try_for_each(|index| self.set_clock(index, clocks))
    }

    fn set_clock(&mut self, index: usize, clocks: Clocks) -> Result<(), Refused> {
        let Some(ghz) = (if Some(index) == self.target() { clocks.target } else { clocks.others }) else {
            return Ok(());
        };
        if !ghz.is_finite() || ghz <= 0.0 {
            return Err(Refused::new("clock_ghz", format!("{ghz} GHz are not above zero")));
        }
        let program = &mut self.running[index];
        let latencies = build::latencies(&self.platform, program.core(), Some(ghz))?;
        program.set_latencies(latencies, 1.0 / ghz);
        if let Running::Stream(stream) = program {
            let (at, kind) = build::kind_of(&self.platform, self.cores[stream.port.core])?;
            stream.set_base(start::base(&self.programs[index].pattern, kind, at, Some(ghz))?);
        }
        self.wakes.change(index, program.wake());
        Ok(())
    }

    /// What was set for all cores holds for a program that starts later, too.
    pub(crate) fn fit(&mut self, index: usize) -> Result<(), Refused> {
        let settings = self.settings.clone();
        if let Some(clocks) = settings.clock_ghz {
            self.set_clock(index, clocks)?;
        }
        if let Some(priority) = settings.priority
            && Some(index) == self.target()
        {
            self.running[index].port().first = priority == Priority::TargetFirst;
        }
        if let Some(front) = self.running[index].front() {
            switch(front, &settings);
        }
        Ok(())
    }

    /// What cores do before their caches.
    fn set_fronts(&mut self, settings: &Settings) -> Result<(), Refused> {
        self.running.iter_mut().filter_map(Running::front).for_each(|front| switch(front, settings));
        let has = |part: fn(&CoreKind) -> bool| self.platform.cores.iter().any(part);
        if settings.prefetchers.is_some() && !has(|kind| !kind.prefetchers.is_empty()) {
            return Err(Refused::new("prefetchers", "no core has any"));
        }
        if settings.write_streaming.is_some() && !has(|kind| kind.write_streaming.is_some()) {
            return Err(Refused::new("write_streaming", "no core does it"));
        }
        if settings.tlb_lock == Some(true) { self.lock_pages() } else { Ok(()) }
    }

    /// Puts the pages of the target's event into lockable entries of the TLBs.
    fn lock_pages(&mut self) -> Result<(), Refused> {
        let refuse = |why: String| Err(Refused::new("tlb_lock", why));
        let event = self.event("tlb_lock")?;
        let Some(at) = self.target() else { return Ok(()) };
        let devices = match &self.running[at] {
            Running::Stream(stream) => stream.devices.clone(),
            Running::Tick(_) => Vec::new(),
        };
        let front = self.running[at].front();
        let Some(translation) = front.and_then(|front| front.translation.as_mut()) else {
            return refuse("the target's accesses are not translated, or its few pages stay in its first TLB".into());
        };
        let mut pages = Vec::new();
        for line in event {
            let page = (line.side, translation.page(line.address));
            if !pages.contains(&page) {
                pages.push(page);
            }
        }
        pages.extend(devices.into_iter().map(|page| (Side::Data, page)));
        if translation.lock(&pages) {
            return Ok(());
        }
        refuse(format!("the event's {} pages do not fit into the lockable entries of the target's TLBs", pages.len()))
    }

    /// Loads lines of the target into ways that nobody fills any more.
    fn lock(&mut self, lock: &Lock) -> Result<(), Refused> {
        let refuse = |why: String| Err(Refused::new("lock", why));
        let Some(at) = self.target() else { return Ok(()) };
        let core = self.running[at].core();
        let mut lines = match (lock.what, &self.programs[at].pattern, &self.running[at]) {
            (Locked::Buffer, pattern, Running::Stream(stream)) if pattern.data_bytes() > 0 => {
                stream.buffer_lines(pattern.data_bytes(), self.line_bytes)
            }
            (Locked::Buffer, ..) => return refuse("the target has no buffer".into()),
            (Locked::Event, ..) => self.event("lock")?.into_iter().map(|line| line.line).collect(),
        };
        lines.truncate(lock.lines.map_or(usize::MAX, |lines| lines as usize));
        let Some((count, ways)) = build::way_groups(&self.platform, core, lock.level)? else {
            return refuse(format!("the target has no cache of level {} with way groups", lock.level));
        };
        if let Some(group) = lock.groups.iter().find(|group| u64::from(**group) >= count) {
            return refuse(format!("there is no group {group}; the groups are 0 to {}", count - 1));
        }
        let mask = ways_of_groups(&lock.groups, count, ways);
        for (number, line) in lines.iter().enumerate() {
            let World { hierarchy, effects, .. } = &mut self.world;
            if let Err(why) = hierarchy.lock(lock.level, core, *line, mask, self.now, effects) {
                let why = self.why_not_locked(why, lock, core, lines.len(), mask);
                return refuse(format!("line {number} of {} was not locked: {why}", lines.len()));
            }
        }
        self.world.hierarchy.reserve_ways(lock.level, core, mask);
        self.everyone_has_ways("lock", lock.level)
    }

    /// Why not all of so many lines could be locked in these ways, in words.
    fn why_not_locked(&self, why: NotLocked, lock: &Lock, core: usize, lines: usize, ways: u32) -> String {
        let level = lock.level;
        let room = self.world.hierarchy.sets(level, core).unwrap_or(0) * ways.count_ones() as usize;
        let kib = |lines: usize| lines as u64 * self.line_bytes / 1024;
        match why {
            NotLocked::NoCache => format!("the target's core has no cache of level {level}"),
            NotLocked::GivesAway => {
                format!("the cache of level {level} gives away the lines that are used, so it can lock none")
            }
            NotLocked::InFlight => "it is on its way from the memory just now; try again later".into(),
            NotLocked::NoRoom if room < lines => {
                format!("they are {} KiB, and these groups hold {}", kib(lines), kib(room))
            }
            NotLocked::NoRoom => {
                "these groups have no room left in its set; fewer lines, or more groups, would do".into()
            }
        }
    }

    /// The lines of the target's event.
    fn event(&self, key: &str) -> Result<Vec<EventLine>, Refused> {
        let Some(at) = self.target() else { return Ok(Vec::new()) };
        let event = self.running[at].event(&self.programs[at].pattern);
        match event.is_empty() {
            true => Err(Refused::new(key, "the target has no event; a `random` workload with event lines has")),
            false => Ok(event),
        }
    }
}

/// Switches parts of a core's front on or off.
fn switch(front: &mut Front, settings: &Settings) {
    if let (Some(enabled), Some(prefetchers)) = (settings.prefetchers, &mut front.prefetchers) {
        prefetchers.enabled = enabled;
    }
    if let (Some(enabled), Some(streaming)) = (settings.write_streaming, &mut front.streaming) {
        streaming.enabled = enabled;
    }
}
