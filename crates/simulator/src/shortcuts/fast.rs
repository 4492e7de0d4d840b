//! The engine's side of the fast path: who may skip, and what a skip does.

use waykeeper_platform::Platform;
use waykeeper_workload::{Operation, Pattern};

use crate::core::placement::Course as Memory;
use crate::core::world::World;
use crate::engine::Engine;
use crate::engine::build::kind_of;
use crate::engine::controls::TARGET_CLASS;
use crate::engine::programs::{Program, Role};
use crate::engine::running::Running;
use crate::engine::shortcut::Shortcut;
use crate::engine::sink::Sink;
use crate::line::Line;
use crate::observe::back_invalidated::BackInvalidated;
use crate::observe::samples::SampleReceiver;
use crate::shortcuts::background::{IN_TIME, forward_background};
use crate::shortcuts::course::{Course, Regular};
use crate::shortcuts::skip::{At, Jump, Skip, Walker};
use crate::time::Ps;

/// Lines in a set after which none that was there before is left: 1.6 % of 16 ways with random victims.
const ENOUGH_TO_FILL: u64 = 64;

/// Sets that are looked at after a window at most.
const MOST_EDGES: u64 = 1024;

/// Sets from a landing on in which something may be left.
const EDGE: u64 = 4;

impl Engine {
    /// Lets neighbours skip what cannot affect the target, or fast-forwards a lone target to its events (see
    /// `docs/simulator.md`); false if these programs on this platform cannot, and then everything is simulated as before.
    /// Times of samples, of [`Engine::advance`] and of [`Engine::now_ps`] include what was skipped, and not what went
    /// forward; of the counters only `skipped_accesses` and `forwarded_accesses` do.
    pub fn set_skipping(&mut self) -> bool {
        if self.forward_background() {
            return true;
        }
        let Some(walkers) = self.walkers().filter(|walkers| !walkers.is_empty()) else { return false };
        let skip = Skip::new(walkers, self.running.len(), self.now, |program| self.steps_of(program));
        let class = usize::from(TARGET_CLASS);
        self.world.hierarchy.back_invalidated = Some(Box::new(BackInvalidated { class, ..BackInvalidated::default() }));
        self.take_shortcuts(Box::new(skip));
        true
    }

    /// Fast-forwards a lone target with events to them, if it is one and can.
    fn forward_background(&mut self) -> bool {
        let ([Running::Stream(alone)], [started]) = (&mut self.running[..], &self.programs[..]) else { return false };
        let Pattern::Random { data_bytes, .. } = &started.pattern else { return false };
        if !memory_hears(&self.platform, started) {
            return false;
        }
        let Some(passed) = self.world.hierarchy.passed(alone.port.core) else { return false };
        if started.role != Role::Target || self.world.memory.caches() {
            return false;
        }
        let event = alone.event(&started.pattern);
        forward_background(alone, &passed, &event, *data_bytes)
    }

    /// The neighbours, if all of them can skip beside this target.
    fn walkers(&self) -> Option<Vec<Walker>> {
        let sets = self.world.hierarchy.least_sets()? as u64;
        if !self.world.hierarchy.can_forget() {
            return None;
        }
        if !(0..self.cores.len()).all(|core| self.world.hierarchy.own_sets(core).is_some()) {
            return None;
        }
        let mut walkers = Vec::new();
        let mut paces = Vec::new();
        if self.running.iter().filter(|program| matches!(program, Running::Tick(_))).count() > 1 {
            return None;
        }
        for (index, (program, started)) in self.running.iter().zip(&self.programs).enumerate() {
            match (program, started.role) {
                (Running::Tick(_), Role::Target) => {}
                (Running::Stream(stream), Role::Neighbour) => {
                    let Pattern::Walk { operation, outer, inner } = &started.pattern else { return None };
                    if !matches!(operation, Operation::Read | Operation::Prefetch) {
                        return None;
                    }
                    let whole = |bytes: u64| bytes.is_multiple_of(self.line_bytes).then_some(bytes / self.line_bytes);
                    let (step, within) = (whole(outer.stride)?, whole(inner.stride)?);
                    // The inner loop stays in a set and fills it several times over; after the last round of the outer
                    // one the sets go on as before.
                    if inner.count < ENOUGH_TO_FILL
                        || !within.is_multiple_of(sets)
                        || !(outer.count * step).is_multiple_of(sets)
                        || stream.front.is_some()
                    {
                        return None;
                    }
                    let course = match stream.data().course(sets)? {
                        Memory::Apart => Course::Apart,
                        Memory::From(line) => Course::Regular(Regular::new(line, step, sets)?),
                    };
                    let (kind, _) = kind_of(&self.platform, self.cores[program.core()]).ok()?;
                    let pace = (kind, &started.pattern);
                    let known = paces.iter().position(|known| *known == pace).unwrap_or(paces.len());
                    if known == paces.len() {
                        paces.push(pace);
                    }
                    walkers.push(Walker::new(index, course, known, within));
                }
                _ => return None,
            }
        }
        Some(walkers)
    }

    /// Accesses of a step of a walk.
    fn per_step(&self, program: usize) -> u64 {
        match &self.programs[program].pattern {
            Pattern::Walk { inner, .. } => inner.count,
            _ => 1,
        }
    }

    fn steps_of(&self, program: usize) -> f64 {
        let accesses = self.world.hierarchy.counts[self.running[program].core()].accesses;
        accesses as f64 / self.per_step(program) as f64
    }

    /// Skips if everybody can, up to `until` of simulated time; returns how much.
    fn try_skip(&mut self, skip: &mut Skip, until: Ps, samples: &mut dyn SampleReceiver) -> Ps {
        let needed = self.quiet_lines().filter(|_| until > self.now);
        let jump = needed.and_then(|needed| Some((self.jump(skip, until, &needed)?, needed)));
        let Some((Jump { length, steps, walked, surveyed }, needed)) = jump else { return Ps::ZERO };
        // Where it surveys, a neighbour meets nothing of what the others have in their own caches: they have skipped
        // these sets.
        if !surveyed {
            self.count_back_invalidations(skip, &walked);
        }
        self.pass_over_seldom_lines(skip, &steps);
        self.lose_own(skip, &needed, &walked, &steps);
        self.forget_edges(skip, &needed, &walked, &steps);
        if let Some(counts) = &mut self.world.hierarchy.back_invalidated {
            counts.lines.iter_mut().for_each(Vec::clear);
        }
        for (program, started) in self.running.iter_mut().zip(&self.programs) {
            if let Running::Tick(tick) = program {
                let mut samples = Sink::of(started, samples);
                tick.count_quiet_passes(self.now, &mut samples);
                tick.skip(length, self.now + length, &mut samples);
            }
        }
        let programs: Vec<_> = skip.programs().collect();
        for (program, steps) in programs.into_iter().zip(steps) {
            skip.accesses[program] += steps * self.per_step(program);
            if let Running::Stream(stream) = &mut self.running[program] {
                stream.skip_outer(steps);
            }
        }
        length
    }

    fn jump(&self, skip: &mut Skip, until: Ps, needed: &[Line]) -> Option<Jump> {
        let at = |program: usize| At { iteration: self.iteration(program), steps: self.steps_of(program) };
        skip.plan(self.now, until - self.now, at, needed)
    }

    /// The lines of the target's passes; none if something else is in progress.
    fn quiet_lines(&self) -> Option<Vec<Line>> {
        let tick = self.running.iter().find_map(|program| match program {
            Running::Tick(tick) => Some(tick),
            Running::Stream(_) => None,
        });
        tick.map_or(Some(Vec::new()), |tick| tick.lines_if_quiet())
    }

    fn iteration(&self, program: usize) -> u64 {
        match &self.running[program] {
            Running::Stream(stream) => stream.outer_iteration(),
            Running::Tick(_) => 0,
        }
    }

    /// Shared caches forget what neighbours left, in sets without a line of the target's passes: in those that each has
    /// walked since the last skip, and in those where the skip ends.
    fn forget_edges(&mut self, skip: &Skip, needed: &[Line], walked: &[(u64, u64)], steps: &[u64]) {
        for ((program, walked), steps) in skip.programs().zip(walked).zip(steps) {
            let (first, last) = self.iterations(program, *walked);
            let lands = last + steps;
            for line in self.lines_of_steps(program, (first..=last).chain(lands..=lands + EDGE)) {
                self.forget_unneeded(program, line, needed);
            }
        }
    }

    /// What neighbours have in caches of their own leaves these for the lines of the sets that they skip, as far as that
    /// is seen in sets of the target's passes.
    fn lose_own(&mut self, skip: &mut Skip, needed: &[Line], walked: &[(u64, u64)], steps: &[u64]) {
        let programs: Vec<_> = skip.programs().collect();
        for (walker, ((program, walked), steps)) in programs.into_iter().zip(walked).zip(steps).enumerate() {
            let core = self.running[program].core();
            let Some(own_sets) = self.world.hierarchy.own_sets(core) else { continue };
            let (first, last) = self.iterations(program, *walked);
            let began = self.lines_of_steps(program, first..=last);
            for line in skip.lost(walker, began.into_iter(), (last, *steps), own_sets as u64) {
                self.world.hierarchy.push_out(core, line, self.now, &mut self.world.effects);
                self.forget_unneeded(program, line, needed);
            }
        }
    }

    /// The iterations of a neighbour's window, counted on where its outer loop begins anew; the last ones of a long window.
    fn iterations(&self, program: usize, (first, last): (u64, u64)) -> (u64, u64) {
        let Pattern::Walk { outer, .. } = &self.programs[program].pattern else { return (first, last) };
        let first = first % outer.count;
        let last = if last < first { last + outer.count } else { last };
        (first.max(last.saturating_sub(MOST_EDGES)), last)
    }

    /// The first line of each step of a neighbour's walk, in these iterations.
    fn lines_of_steps(&self, program: usize, iterations: impl Iterator<Item = u64>) -> Vec<Line> {
        match (&self.running[program], &self.programs[program].pattern) {
            (Running::Stream(stream), Pattern::Walk { outer, .. }) => {
                iterations.map(|at| stream.data().line(at % outer.count * outer.stride)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Shared caches forget what a neighbour left in a line's set, unless the target's passes need it.
    fn forget_unneeded(&mut self, program: usize, line: Line, needed: &[Line]) {
        let World { hierarchy, effects, .. } = &mut self.world;
        if !needed.iter().any(|needed| hierarchy.share_a_set(*needed, line)) {
            hierarchy.forget_set(self.running[program].core(), line, TARGET_CLASS, self.now, effects);
        }
    }

    /// Counts how often walkers have passed the sets of lines that the target touches seldom, and how many filters took.
    fn count_back_invalidations(&mut self, skip: &mut Skip, walked: &[(u64, u64)]) {
        let Some(tick) = self.running.iter().find_map(Running::tick) else { return };
        let Some(lost) = self.world.hierarchy.back_invalidated.as_ref().map(|lost| &lost.lines) else { return };
        let sets = self.world.hierarchy.filter_sets(tick.port.core);
        let walkers = skip.programs().zip(walked).enumerate();
        let walked: Vec<_> =
            walkers.map(|(walker, (program, walked))| (walker, self.iterations(program, *walked))).collect();
        let mut counts = std::mem::take(&mut skip.back_invalidations);
        counts.seen(lost, |line, filter| {
            let Some(sets) = sets[filter] else { return 0 };
            let passes = |(walker, (first, last)): &&(usize, (u64, u64))| {
                // The first and the last step are not whole, and of the last but one lines may be in flight.
                skip.passes(*walker, (first + 1, last.saturating_sub(first + 2)), line, sets as u64)
            };
            walked.iter().filter(passes).count() as u64
        });
        skip.back_invalidations = counts;
    }

    /// The target loses lines, apart from those of its quiet passes, whose sets are skipped.
    fn pass_over_seldom_lines(&mut self, skip: &mut Skip, steps: &[u64]) {
        let walks: Vec<_> =
            skip.programs().map(|program| (self.running[program].core(), self.iteration(program))).collect();
        let chances = skip.back_invalidations.chances();
        for at in 0..self.running.len() {
            let Running::Tick(tick) = &mut self.running[at] else { continue };
            let core = tick.port.core;
            for line in tick.seldom_lines(&self.world).to_vec() {
                for (walker, ((walker_core, from), steps)) in walks.iter().zip(steps).enumerate() {
                    let fills = |sets| skip.passes(walker, (*from, *steps), line, sets);
                    let World { hierarchy, effects, .. } = &mut self.world;
                    hierarchy.make_room(core, line, (*walker_core, chances), fills, self.now, effects);
                }
            }
            let hierarchy = &self.world.hierarchy;
            let Running::Tick(tick) = &mut self.running[at] else { continue };
            let seldom = tick.seldom_lines(&self.world);
            skip.back_invalidations
                .watch(seldom.iter().map(|line| (*line, hierarchy.has_entries(core, *line))).collect());
        }
    }
}

impl Shortcut for Skip {
    fn look_at(&self) -> Ps {
        self.look_at
    }

    fn take(&mut self, engine: &mut Engine, until: Ps, samples: &mut dyn SampleReceiver) -> Ps {
        engine.try_skip(self, until, samples)
    }

    fn skipped_accesses(&self, program: usize) -> u64 {
        self.accesses[program]
    }

    fn boxed(&self) -> Box<dyn Shortcut> {
        Box::new(self.clone())
    }
}

/// Whether so many of the accesses that take their time before an event reach the memory that its rows and its refreshes are
/// where they would be if all did: the others are fast-forwarded and do not reach it.
fn memory_hears(platform: &Platform, program: &Program) -> bool {
    let Pattern::Random { data_bytes, code_bytes, code_calls, .. } = program.pattern else { return false };
    let caches: u64 = platform.caches(program.core).iter().map(|cache| cache.size_bytes).sum();
    let missed = |accesses: u64, bytes: u64| accesses * bytes.saturating_sub(caches) / bytes.max(1);
    // Calls come last, and data before them.
    let calls = code_calls.min(IN_TIME);
    missed(calls, code_bytes) + missed(IN_TIME - calls, data_bytes) >= IN_TIME / 4
}
