//! The engine: programs on cores, in front of the hierarchy and the memory, in one order of time.
//!
//! There is no event queue. Whoever acts next is found by comparing a few times: the memory's next command or answer,
//! and one time for each program. A program runs ahead of the others only while its own first level answers.

use waykeeper_platform::{CoreId, Platform};
use waykeeper_workload::{Pattern, Xorshift};

use crate::bits::bits;
use crate::build::{self, need};
use crate::cache::MOST_CLASSES;
use crate::controls::{TARGET_CLASS, at_start, settings_of};
use crate::counters::{CoreCounters, Counters};
use crate::explain::{Explained, Explainer};
use crate::fast::Later;
use crate::memory::{Handle, Source};
use crate::port::{MOST_SLOTS, NEVER, World};
use crate::programs::{Program, Role, check_programs};
use crate::refused::Refused;
use crate::running::Running;
use crate::samples::{Discard, Samples};
use crate::skip::Skip;
use crate::start::Starter;
use crate::tags::Line;

/// A platform with programs on it, at some time.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(crate) platform: Platform,
    pub(crate) cores: Vec<CoreId>,
    pub(crate) world: World,
    pub(crate) running: Vec<Running>,
    /// When each program acts next: a copy, so that finding the first one touches little memory.
    pub(crate) wakes: Vec<u64>,
    /// The program of each core.
    on_core: Vec<usize>,
    /// The programs whose ports wait for an entry of a filter, one bit each.
    blocked: u32,
    pub(crate) roles: Vec<Role>,
    /// What each program does.
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) line_bytes: u64,
    pub(crate) now: u64,
    /// The fast path, if it is on.
    pub(crate) skip: Option<Box<Skip>>,
}

impl Engine {
    /// An engine at time 0 with empty caches. The seed decides where buffers lie, when neighbours begin and every
    /// random choice: the same seed gives the same samples, bit by bit.
    ///
    /// # Errors
    /// What the platform lacks, mitigations it does not know, workloads that cannot run or do not fit into its memory.
    pub fn new(platform: &Platform, programs: &[Program], mitigations: &[&str], seed: u64) -> Result<Self, Refused> {
        let settings = settings_of(platform, mitigations)?;
        let platform = &at_start(platform, &settings)?;
        let cores = platform.core_ids();
        check_programs(platform, programs)?;
        let mut random = Xorshift::new(seed);
        let mut world = World {
            hierarchy: build::hierarchy(platform, random.next_u64())?,
            memory: build::memory(platform, need(&platform.memory, "memory")?, &mut random)?,
            watched: 0,
            misses: build::misses(platform),
            has_room: false,
            explainer: None,
        };
        let mut starter = Starter::new(platform, &settings, programs.len(), random)?;
        let mut running = Vec::new();
        for program in programs {
            let core = cores.iter().position(|core| *core == program.core).expect("the programs were checked");
            running.push(starter.start(program, core)?);
        }
        if let Some(address) = starter.on_chip_from() {
            world.hierarchy.set_on_chip_from((address / platform.line_bytes.value) as Line);
        }
        for program in &running {
            if let Running::Tick(tick) = program {
                world.watched |= 1 << tick.port.core;
            }
        }
        for (program, role) in running.iter_mut().zip(programs.iter().map(|program| program.role)) {
            if role.is_target() {
                program.port().class = TARGET_CLASS;
                world.hierarchy.set_class(program.core(), TARGET_CLASS);
            }
        }
        let mut engine = Self {
            platform: platform.clone(),
            world,
            wakes: running.iter().map(Running::wake).collect(),
            on_core: (0..cores.len())
                .map(|core| running.iter().position(|at| at.core() == core).unwrap_or(0))
                .collect(),
            blocked: 0,
            cores,
            running,
            roles: programs.iter().map(|program| program.role).collect(),
            patterns: programs.iter().map(|program| program.pattern.clone()).collect(),
            line_bytes: platform.line_bytes.value,
            now: 0,
            skip: None,
        };
        engine.apply(&settings)?;
        Ok(engine)
    }

    /// Runs until this time, in picoseconds.
    pub fn advance(&mut self, until_ps: u64, samples: &mut dyn Samples) {
        let skipped = self.skipped_ps();
        let mut until_ps = until_ps.saturating_sub(skipped);
        let mut samples = Later { samples, by: skipped };
        let samples = &mut samples;
        loop {
            if self.skip.as_ref().is_some_and(|skip| skip.is_due(self.now)) {
                let skipped = self.try_skip(until_ps, samples);
                self.settle(samples);
                until_ps -= skipped;
                samples.by += skipped;
            }
            let (first, wake, next_wake) = self.first_program();
            if self.run_memory(wake.min(until_ps)) {
                self.settle(samples);
                continue;
            }
            if wake > until_ps {
                break;
            }
            self.now = wake;
            let horizon = until_ps.min(next_wake).min(self.world.memory.next_time());
            self.step_program(first, horizon, samples);
            self.settle(samples);
        }
        self.now = self.now.max(until_ps);
        for (program, role) in self.running.iter_mut().zip(&self.roles) {
            if let Running::Tick(tick) = program {
                tick.count_quiet_passes(until_ps, sink(*role, samples, &mut Discard));
            }
        }
    }

    /// The program that acts next (the earlier one in the list, if there are several), when it does, and when one of
    /// the others does.
    #[inline]
    fn first_program(&self) -> (usize, u64, u64) {
        let (mut first, mut wake, mut next_wake) = (0, NEVER, NEVER);
        for (index, at) in self.wakes.iter().copied().enumerate() {
            next_wake = next_wake.min(wake.max(at));
            first = if at < wake { index } else { first };
            wake = wake.min(at);
        }
        (first, wake, next_wake)
    }

    /// Lets the memory act up to its next answer, or up to `until` if there is none before; true after an answer.
    /// Nobody else notices a command.
    #[inline]
    fn run_memory(&mut self, until: u64) -> bool {
        loop {
            let now = self.world.memory.next_time();
            if now > until {
                return false;
            }
            self.now = now;
            if let Some(handle) = self.world.memory.step(now) {
                self.answer(handle, now);
                return true;
            }
        }
    }

    #[inline]
    fn answer(&mut self, handle: Handle, now: u64) {
        let (core, slot) = (handle as usize / MOST_SLOTS, handle as usize % MOST_SLOTS);
        let answered = self.on_core[core];
        let program = &mut self.running[answered];
        let filled = program.port().answer(slot, &mut self.world, self.line_bytes, now);
        match program {
            Running::Stream(stream) => stream.answered(slot, &mut self.world, now),
            Running::Tick(tick) => tick.answered(slot, &mut self.world, now),
        }
        self.wakes[answered] = program.wake();
        if self.blocked != 0 {
            self.retry(Some(filled), now);
        }
    }

    /// Lets programs try again whose requests may now go on: after a fill, or as a shared cache has room.
    fn retry(&mut self, filled: Option<Line>, now: u64) {
        for index in bits(self.blocked) {
            let program = &mut self.running[index];
            let Some(at) = program.port().retry_after(filled, &mut self.world, now) else { continue };
            match program {
                Running::Stream(stream) => stream.unblocked(&mut self.world, at),
                Running::Tick(tick) => tick.unblocked(&mut self.world, at),
            }
            self.wakes[index] = program.wake();
            self.blocked &= !(1 << index);
        }
    }

    #[inline]
    fn step_program(&mut self, index: usize, horizon: u64, samples: &mut dyn Samples) {
        let mut discard = Discard;
        let samples = sink(self.roles[index], samples, &mut discard);
        match &mut self.running[index] {
            Running::Stream(stream) => self.now = stream.run(&mut self.world, horizon, samples),
            Running::Tick(tick) => tick.run(&mut self.world, samples),
        }
        self.wakes[index] = self.running[index].wake();
        self.blocked |= u32::from(self.running[index].port().is_blocked()) << index;
    }

    /// Passes on what the last step caused: writes to memory, and lines that cores lost.
    #[inline]
    fn settle(&mut self, samples: &mut dyn Samples) {
        if self.world.is_settled() {
            self.world.hierarchy.disturbed = 0;
        } else {
            self.pass_on(samples);
        }
    }

    #[inline(never)]
    fn pass_on(&mut self, samples: &mut dyn Samples) {
        while let Some((line, class)) = self.world.hierarchy.writes.pop() {
            self.world.memory.write(line, Source { class, ..Source::default() }, self.now);
        }
        if std::mem::take(&mut self.world.has_room) {
            self.retry(None, self.now);
        }
        let disturbed = std::mem::take(&mut self.world.hierarchy.disturbed) & self.world.watched;
        if disturbed == 0 {
            return;
        }
        for (index, program) in self.running.iter_mut().enumerate() {
            if let Running::Tick(tick) = program
                && disturbed >> tick.port.core & 1 == 1
            {
                tick.disturbed(self.now, sink(self.roles[index], samples, &mut Discard));
                self.wakes[index] = tick.wake;
            }
        }
    }

    /// What was counted since time 0.
    pub fn counters(&self) -> Counters {
        let hierarchy = &self.world.hierarchy;
        let mut shared = hierarchy.shared_counts;
        (shared.no_allocate_ps, shared.no_allocate_entries) = hierarchy.no_allocate_totals(self.now);
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
    /// counted from now on. False if there is no target that takes samples.
    pub fn explain(&mut self, most: usize, from_ps: u64) -> bool {
        let Some(target) = self.roles.iter().position(|role| *role == Role::Target) else { return false };
        let port = self.running[target].port();
        port.explains = true;
        let first = (port.core * MOST_SLOTS) as Handle;
        self.world.hierarchy.watch(port.core);
        self.world.memory.follow(first..first + MOST_SLOTS as Handle);
        self.world.explainer = Some(Box::new(Explainer::new(most, from_ps)));
        true
    }

    /// The longest samples so far, the longest first, if [`Engine::explain`] asked for them.
    pub fn longest(&self) -> &[Explained] {
        self.world.explainer.as_ref().map_or(&[], |explainer| explainer.longest())
    }

    /// The platform's number of the core with an index, as in [`crate::losses::Lost`].
    pub fn core_id(&self, index: usize) -> CoreId {
        self.cores[index]
    }

    /// Lines of the shared cache of a level that a core uses, by the class of who brought them in; none where it has no
    /// such cache.
    pub fn occupancy(&self, level: u8, core: CoreId) -> Option<[u64; MOST_CLASSES]> {
        let core = self.cores.iter().position(|at| *at == core)?;
        self.world.hierarchy.occupancy(level, core)
    }

    /// Nanoseconds between two values of the counter that targets read.
    pub fn tick_ns(&self) -> f64 {
        self.platform.counter.as_ref().map_or(1.0, |counter| counter.tick_ns.value)
    }

    /// The present time in picoseconds.
    pub fn now_ps(&self) -> u64 {
        self.now + self.skipped_ps()
    }
}

fn sink<'a>(role: Role, samples: &'a mut dyn Samples, discard: &'a mut Discard) -> &'a mut dyn Samples {
    match role {
        Role::Target => samples,
        Role::Throughput | Role::Neighbour => discard,
    }
}
