//! The engine: programs on cores, in front of the hierarchy and the memory, in one order of time.
//!
//! There is no event queue. Whoever acts next is found by comparing a few times: the memory's next command or answer,
//! and one time for each program. A program runs ahead of the others only while its own first level answers.

use waykeeper_platform::{CoreId, Platform, Settings};
use waykeeper_workload::Xorshift;

use crate::bits::bits;
use crate::build::{self, need};
use crate::code::Code;
use crate::controls::{TARGET_CLASS, at_start, settings_of};
use crate::counters::{CoreCounters, Counters};
use crate::explain::{Explained, Explainer};
use crate::fast::Later;
use crate::hierarchy::Write;
use crate::label::{Label, MOST_CLASSES};
use crate::memories::Memory;
use crate::memory::{Handle, Source};
use crate::port::{MOST_SLOTS, NEVER, Port, World};
use crate::programs::{Program, Role, check_programs};
use crate::refused::Refused;
use crate::regions::Region;
use crate::running::Running;
use crate::samples::{Samples, Sink};
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
    /// The program of each core, or [`IDLE`].
    on_core: Vec<usize>,
    /// The programs whose ports wait for an entry of a filter, one bit each.
    blocked: u32,
    /// What each program is.
    pub(crate) programs: Vec<Program>,
    /// The memory of each program.
    pub(crate) given: Vec<Vec<u64>>,
    /// What the core of each program had counted when it started.
    pub(crate) at_start: Vec<CoreCounters>,
    /// By core, what a stopped program has left outstanding.
    pub(crate) ports: Vec<Option<Box<Port>>>,
    pub(crate) starter: Starter,
    /// What is set for all cores.
    pub(crate) settings: Settings,
    /// Pseudo-locked regions, by number.
    pub(crate) regions: Vec<Region>,
    /// Memory of no program in particular, by number.
    pub(crate) memories: Vec<Option<Memory>>,
    pub(crate) line_bytes: u64,
    pub(crate) now: u64,
    /// The fast path, if it is on.
    pub(crate) skip: Option<Box<Skip>>,
}

/// A core on which no program runs.
const IDLE: usize = usize::MAX;

impl Engine {
    /// An engine on which no program runs yet: [`Engine::start_program`] starts one. Each core has the same share of the
    /// memory.
    ///
    /// # Errors
    /// What the platform lacks.
    pub fn idle(platform: &Platform, seed: u64) -> Result<Self, Refused> {
        Self::new(platform, &[], &[], seed)
    }

    /// An engine at time 0 with empty caches. The seed decides where buffers lie, when neighbours begin and every
    /// random choice: the same seed gives the same samples, bit by bit.
    ///
    /// # Errors
    /// What the platform lacks, mitigations it does not know, workloads that cannot run or do not fit into its memory.
    pub fn new(platform: &Platform, programs: &[Program], mitigations: &[&str], seed: u64) -> Result<Self, Refused> {
        let settings = settings_of(platform, mitigations)?;
        let platform = &at_start(platform, &settings)?;
        let cores = platform.core_ids();
        build::nothing_is_missing(platform)?;
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
        // One more for regions that no program has.
        let shares = if programs.is_empty() { cores.len() + 1 } else { programs.len() };
        let mut starter = Starter::new(platform, &settings, shares, random)?;
        let (mut running, mut given) = (Vec::new(), Vec::new());
        for program in programs {
            let core = cores.iter().position(|core| *core == program.core).expect("the programs were checked");
            let (started, memory) = starter.start(program, core, None, 0)?;
            running.push(started);
            given.push(memory);
        }
        if let Some(address) = starter.on_chip_from() {
            world.hierarchy.set_on_chip_from((address / platform.line_bytes.value) as Line);
        }
        for (program, role) in running.iter_mut().zip(programs.iter().map(|program| program.role)) {
            if role.is_target() {
                let label = Label { class: TARGET_CLASS, monitor: 0 };
                program.port().label = label;
                world.hierarchy.set_label(program.core(), label);
            }
        }
        let mut engine = Self {
            platform: platform.clone(),
            world,
            wakes: Vec::new(),
            on_core: Vec::new(),
            blocked: 0,
            ports: vec![None; cores.len()],
            cores,
            running,
            programs: programs.to_vec(),
            at_start: vec![CoreCounters::default(); programs.len()],
            given,
            starter,
            settings: settings.clone(),
            regions: Vec::new(),
            memories: Vec::new(),
            line_bytes: platform.line_bytes.value,
            now: 0,
            skip: None,
        };
        engine.list_programs();
        engine.apply(&settings)?;
        Ok(engine)
    }

    /// The programs that run have changed: works out anew what is known of them.
    pub(crate) fn list_programs(&mut self) {
        let place = |core: usize| self.running.iter().position(|program| program.core() == core);
        self.on_core = (0..self.cores.len()).map(|core| place(core).unwrap_or(IDLE)).collect();
        self.wakes = self.running.iter().map(Running::wake).collect();
        let line_bytes = self.platform.line_bytes.value;
        let code = self.running.iter().zip(&self.programs);
        self.world.hierarchy.code =
            Code::of(code.flat_map(|(running, program)| running.code(&program.pattern, line_bytes)));
        (self.blocked, self.world.watched) = (0, 0);
        for (index, program) in self.running.iter_mut().enumerate() {
            self.blocked |= u32::from(program.port().is_blocked()) << index;
            if let Running::Tick(tick) = program {
                self.world.watched |= 1 << tick.port.core;
            }
        }
    }

    /// Runs until this time, in picoseconds.
    pub fn advance(&mut self, until_ps: u64, samples: &mut dyn Samples) {
        let skipped = self.skipped_ps();
        let mut until_ps = until_ps.saturating_sub(skipped);
        let mut samples = Later { samples, by: skipped };
        let samples = &mut samples;
        loop {
            if self.skip.as_ref().is_some_and(|skip| skip.is_due(self.now)) && self.may_skip() {
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
        for (program, started) in self.running.iter_mut().zip(&self.programs) {
            if let Running::Tick(tick) = program {
                tick.count_quiet_passes(until_ps, &mut Sink::of(started, samples));
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
        let Some(program) = self.running.get_mut(answered) else { return self.answer_stopped(core, slot, now) };
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

    /// Memory has answered what a program had asked for that was stopped since.
    #[cold]
    fn answer_stopped(&mut self, core: usize, slot: usize, now: u64) {
        let port = self.ports[core].as_mut().expect("somebody has asked");
        let filled = port.answer(slot, &mut self.world, self.line_bytes, now);
        self.retry(Some(filled), now);
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
        let samples = &mut Sink::of(&self.programs[index], samples);
        match &mut self.running[index] {
            Running::Stream(stream) => self.now = stream.run(&mut self.world, horizon, samples),
            Running::Tick(tick) => tick.run(&mut self.world, samples),
        }
        self.wakes[index] = self.running[index].wake();
        self.blocked |= u32::from(self.running[index].port().is_blocked()) << index;
    }

    /// Passes on what the last step caused: writes to memory, and lines that cores lost.
    #[inline]
    pub(crate) fn settle(&mut self, samples: &mut dyn Samples) {
        if self.world.is_settled() {
            self.world.hierarchy.disturbed = 0;
        } else {
            self.pass_on(samples);
        }
    }

    #[inline(never)]
    fn pass_on(&mut self, samples: &mut dyn Samples) {
        while let Some(Write { line, core, label }) = self.world.hierarchy.writes.pop() {
            let source = Source { core: core as u8, class: label.class, monitor: label.monitor, first: false };
            self.world.memory.write(line, source, self.now);
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
                tick.disturbed(self.now, &mut Sink::of(&self.programs[index], samples));
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
    /// counted from now on. False if there is no target that takes samples, all of each.
    pub fn explain(&mut self, most: usize, from_ps: u64) -> bool {
        let Some(target) = self.programs.iter().position(|program| program.role == Role::Target) else { return false };
        if matches!(&self.running[target], Running::Stream(stream) if stream.estimates().is_some()) {
            return false;
        }
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

    /// The index of the core with a number.
    pub(crate) fn index_of(&self, core: CoreId) -> Option<usize> {
        self.cores.iter().position(|at| *at == core)
    }

    /// The platform's number of the core with an index, as in [`crate::losses::Lost`].
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
        self.platform.counter.as_ref().map_or(1.0, |counter| build::tick(counter) as f64 / 1e3)
    }

    /// The present time in picoseconds.
    pub fn now_ps(&self) -> u64 {
        self.now + self.skipped_ps()
    }
}
