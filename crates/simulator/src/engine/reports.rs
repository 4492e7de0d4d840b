//! What an engine reports: its time, its counters, what caches hold, and why samples took so long.

use waykeeper_platform::CoreId;

use crate::core::mshrs::MOST_MSHRS;
use crate::engine::controls::TARGET_CLASS;
use crate::engine::programs::Role;
use crate::engine::{Engine, build};
use crate::memory::Handle;
use crate::observe::counters::{CoreCounters, Counters};
use crate::observe::explain::{Explained, Explainer};
use crate::observe::label::MOST_CLASSES;
use crate::time::Ps;

impl Engine {
    /// What was counted since time 0.
    pub fn counters(&self) -> Counters {
        let hierarchy = &self.world.hierarchy;
        let mut shared = hierarchy.shared_counts;
        let (on, entries) = hierarchy.no_allocate_totals(self.now);
        (shared.no_allocate_ps, shared.no_allocate_entries) = (on.get(), entries);
        Counters {
            cores: self
                .cores
                .iter()
                .zip(&hierarchy.counts)
                .map(|(core, counts)| {
                    (*core, CoreCounters { skipped_accesses: self.skipped_accesses(*core), ..*counts })
                })
                .collect(),
            fronts: self.running.iter().map(|program| (self.cores[program.core()], program.front_counters())).collect(),
            shared,
            memory: self.world.memory.counts(),
            classes: self.world.memory.counts_by_class()[..=usize::from(TARGET_CLASS)].to_vec(),
        }
    }

    /// Remembers from now on what the target's core waits for, and explains the `most` longest samples that begin at
    /// `from_ps` or later. Samples and counters are the same with and without, but for the misses by cause, which are
    /// counted from now on. False if there is no target that takes samples, all of each.
    pub fn explain(&mut self, most: usize, from_ps: u64) -> bool {
        let Some(target) = self.programs.iter().position(|program| program.role == Role::Target) else { return false };
        if !self.running[target].measures_all() {
            return false;
        }
        let port = self.running[target].port();
        port.explains = true;
        let first = (port.core * MOST_MSHRS) as Handle;
        self.world.hierarchy.watch(port.core);
        self.world.memory.follow(first..first + MOST_MSHRS as Handle);
        self.world.explainer = Some(Box::new(Explainer::new(most, Ps::new(from_ps))));
        true
    }

    /// The longest samples so far, the longest first, if [`Engine::explain`] asked for them.
    pub fn longest(&self) -> &[Explained] {
        self.world.explainer.as_ref().map_or(&[], |explainer| explainer.longest())
    }

    /// The platform's number of the core with an index, as in [`crate::observe::losses::Lost`].
    pub fn core_id(&self, index: usize) -> CoreId {
        self.cores[index]
    }

    /// Lines of the shared cache of a level that a core uses, by the class of who brought them in; none where it has no
    /// such cache.
    pub fn occupancy(&self, level: u8, core: CoreId) -> Option<[u64; MOST_CLASSES]> {
        self.world.hierarchy.occupancy(level, self.index_of(core)?)
    }

    /// The ways of the cache of a level that a core fills with data, one bit each; none where it has no such cache.
    pub fn ways(&self, level: u8, core: CoreId) -> Option<u32> {
        let (hierarchy, core) = (&self.world.hierarchy, self.index_of(core)?);
        Some(hierarchy.ways(level, core, usize::from(hierarchy.label(core).class))?[0])
    }

    /// Nanoseconds between two values of the counter that targets read: whole picoseconds.
    pub fn tick_ns(&self) -> f64 {
        self.platform.counter.as_ref().map_or(1.0, build::counter_tick_ns)
    }

    /// The present time in picoseconds.
    pub fn now_ps(&self) -> u64 {
        (self.now + self.skipped()).get()
    }
}
