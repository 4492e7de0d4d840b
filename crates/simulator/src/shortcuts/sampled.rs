//! Where a program is in a pass that is measured in windows, and what comes next.

use std::any::Any;

use waykeeper_workload::{WorkloadStep, Xorshift};

use crate::core::program::detour::{Detour, Measured};
use crate::core::program::{Op, Program};
use crate::core::world::World;
use crate::shortcuts::estimate::{Estimate, Window};
use crate::shortcuts::forward::{Before, forward};
use crate::shortcuts::sampling::Sampling;
use crate::time::NEVER;

/// A pass that is measured in windows.
///
/// Before each window the program runs in full detail for the warm-up's time. When to begin with that, the pace of the
/// last such stretch tells; as it may have changed, the program looks again after each time of a warm-up, and if the
/// window is still far it goes forward once more. The first stretch begins with the pass, and gives the first pace.
#[derive(Debug, Clone)]
pub struct Sampled {
    sampling: Sampling,
    /// Accesses of a pass.
    pass: u64,
    random: Xorshift,
    /// By how many accesses the windows of this pass are late.
    offset: u64,
    /// Accesses, and instructions, that the stream has given in this pass.
    position: u64,
    instructions: u64,
    /// The number of the window that is open or comes next.
    window: u64,
    open: Option<Open>,
    /// The access before which something is to be done.
    due_at: u64,
    /// When the distance to the next window is looked at.
    look_at: u64,
    /// When the present stretch in detail began, and at which access.
    since: (u64, u64),
    /// Picoseconds and accesses of the last stretch.
    pace: Option<(u64, u64)>,
    seen: Vec<Window>,
    estimates: Vec<Estimate>,
}

/// How things stood when a window began.
#[derive(Debug, Clone, Copy)]
struct Open {
    at: u64,
    position: u64,
    instructions: u64,
    reads: u64,
    warmed_ps: u64,
}

/// The distance to a window, in distances of a warm-up, from which on a program goes forward.
const FAR: u64 = 2;

impl Sampled {
    /// Windows for passes of so many accesses.
    pub fn new(sampling: Sampling, pass: u64, random: Xorshift) -> Self {
        Self {
            sampling,
            pass,
            random,
            offset: 0,
            position: 0,
            instructions: 0,
            window: 0,
            open: None,
            due_at: NEVER,
            look_at: NEVER,
            since: (0, 0),
            pace: None,
            seen: Vec::new(),
            estimates: Vec::new(),
        }
    }

    /// Between windows: gives the access to go forward to, or stays in detail.
    fn approach(&mut self, now: u64, reads: u64) -> Option<u64> {
        self.look_at = NEVER;
        if self.window == self.sampling.windows {
            self.due_at = NEVER;
            return Some(NEVER);
        }
        self.due_at = self.sampling.first_of(self.window, self.pass) + self.offset;
        if self.due_at == self.position {
            self.open(now, reads, 0);
            return None;
        }
        let needed = if self.pace.is_none() && self.sampling.warm_up_ps > 0 { NEVER } else { self.needed() };
        let from = self.due_at.saturating_sub(needed);
        if from > self.position {
            return Some(from);
        }
        self.in_detail(now);
        None
    }

    /// A stretch in detail begins here.
    fn in_detail(&mut self, now: u64) {
        self.since = (now, self.position);
        self.look_at = match self.sampling.warm_up_ps {
            0 => NEVER,
            warm_up => now + warm_up,
        };
    }

    fn open(&mut self, now: u64, reads: u64, warmed_ps: u64) {
        let Self { position, instructions, .. } = *self;
        self.open = Some(Open { at: now, position, instructions, reads, warmed_ps });
        let end = position + self.sampling.accesses;
        // The last steps of a pass, after its last access, belong to a window that goes up to there.
        self.due_at = if end >= self.pass { NEVER } else { end };
        self.look_at = NEVER;
    }

    fn close(&mut self, now: u64, reads: u64) {
        let Some(open) = self.open.take() else { return };
        self.window += 1;
        self.take_pace(now);
        self.seen.push(Window {
            first: open.position,
            accesses: self.position - open.position,
            instructions: self.instructions - open.instructions,
            ps: now - open.at,
            warmed_ps: open.warmed_ps,
            memory_reads: reads - open.reads,
        });
    }

    fn take_pace(&mut self, now: u64) {
        let (began, from) = self.since;
        if self.position > from && now > began {
            self.pace = Some((now - began, self.position - from));
        }
    }

    /// Accesses that take the time of a warm-up.
    fn needed(&self) -> u64 {
        let (ps, accesses) = self.pace.unwrap_or((1, 0));
        let needed = u128::from(self.sampling.warm_up_ps) * u128::from(accesses) / u128::from(ps);
        u64::try_from(needed).unwrap_or(NEVER)
    }

    /// What its samples rest on, pass after pass.
    pub fn estimates(&self) -> &[Estimate] {
        &self.estimates
    }
}

impl Detour for Sampled {
    fn is_due(&self, now: u64) -> bool {
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

    /// A pass begins whose first counter value has just been read: the access to go forward to, if there is one.
    #[inline(never)]
    fn begin(&mut self, now: u64, reads: u64) -> Option<u64> {
        let room = self.sampling.room(self.pass).unwrap_or(0);
        self.offset = self.random.below(room + 1);
        (self.position, self.instructions, self.window) = (0, 0, 0);
        self.since = (now, 0);
        self.approach(now, reads)
    }

    /// A window begins or ends, or its distance is looked at: the access to go forward to, if there is one.
    #[inline(never)]
    fn turn(&mut self, now: u64, reads: u64) -> Option<u64> {
        if self.open.is_some() {
            self.close(now, reads);
            return self.approach(now, reads);
        }
        if self.position >= self.due_at {
            self.open(now, reads, now - self.since.0);
            return None;
        }
        self.take_pace(now);
        self.look_at = now + self.sampling.warm_up_ps;
        let left = self.due_at - self.position;
        let needed = self.needed();
        (left > FAR * needed).then(|| self.due_at - needed)
    }

    /// The pass is over: what its windows say of it, if there was one.
    fn end(&mut self, now: u64, reads: u64, _measured: Measured) -> Option<Measured> {
        self.close(now, reads);
        (self.due_at, self.look_at) = (NEVER, NEVER);
        let windows = std::mem::take(&mut self.seen);
        if windows.is_empty() {
            return None;
        }
        let estimate = Estimate { accesses: self.position, instructions: self.instructions, windows };
        let measured = Measured { ps: estimate.ps(), memory_reads: estimate.reads_in_windows() };
        self.estimates.push(estimate);
        Some(measured)
    }

    /// Goes forward without time until the stream has returned so many accesses, or to the end of the pass.
    fn leave(&mut self, program: &mut Program, until: u64, world: &mut World) {
        let before = Before::new(world);
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
        before.restore(world);
        self.in_detail(program.now);
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
}
