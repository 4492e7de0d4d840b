//! What settings of controls do to an engine.

use waykeeper_platform::{Clocks, Locked, Priority, Settings, WayGroups};

use crate::build::{self, ps};
use crate::controls::ways_of_groups;
use crate::engine::Engine;
use crate::refused::Refused;

impl Engine {
    /// Sets controls at the present time; what `settings` leaves open stays as it is. Lines stay where they are.
    ///
    /// # Errors
    /// A control that the platform lacks, and what decides where memory lies and so cannot change later.
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
        self.apply(settings)
    }

    /// Sets what can be set at any time.
    pub(crate) fn apply(&mut self, settings: &Settings) -> Result<(), Refused> {
        self.not_yet(settings)?;
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
            self.world.memory.set_write_age(ps(ns), self.now);
        }
        if let Some(clocks) = settings.clock_ghz {
            self.set_clocks(clocks)?;
        }
        Ok(())
    }

    /// Controls that platforms can describe and this engine does not have.
    fn not_yet(&self, settings: &Settings) -> Result<(), Refused> {
        let given = [
            ("lock", settings.lock.is_some()),
            ("tlb_lock", settings.tlb_lock.is_some()),
            ("page_kib", settings.page_kib.is_some()),
            ("on_chip_ram", settings.on_chip_ram.is_some()),
            ("bandwidth", settings.bandwidth.is_some()),
            ("prefetchers", settings.prefetchers.is_some()),
            ("write_streaming", settings.write_streaming.is_some()),
            ("memory_cache", settings.memory_cache.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(Refused::new(key, "this control cannot be simulated so far")),
            None => Ok(()),
        }
    }

    /// Index of the program that is measured.
    fn target(&self) -> Option<usize> {
        self.roles.iter().position(|role| role.is_target())
    }

    /// Gives the ways of a level to the target's core and to the others: in each core's own cache of that level.
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
        for (core, [data, code]) in masks {
            self.world.hierarchy.set_ways(level, core, data, code);
        }
        Ok(())
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
        let target = self.target();
        for (index, program) in self.running.iter_mut().enumerate() {
            let Some(ghz) = (if Some(index) == target { clocks.target } else { clocks.others }) else { continue };
            if !ghz.is_finite() || ghz <= 0.0 {
                return Err(Refused::new("clock_ghz", format!("{ghz} GHz are not above zero")));
            }
            let latencies = build::latencies(&self.platform, program.core(), Some(ghz))?;
            program.set_latencies(latencies, 1.0 / ghz);
            self.wakes[index] = program.wake();
        }
        Ok(())
    }
}
