//! Where a program is in a pass that is measured in windows, and what comes next.

use waykeeper_workload::{Step, Xorshift};

use crate::core::port::World;
use crate::core::program::{Op, Program};
use crate::shortcuts::estimate::{Estimate, Window};
use crate::shortcuts::forward::Before;
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

    /// A pass begins. Gives the access to go forward to, if there is one.
    fn begin_pass(&mut self, now: u64, reads: u64) -> Option<u64> {
        let room = self.sampling.room(self.pass).unwrap_or(0);
        self.offset = self.random.below(room + 1);
        (self.position, self.instructions, self.window) = (0, 0, 0);
        self.since = (now, 0);
        self.approach(now, reads)
    }

    /// Whether something is to be done before the stream goes on.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.position >= self.due_at || now >= self.look_at
    }

    /// Does what is due. Gives the access to go forward to, if there is one.
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

    /// The pass is over: what its windows say of it, if there was one.
    pub(crate) fn end_pass(&mut self, now: u64, reads: u64) -> Option<&Estimate> {
        self.close(now, reads);
        (self.due_at, self.look_at) = (NEVER, NEVER);
        let windows = std::mem::take(&mut self.seen);
        if windows.is_empty() {
            return None;
        }
        self.estimates.push(Estimate { accesses: self.position, instructions: self.instructions, windows });
        self.estimates.last()
    }

    /// The stream has given a step.
    pub(crate) fn count(&mut self, step: &Step) {
        match step {
            Step::Access(_) => {
                self.position += 1;
                self.instructions += 1;
            }
            Step::Compute { instructions, .. } => self.instructions += instructions,
            _ => {}
        }
    }
}

impl Program {
    /// Measures it in windows from the next pass on.
    pub fn sample(&mut self, sampled: Sampled) {
        self.sampled = Some(Box::new(sampled));
    }

    /// What its samples rest on; none if it is measured in full.
    pub fn estimates(&self) -> Option<&[Estimate]> {
        self.sampled.as_ref().map(|sampled| sampled.estimates.as_slice())
    }

    /// A pass begins whose first counter value has just been read.
    #[inline(never)]
    pub(crate) fn begin_windows(&mut self, world: &World) {
        let (now, reads) = (self.now, self.port.demand_reads(world));
        let forward = self.sampled.as_mut().and_then(|sampled| sampled.begin_pass(now, reads));
        self.next.extend(forward.map(Op::Forward));
    }

    /// A window begins or ends, or its distance is looked at.
    pub(crate) fn turn(&mut self, world: &World) -> bool {
        let (now, reads) = (self.now, self.port.demand_reads(world));
        let forward = self.sampled.as_mut().and_then(|sampled| sampled.turn(now, reads));
        self.next.extend(forward.map(Op::Forward));
        true
    }

    /// Goes forward without time until the stream has given so many accesses, or to the end of the pass. Others hear of
    /// what that did before anything else happens.
    #[inline(never)]
    pub(crate) fn go_forward(&mut self, until: u64, world: &mut World) -> bool {
        self.core_at = self.now;
        if !world.is_settled() {
            // What the last accesses in time have caused goes on in time.
            self.again = Some(Op::Forward(until));
            return false;
        }
        let Some(mut sampled) = self.sampled.take() else { return false };
        let before = Before::new(world);
        while sampled.position < until {
            let Some(step) = self.stream.next() else { break };
            sampled.count(&step);
            match step {
                Step::Access(access) => self.forward(access, world),
                Step::End => {
                    self.again = Some(Op::End);
                    break;
                }
                Step::Compute { .. } | Step::Mispredicted { .. } | Step::Start | Step::Wait(_) => {}
            }
        }
        before.restore(world);
        sampled.in_detail(self.now);
        self.sampled = Some(sampled);
        false
    }
}
