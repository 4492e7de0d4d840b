//! The engine: programs on cores, in front of the hierarchy and the memory, in one order of time.
//!
//! There is no event queue. Whoever acts next is found by comparing a few times: the memory's next command or answer,
//! and one time for each program. A program runs ahead of the others only while its own first level answers.

pub mod build;
pub mod controls;
mod live;
pub mod memories;
pub mod monitored;
pub mod programs;
pub mod regions;
mod reports;
pub mod running;
mod settings;
pub mod shortcut;
pub mod sink;
pub mod start;
#[cfg(test)]
pub mod test_platform;
#[cfg(test)]
mod tests;
pub mod wakes;

use waykeeper_platform::{CoreId, Platform, Settings};
use waykeeper_workload::Xorshift;

use crate::bits::bits;
use crate::caches::allocation::code::Code;
use crate::caches::hierarchy::{Effects, MOST_CORES, Write};
use crate::core::mshrs::MOST_MSHRS;
use crate::core::port::Port;
use crate::core::tick::RunningTick;
use crate::core::world::World;
use crate::engine::build::need;
use crate::engine::controls::{TARGET_CLASS, at_start, settings_of};
use crate::engine::memories::Memory;
use crate::engine::programs::{Program, Role, check_programs};
use crate::engine::regions::Region;
use crate::engine::running::Running;
use crate::engine::shortcut::{Later, Shortcuts};
use crate::engine::sink::Sink;
use crate::engine::start::Starter;
use crate::engine::wakes::Wakes;
use crate::line::Line;
use crate::memory::{Handle, Requester};
use crate::observe::counters::CoreCounters;
use crate::observe::label::Label;
use crate::observe::samples::SampleReceiver;
use crate::refused::Refused;
use crate::time::Ps;

/// A platform with programs on it, at some time.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(crate) platform: Platform,
    pub(crate) cores: Vec<CoreId>,
    pub(crate) world: World,
    pub(crate) running: Vec<Running>,
    /// When each program acts next: a copy, so that finding the first one touches little memory.
    pub(crate) wakes: Wakes,
    /// The program of each core, or [`IDLE`].
    on_core: Vec<usize>,
    /// The programs whose ports wait for an entry of a filter, one bit each.
    blocked: u32,
    /// The line for whose entry each of them waits, or [`Line::EMPTY`] if it waits for something else.
    waits_for: [Line; MOST_CORES + 1],
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
    pub(crate) now: Ps,
    /// What skips time, if anything does.
    shortcuts: Shortcuts,
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
    /// random choice: the same seed produces the same samples, bit by bit.
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
            effects: Effects::default(),
            misses: build::misses(platform),
            has_room: false,
            explainer: None,
        };
        let mut starter = Starter::new(platform, &settings, random)?;
        let (mut running, mut given) = (Vec::new(), Vec::new());
        for program in programs {
            let core = cores.iter().position(|core| *core == program.core).expect("the programs were checked");
            let target = programs.iter().position(|program| program.role.is_target());
            let target = target.filter(|_| program.role == Role::Sharing).and_then(|at| running.get(at));
            let buffer = target.and_then(Running::buffer);
            let (started, memory) = starter.start(program, core, buffer, Ps::ZERO)?;
            running.push(started);
            given.push(memory);
        }
        if let Some(address) = starter.on_chip_from() {
            world.hierarchy.set_on_chip_from(Line::at_address(address, platform.line_bytes.value.trailing_zeros()));
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
            wakes: Wakes::new(std::iter::empty()),
            on_core: Vec::new(),
            blocked: 0,
            waits_for: [Line::EMPTY; MOST_CORES + 1],
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
            now: Ps::ZERO,
            shortcuts: Shortcuts::none(),
        };
        engine.list_programs();
        engine.apply(&settings)?;
        Ok(engine)
    }

    /// The programs that run have changed: works out anew what is known of them.
    pub(crate) fn list_programs(&mut self) {
        let place = |core: usize| self.running.iter().position(|program| program.core() == core);
        self.on_core = (0..self.cores.len()).map(|core| place(core).unwrap_or(IDLE)).collect();
        self.wakes = Wakes::new(self.running.iter().map(Running::wake));
        let line_bytes = self.platform.line_bytes.value;
        let code = self.running.iter().zip(&self.programs);
        self.world.hierarchy.code =
            Code::of(code.flat_map(|(running, program)| running.code(&program.pattern, line_bytes)));
        (self.blocked, self.world.effects.hears) = (0, 0);
        for (index, program) in self.running.iter_mut().enumerate() {
            if let Some(line) = program.port().waits_for() {
                self.blocked |= 1 << index;
                self.waits_for[index] = line;
            }
            if let Running::Tick(tick) = program {
                self.world.effects.hears |= 1 << tick.port.core;
            }
        }
    }

    /// Runs until this time, in picoseconds.
    pub fn advance(&mut self, until_ps: u64, samples: &mut dyn SampleReceiver) {
        let skipped = self.skipped();
        let until = Ps::new(until_ps).saturating_sub(skipped);
        let samples = &mut Later { samples, by: skipped };
        for program in &mut self.running {
            if let Running::Stream(stream) = program {
                stream.choose_way(&self.world);
            }
        }
        let until = self.advance_on_this_host(until, samples);
        self.now = self.now.max(until);
        for (program, started) in self.running.iter_mut().zip(&self.programs) {
            if let Running::Tick(tick) = program {
                tick.count_quiet_passes(until, &mut Sink::of(started, samples));
            }
        }
    }

    /// The same as [`Engine::advance_through_events`], compiled for newer processors where this is one.
    fn advance_on_this_host(&mut self, until: Ps, samples: &mut Later) -> Ps {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
        {
            // SAFETY: this processor has what the function is compiled for.
            return unsafe { self.advance_on_avx2(until, samples) };
        }
        self.advance_through_events(until, samples)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    fn advance_on_avx2(&mut self, until: Ps, samples: &mut Later) -> Ps {
        self.advance_through_events(until, samples)
    }

    /// Takes the general way everywhere from now on, also where a shorter one produces the same: for comparisons of the two.
    pub fn avoid_short_ways(&mut self) {
        self.world.hierarchy.avoid_straight_ways();
    }

    /// Event after event until a time; returns it without what was skipped on the way.
    #[inline(always)]
    fn advance_through_events(&mut self, mut until: Ps, samples: &mut Later) -> Ps {
        loop {
            if self.shortcuts.are_due(self.now) && self.is_target_quiet() {
                let skipped = self.jump_ahead(until, samples);
                self.settle(samples);
                until = until - skipped;
                samples.by += skipped;
            }
            let wake = self.wakes.first();
            if self.run_memory(wake.min(until)) {
                self.settle(samples);
                continue;
            }
            if wake > until {
                return until;
            }
            self.now = wake;
            let (first, next_wake) = self.wakes.take_first();
            let horizon = until.min(next_wake).min(self.world.memory.next_time());
            self.step_program(first, horizon, samples);
            self.settle(samples);
        }
    }

    /// Lets the memory act up to its next answer, or up to `until` if there is none before; true after an answer.
    /// Nobody else notices a command.
    #[inline(always)]
    fn run_memory(&mut self, until: Ps) -> bool {
        loop {
            let now = self.world.memory.next_time();
            if now > until {
                return false;
            }
            if let Some(handle) = self.world.memory.step(now) {
                self.now = now;
                self.answer(handle, now);
                return true;
            }
        }
    }

    #[inline(always)]
    fn answer(&mut self, handle: Handle, now: Ps) {
        let (core, mshr) = (handle as usize / MOST_MSHRS, handle as usize % MOST_MSHRS);
        let answered = self.on_core[core];
        let Some(program) = self.running.get_mut(answered) else { return self.answer_stopped(core, mshr, now) };
        let filled = match program {
            Running::Stream(stream) => {
                let filled = stream.port.answer(mshr, &mut self.world, self.line_bytes, now);
                if !stream.goes_on_as_planned() {
                    stream.answered(mshr, &mut self.world, now);
                    self.wakes.change(answered, stream.wake);
                }
                filled
            }
            Running::Tick(tick) => {
                let filled = answer_tick(tick, mshr, &mut self.world, self.line_bytes, now);
                self.wakes.change(answered, tick.wake);
                filled
            }
        };
        if self.blocked != 0 {
            self.retry(Some(filled), now);
        }
    }

    /// Memory has answered what a program had asked for that was stopped since.
    #[cold]
    fn answer_stopped(&mut self, core: usize, mshr: usize, now: Ps) {
        let port = self.ports[core].as_mut().expect("somebody has asked");
        let filled = port.answer_rarely(mshr, &mut self.world, self.line_bytes, now);
        self.retry(Some(filled), now);
    }

    /// Lets programs try again whose requests may now go on: after a fill, or as a shared cache has room.
    #[inline(always)]
    fn retry(&mut self, filled: Option<Line>, now: Ps) {
        let turns = self.world.turns();
        for index in bits(self.blocked) {
            let goes_on = match (self.waits_for[index % (MOST_CORES + 1)], filled) {
                (Line::EMPTY, _) => turns >> self.running[index].core() & 1 == 1,
                (line, Some(filled)) => self.world.hierarchy.compete(line, filled),
                (_, None) => false,
            };
            if !goes_on {
                continue;
            }
            let wake = match &mut self.running[index] {
                Running::Stream(stream) => {
                    let Some(at) = stream.port.retry_after(filled, &mut self.world, now) else { continue };
                    match stream.is_straight() {
                        true => stream.unblocked_straight(&mut self.world, at),
                        false => stream.unblocked(&mut self.world, at),
                    }
                    stream.wake
                }
                Running::Tick(tick) => match retry_tick(tick, filled, &mut self.world, now) {
                    Some(wake) => wake,
                    None => continue,
                },
            };
            self.wakes.bring_forward(index, wake);
            self.blocked &= !(1 << index);
        }
    }

    #[inline(always)]
    fn step_program(&mut self, index: usize, horizon: Ps, samples: &mut dyn SampleReceiver) {
        let (wake, waits_for) = match &mut self.running[index] {
            Running::Stream(stream) if stream.is_straight() => {
                self.now = stream.run_straight(&mut self.world, horizon);
                (stream.wake, stream.port.waits_for())
            }
            Running::Stream(stream) => {
                self.now = stream.run(&mut self.world, horizon, &mut Sink::of(&self.programs[index], samples));
                (stream.wake, stream.port.waits_for())
            }
            Running::Tick(tick) => run_tick(tick, &mut self.world, &mut Sink::of(&self.programs[index], samples)),
        };
        self.wakes.bring_forward(index, wake);
        if let Some(line) = waits_for {
            self.blocked |= 1 << index;
            self.waits_for[index % (MOST_CORES + 1)] = line;
        }
    }

    /// Passes on what the last step caused: writes to memory, and lines that cores lost.
    #[inline]
    pub(crate) fn settle(&mut self, samples: &mut dyn SampleReceiver) {
        if !self.world.is_settled() {
            self.pass_on(samples);
        }
    }

    #[cold]
    #[inline(never)]
    fn pass_on(&mut self, samples: &mut dyn SampleReceiver) {
        while let Some(Write { line, core, label }) = self.world.effects.writes.pop() {
            let source = Requester { core: core as u8, class: label.class, monitor: label.monitor, first: false };
            self.world.memory.write(line, source, self.now);
        }
        if std::mem::take(&mut self.world.has_room) {
            self.retry(None, self.now);
        }
        let disturbed = std::mem::take(&mut self.world.effects.disturbed);
        if disturbed == 0 {
            return;
        }
        for (index, program) in self.running.iter_mut().enumerate() {
            if let Running::Tick(tick) = program
                && disturbed >> tick.port.core & 1 == 1
            {
                tick.disturbed(self.now, &mut Sink::of(&self.programs[index], samples));
                self.wakes.change(index, tick.wake);
            }
        }
    }

    /// The index of the core with a number.
    pub(crate) fn index_of(&self, core: CoreId) -> Option<usize> {
        self.cores.iter().position(|at| *at == core)
    }
}

// What `tick` loops do is rare beside what their neighbours do: it is out of their way.

#[cold]
#[inline(never)]
fn run_tick(tick: &mut RunningTick, world: &mut World, samples: &mut dyn SampleReceiver) -> (Ps, Option<Line>) {
    tick.run(world, samples);
    (tick.wake, tick.port.waits_for())
}

#[cold]
#[inline(never)]
fn answer_tick(tick: &mut RunningTick, mshr: usize, world: &mut World, line_bytes: u64, now: Ps) -> Line {
    let filled = tick.port.answer_rarely(mshr, world, line_bytes, now);
    tick.answered(mshr, world, now);
    filled
}

#[cold]
#[inline(never)]
fn retry_tick(tick: &mut RunningTick, filled: Option<Line>, world: &mut World, now: Ps) -> Option<Ps> {
    let at = tick.port.retry_after(filled, world, now)?;
    tick.unblocked(world, at);
    Some(tick.wake)
}
