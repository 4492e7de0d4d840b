//! Where a program is in a pass that is measured in windows, and what comes next.

use std::any::Any;

use waykeeper_workload::{WorkloadStep, Xorshift};

use crate::core::program::detour::{Detour, MeasuredSample};
use crate::core::program::{Op, Program};
use crate::core::world::World;
use crate::shortcuts::estimate::{Estimate, Window};
use crate::shortcuts::forward::{Before, forward};
use crate::shortcuts::sampling::PassSampling;
use crate::shortcuts::window_warm_up::WindowWarmUp;
use crate::time::Ps;

/// A pass that is measured in windows.
///
/// Before each window the program warms up. The pace of the last stretch in time decides when that begins; as it may
/// have changed, the program looks again after each part of a warm-up that is in time, and if the window is still far it
/// fast-forwards once more. The first stretch begins with the pass, and sets the first pace.
#[derive(Debug, Clone)]
pub struct SampledPass {
    sampling: PassSampling,
    warm_up: WindowWarmUp,
    /// Accesses of a pass.
    pass: u64,
    random: Xorshift,
    /// By how many accesses the windows of this pass are late.
    offset: u64,
    /// Accesses, and instructions, that the stream has returned in this pass.
    position: u64,
    instructions: u64,
    /// The number of the window that is open or comes next.
    window: u64,
    open: Option<Open>,
    /// The access before which something is to be done.
    due_at: u64,
    /// When the distance to the next window is looked at.
    look_at: Ps,
    /// When the present stretch in detail began, and at which access.
    since: (Ps, u64),
    /// Time and accesses of the last stretch.
    pace: Option<(Ps, u64)>,
    warming: Warming,
    seen: Vec<Window>,
    estimates: Vec<Estimate>,
}

/// How far the warm-up before the next window is.
#[derive(Debug, Clone, Copy, Default)]
struct Warming {
    /// Stretches without time that were made.
    stretches: usize,
    /// The program rests until all have been fast-forwarded together, itself up to this access.
    together: Option<u64>,
    /// When it began, in the engine's time, and what stretches without time stood for since.
    since: Ps,
    without_time: Ps,
}

/// How things stood when a window began.
#[derive(Debug, Clone, Copy)]
struct Open {
    at: Ps,
    position: u64,
    instructions: u64,
    reads: u64,
    /// Warm-up in time, and without.
    warmed: [Ps; 2],
}

/// The distance to a window, in distances of a warm-up, from which on a program fast-forwards.
const FAR: u64 = 2;

impl SampledPass {
    /// Windows for passes of so many accesses.
    pub fn new(sampling: PassSampling, warm_up: WindowWarmUp, pass: u64, random: Xorshift) -> Self {
        Self {
            sampling,
            warm_up,
            pass,
            random,
            offset: 0,
            position: 0,
            instructions: 0,
            window: 0,
            open: None,
            due_at: u64::MAX,
            look_at: Ps::NEVER,
            since: (Ps::ZERO, 0),
            pace: None,
            warming: Warming::default(),
            seen: Vec::new(),
            estimates: Vec::new(),
        }
    }

    /// Between windows: returns the access to fast-forward to, or stays in detail.
    fn approach(&mut self, now: Ps, reads: u64) -> Option<u64> {
        self.look_at = Ps::NEVER;
        self.warming = Warming { since: now, ..Warming::default() };
        if self.window == self.sampling.windows {
            self.due_at = u64::MAX;
            return Some(u64::MAX);
        }
        self.due_at = self.sampling.first_of(self.window, self.pass) + self.offset;
        if self.due_at == self.position {
            self.open(now, reads, [Ps::ZERO; 2]);
            return None;
        }
        let has_pace = self.pace.is_some() || self.sampling.warm_up_ps == 0;
        if has_pace && let Some(from) = self.way_to_window() {
            return Some(from);
        }
        self.in_detail(now);
        None
    }

    /// The access from which on the rest of the warm-up leads up to the window, if the program is to go there, or to go
    /// on from there without time.
    fn way_to_window(&self) -> Option<u64> {
        let Warming { stretches, .. } = self.warming;
        let needed = self.accesses_in(self.warm_up.left_before(stretches));
        let left = self.due_at.saturating_sub(self.position);
        // In the midst of a warm-up a little more comes to the next stretch; what comes alone counts as no warm-up.
        if left > if stretches == 0 { needed } else { needed.saturating_mul(FAR) } {
            return Some(self.due_at - needed);
        }
        (stretches < self.warm_up.stretches.len()).then_some(self.position)
    }

    /// A stretch in detail begins here.
    fn in_detail(&mut self, now: Ps) {
        self.since = (now, self.position);
        self.look_at = match self.warm_up.in_time_after(self.warming.stretches) {
            Ps::ZERO => Ps::NEVER,
            warm_up => now + warm_up,
        };
    }

    fn open(&mut self, now: Ps, reads: u64, warmed: [Ps; 2]) {
        let Self { position, instructions, .. } = *self;
        self.open = Some(Open { at: now, position, instructions, reads, warmed });
        let end = position + self.sampling.accesses;
        // The last steps of a pass, after its last access, belong to a window that goes up to there.
        self.due_at = if end >= self.pass { u64::MAX } else { end };
        self.look_at = Ps::NEVER;
    }

    fn close(&mut self, now: Ps, reads: u64) {
        let Some(open) = self.open.take() else { return };
        self.window += 1;
        self.take_pace(now);
        self.seen.push(Window {
            first: open.position,
            accesses: self.position - open.position,
            instructions: self.instructions - open.instructions,
            ps: (now - open.at).get(),
            warmed_ps: (open.warmed[0] + open.warmed[1]).get(),
            functional_ps: open.warmed[1].get(),
            memory_reads: reads - open.reads,
        });
    }

    fn take_pace(&mut self, now: Ps) {
        let (began, from) = self.since;
        if self.position > from && now > began {
            self.pace = Some((now - began, self.position - from));
        }
    }

    /// Accesses that take so long.
    fn accesses_in(&self, time: Ps) -> u64 {
        let (length, accesses) = self.pace.unwrap_or((Ps::new(1), 0));
        scaled(time.get(), accesses, length.get())
    }

    /// What so many accesses take.
    fn time_of(&self, number: u64) -> Ps {
        let (length, accesses) = self.pace.unwrap_or((Ps::ZERO, 1));
        Ps::new(scaled(number, length.get(), accesses))
    }

    /// Rests where the next stretch without time is one of all programs, up to some access before the window.
    fn wait_for_others(&mut self, program: &mut Program) -> bool {
        while self.window < self.sampling.windows && self.warming.stretches < self.warm_up.stretches.len() {
            let upto = self.due_at.saturating_sub(self.accesses_in(self.warm_up.left_after(self.warming.stretches)));
            if upto > self.position {
                self.warming.together = Some(upto);
                program.core_at = Ps::NEVER;
                return true;
            }
            // The window is nearer than that.
            self.warming.stretches += 1;
        }
        false
    }

    /// Whether it rests until all programs fast-forward together.
    pub fn waits_for_others(&self) -> bool {
        self.warming.together.is_some()
    }

    /// How long all are to fast-forward together.
    pub fn time_together(&self) -> Ps {
        self.warming.together.map_or(Ps::ZERO, |upto| self.time_of(upto.saturating_sub(self.position)))
    }

    /// A few accesses without time, of a stretch that began at time 0 and that all programs make; returns when the next one
    /// comes.
    pub fn forward_some(&mut self, program: &mut Program, world: &mut World, most: u64, time: Ps) -> Ps {
        let upto = self.warming.together.unwrap_or(0).min(self.position + most);
        let before = self.position;
        self.forward_to(program, upto, world);
        match self.position - before {
            0 => Ps::NEVER,
            done => time + self.time_of(done),
        }
    }

    /// All have fast-forwarded together for so long: what follows is in time.
    pub fn went_together(&mut self, now: Ps, length: Ps) {
        self.warming.together = None;
        self.warming.stretches += 1;
        self.warming.without_time += length;
        self.in_detail(now);
    }

    /// The others cannot fast-forward: what is left of this warm-up is in time.
    pub fn goes_alone(&mut self, now: Ps) {
        self.warming.together = None;
        self.in_detail(now);
        self.look_at = now + self.warm_up.left_before(self.warming.stretches);
        self.warming.stretches = self.warm_up.stretches.len();
    }

    fn forward_to(&mut self, program: &mut Program, until: u64, world: &mut World) {
        while self.position < until {
            let Some(step) = program.stream.next() else { break };
            self.count(&step);
            match step {
                WorkloadStep::Access(access) => forward(program, access, world),
                WorkloadStep::End => {
                    program.again = Some(Op::End);
                    break;
                }
                WorkloadStep::Compute { .. }
                | WorkloadStep::Mispredicted { .. }
                | WorkloadStep::Start
                | WorkloadStep::Wait(_)
                | WorkloadStep::Release { .. } => {}
            }
        }
    }

    /// What its samples rest on, pass after pass.
    pub fn estimates(&self) -> &[Estimate] {
        &self.estimates
    }
}

/// `number * times / over`, or the most that there is.
fn scaled(number: u64, times: u64, over: u64) -> u64 {
    u64::try_from(u128::from(number) * u128::from(times) / u128::from(over)).unwrap_or(u64::MAX)
}

impl Detour for SampledPass {
    fn is_due(&self, now: Ps) -> bool {
        self.position >= self.due_at || now >= self.look_at
    }

    fn count(&mut self, step: &WorkloadStep) {
        match step {
            WorkloadStep::Access(_) => {
                self.position += 1;
                self.instructions += 1;
            }
            WorkloadStep::Compute { instructions, .. } => self.instructions += instructions,
            _ => {}
        }
    }

    /// A pass begins whose first counter value has just been read: the access to fast-forward to, if there is one.
    #[inline(never)]
    fn begin(&mut self, now: Ps, reads: u64) -> Option<u64> {
        let room = self.sampling.room(self.pass).unwrap_or(0);
        self.offset = self.random.below(room + 1);
        (self.position, self.instructions, self.window) = (0, 0, 0);
        self.since = (now, 0);
        self.approach(now, reads)
    }

    /// A window begins or ends, or its distance is looked at: the access to fast-forward to, if there is one.
    #[inline(never)]
    fn turn(&mut self, now: Ps, reads: u64) -> Option<u64> {
        if self.open.is_some() {
            self.close(now, reads);
            return self.approach(now, reads);
        }
        if self.position >= self.due_at {
            self.open(now, reads, [now - self.warming.since, self.warming.without_time]);
            return None;
        }
        self.take_pace(now);
        if self.warming.stretches < self.warm_up.stretches.len() {
            return self.way_to_window();
        }
        self.look_at = now + self.warm_up.settle;
        let is_far = self.due_at - self.position > FAR * self.accesses_in(self.warm_up.settle);
        self.warming.stretches = if is_far { 0 } else { self.warming.stretches };
        is_far.then(|| self.way_to_window()).flatten()
    }

    /// The pass is over: what its windows say of it, if there was one.
    fn end(&mut self, now: Ps, reads: u64, _measured: MeasuredSample) -> Option<MeasuredSample> {
        self.close(now, reads);
        (self.due_at, self.look_at) = (u64::MAX, Ps::NEVER);
        let windows = std::mem::take(&mut self.seen);
        if windows.is_empty() {
            return None;
        }
        let estimate = Estimate { accesses: self.position, instructions: self.instructions, windows };
        let measured = MeasuredSample { length: Ps::new(estimate.ps()), memory_reads: estimate.reads_in_windows() };
        self.estimates.push(estimate);
        Some(measured)
    }

    /// Fast-forwards until the stream has returned so many accesses, or to the end of the pass.
    fn leave(&mut self, program: &mut Program, until: u64, world: &mut World) {
        let before = Before::new(world);
        let from = self.position;
        self.forward_to(program, until, world);
        before.restore(world);
        if self.position > from {
            (self.warming.since, self.warming.without_time) = (program.now, Ps::ZERO);
        }
        if !self.wait_for_others(program) {
            self.in_detail(program.now);
        }
    }

    fn measures_all(&self) -> bool {
        false
    }

    fn skipped(&self) -> Option<u64> {
        None
    }

    fn boxed(&self) -> Box<dyn Detour> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
