//! Warm-up without time: short stretches in time show how fast each program goes; between them all programs fast-forward at
//! that pace, access by access, through caches, filters and TLBs that change as usual.
//!
//! The clock runs on over such a stretch: periods, refreshes and samples see one continuous time, and the memory is idle
//! meanwhile. The last stretch is in time, so that queues, rows and bandwidth regulators are as they are in a run.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};

use waykeeper_workload::{Pattern, WorkloadStep};

use crate::core::program::Program;
use crate::core::program::detour::{Detour, MeasuredSample};
use crate::core::world::World;
use crate::engine::Engine;
use crate::engine::running::Running;
use crate::observe::samples::Discard;
use crate::shortcuts::forward::{Before, forward};
use crate::time::Ps;

/// The first stretch in time, from cold caches.
const FIRST: Ps = Ps::new(20_000_000);

/// Each of those in between: nothing is counted of the first part, in which queues fill.
const SLICE: Ps = Ps::new(15_000_000);
pub(super) const LEAD: Ps = Ps::new(5_000_000);

/// The last one.
const SETTLE: Ps = Ps::new(100_000_000);

/// How the rest is divided, in sixteenths: paces change most at the beginning, while caches are cold.
const STRETCHES: [u64; 5] = [1, 2, 3, 4, 6];

/// Programs that have not come to rest after this time keep the warm-up in time.
pub(super) const TO_REST: Ps = Ps::new(200_000_000);

/// So many accesses of a program come together, at most.
pub(super) const TOGETHER: u64 = 4;

/// What an access of a pass takes before a pass was seen: most hit a cache of the core.
const UNKNOWN: Ps = Ps::new(5_000);

/// What of a warm-up was simulated in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warmed {
    /// Picoseconds in time.
    pub timed_ps: u64,
}

impl Engine {
    /// Runs until this time, in picoseconds, for the most part without simulating time: what caches, filters and TLBs hold is then
    /// as after that time. To be called before anything has run. `None`, and nothing is done, where this is no use: a time too short for it, or
    /// programs other than walks, chases, buffers and traces in full.
    pub fn warm_up(&mut self, until_ps: u64, stop: &AtomicBool) -> Option<Warmed> {
        let stretches = STRETCHES.len() as u64;
        let in_time = FIRST + SLICE * (stretches - 1) + SETTLE;
        let until = Ps::new(until_ps);
        if until < in_time * 2 || !self.goes_forward() {
            return None;
        }
        let without_time = until - in_time;
        let mut timed = Ps::ZERO;
        let mut now = Ps::ZERO;
        for (number, sixteenths) in STRETCHES.into_iter().enumerate() {
            let (lead, slice) = if number == 0 { (Ps::ZERO, FIRST) } else { (LEAD, SLICE) };
            self.pace(now + lead, now + slice);
            let Some(rest) = self.come_to_rest(now + slice, stop) else { break };
            timed += rest - now;
            now = (rest + without_time * sixteenths / 16).min(until - SETTLE);
            self.go_forward(rest, now);
        }
        timed += until - now;
        self.end_of_stretches();
        let mut samples = Discard;
        while now < until && !stop.load(Ordering::Relaxed) {
            now = (now + TO_REST).min(until);
            self.advance(now.get(), &mut samples);
        }
        self.forget_paces();
        Some(Warmed { timed_ps: timed.get() })
    }

    /// Whether every program is one whose accesses can do without time.
    fn goes_forward(&self) -> bool {
        self.now == Ps::ZERO
            && self.running.iter().zip(&self.programs).all(|(running, program)| {
                can_go_forward(&program.pattern)
                    && matches!(running, Running::Stream(stream) if stream.detour.is_none())
            })
    }

    fn streams(&mut self) -> impl Iterator<Item = &mut Program> {
        self.running.iter_mut().filter_map(|running| match running {
            Running::Stream(stream) => Some(&mut **stream),
            Running::Tick(_) => None,
        })
    }

    /// The accesses of each program are counted from a time on, and it rests from the later one on.
    fn pace(&mut self, from: Ps, rest_at: Ps) {
        for stream in self.streams() {
            let pace = match &stream.detour {
                Some(detour) => detour.as_any().downcast_ref::<Paced>().cloned().unwrap_or_default(),
                None => Paced::default(),
            };
            stream.detour = Some(Box::new(Paced { due: from, rest_at, counts: false, rests: false, ..pace }));
        }
    }

    /// Runs until every program rests, with nothing in flight; returns that time. `None` if some does not come to rest.
    fn come_to_rest(&mut self, at: Ps, stop: &AtomicBool) -> Option<Ps> {
        const STEP: Ps = Ps::new(1_000_000);
        let mut now = at;
        self.advance(now.get(), &mut Discard);
        while !self.all_rest(now) {
            if now > at + TO_REST || stop.load(Ordering::Relaxed) {
                return None;
            }
            now += STEP;
            self.advance(now.get(), &mut Discard);
        }
        Some(now)
    }

    fn all_rest(&self, now: Ps) -> bool {
        self.running.iter().all(|running| match running {
            Running::Stream(stream) => Paced::of(stream).is_some_and(|pace| pace.rests) || stream.sleeps(now),
            Running::Tick(_) => true,
        })
    }

    /// All programs fast-forward from one time to another, without simulating it.
    fn go_forward(&mut self, from: Ps, until: Ps) {
        let before = Before::new(&mut self.world);
        let mut next: Vec<Ps> = Vec::with_capacity(self.running.len());
        for (running, program) in self.running.iter_mut().zip(&self.programs) {
            let Running::Stream(stream) = running else {
                next.push(Ps::NEVER);
                continue;
            };
            let rests = Paced::of(stream).is_some_and(|pace| pace.rests);
            next.push(if rests { from } else { stream.core_at });
            if let Some(mut pace) = Paced::of(stream).cloned() {
                pace.waits = program.pattern.period_ns().is_some();
                pace.valid_from = until;
                stream.detour = Some(Box::new(pace));
            }
            stream.now = from;
        }
        while let Some((at, time)) = next.iter().copied().enumerate().min_by_key(|(_, time)| *time)
            && time < until
        {
            let Running::Stream(stream) = &mut self.running[at] else { break };
            next[at] = forward_some(stream, &mut self.world, time);
        }
        before.restore(&mut self.world);
        for (at, time) in next.into_iter().enumerate() {
            let Running::Stream(stream) = &mut self.running[at] else { continue };
            stream.goes_on_at(time.max(until));
            self.wakes.change(at, time.max(until));
        }
        self.settle(&mut Discard);
    }

    /// Nobody comes to rest any more.
    fn end_of_stretches(&mut self) {
        let now = self.now;
        for at in 0..self.running.len() {
            let Running::Stream(stream) = &mut self.running[at] else { continue };
            let Some(mut pace) = Paced::of(stream).cloned() else { continue };
            let rested = std::mem::take(&mut pace.rests);
            pace.due = Ps::NEVER;
            stream.detour = Some(Box::new(pace));
            if rested && stream.core_at == Ps::NEVER {
                stream.goes_on_at(now);
                self.wakes.change(at, now);
            }
        }
    }

    /// Programs go their own way again. One in a sample that began before the last stretch without time keeps its pace up to the end of
    /// that sample, which does not count.
    fn forget_paces(&mut self) {
        for stream in self.streams() {
            let is_whole = |pace: &Paced| stream.recorder.is_none() || pace.sample_began >= pace.valid_from;
            if Paced::of(stream).is_some_and(is_whole) {
                stream.detour = None;
            }
        }
    }
}

/// Whether accesses of such a program can do without time.
pub(super) fn can_go_forward(pattern: &Pattern) -> bool {
    matches!(pattern, Pattern::Walk { .. } | Pattern::Chase { .. } | Pattern::Buffer { .. } | Pattern::Trace { .. })
}

/// A few accesses of a program, the first at `time`; returns when its next one comes.
pub(super) fn forward_some(stream: &mut Program, world: &mut World, mut time: Ps) -> Ps {
    let Some(pace) = Paced::of(stream) else { return Ps::NEVER };
    let (length, accesses) =
        if pace.waits { pace.of_pass.unwrap_or((UNKNOWN, 1)) } else { pace.pace.unwrap_or((SLICE, 1)) };
    let mut left_over = Ps::ZERO;
    let mut done = 0;
    while done < TOGETHER {
        match stream.stream.next() {
            None => return Ps::NEVER,
            Some(WorkloadStep::Access(access)) => {
                forward(stream, access, world);
                done += 1;
                // Without rounding: a pace may be a fraction of a picosecond.
                left_over += length;
                time += left_over / accesses;
                left_over = left_over % accesses;
            }
            Some(WorkloadStep::Wait(ns)) => return stream.next_period(time, Ps::from_ns(ns)),
            Some(WorkloadStep::Release { offset_ns, period_ns }) => {
                return stream.next_release(time, Ps::from_ns(offset_ns), Ps::from_ns(period_ns));
            }
            Some(
                WorkloadStep::Start
                | WorkloadStep::End
                | WorkloadStep::Compute { .. }
                | WorkloadStep::Mispredicted { .. },
            ) => {}
        }
    }
    time
}

/// How fast a program goes, as counted in the last stretch in time.
#[derive(Debug, Clone, Default)]
pub(super) struct Paced {
    /// When something is due: counting begins, or the program rests.
    due: Ps,
    rest_at: Ps,
    counts: bool,
    rests: bool,
    /// Accesses since this time.
    accesses: u64,
    since: Ps,
    /// Time and accesses.
    pace: Option<(Ps, u64)>,
    /// Whether it waits between passes: its pace is then that of a pass, without the waits.
    waits: bool,
    /// Time and accesses of the last pass.
    of_pass: Option<(Ps, u64)>,
    in_pass: u64,
    sample_began: Ps,
    /// Samples that began before this time do not count: some of it was not simulated.
    valid_from: Ps,
}

impl Paced {
    /// Counts from this time on, until [`Paced::rest_from`].
    pub fn from(time: Ps) -> Self {
        Self { due: time, rest_at: Ps::NEVER, ..Self::default() }
    }

    /// Is to rest from now on.
    pub fn rest_from(&mut self, now: Ps) {
        self.rest_at = now;
        if self.counts {
            self.due = now;
        }
    }

    /// Goes on in time: counts anew from a while later on. Samples that began before `now` do not count.
    pub fn go_on(&mut self, now: Ps) {
        let (from, rest_at) = (now + LEAD, Ps::NEVER);
        *self = Self { due: from, rest_at, counts: false, rests: false, valid_from: now, ..self.clone() };
    }

    pub fn rests(&self) -> bool {
        self.rests
    }

    fn of(program: &Program) -> Option<&Self> {
        program.detour.as_ref()?.as_any().downcast_ref()
    }
}

impl Detour for Paced {
    fn is_due(&self, now: Ps) -> bool {
        now >= self.due
    }

    fn count(&mut self, step: &WorkloadStep) {
        if let WorkloadStep::Access(_) = step {
            self.accesses += 1;
            self.in_pass += 1;
        }
    }

    fn begin(&mut self, now: Ps, _memory_reads: u64) -> Option<u64> {
        self.sample_began = now;
        self.in_pass = 0;
        None
    }

    fn turn(&mut self, now: Ps, _memory_reads: u64) -> Option<u64> {
        if !self.counts {
            (self.counts, self.due, self.since, self.accesses) = (true, self.rest_at, now, 0);
            return None;
        }
        if self.accesses > 0 && now > self.since {
            self.pace = Some((now - self.since, self.accesses));
        }
        self.due = Ps::NEVER;
        Some(0)
    }

    fn end(&mut self, _now: Ps, _memory_reads: u64, measured: MeasuredSample) -> Option<MeasuredSample> {
        if self.sample_began < self.valid_from {
            return None;
        }
        if self.in_pass > 0 && measured.length > Ps::ZERO {
            self.of_pass = Some((measured.length, self.in_pass));
        }
        Some(measured)
    }

    /// Rests.
    fn leave(&mut self, program: &mut Program, _number: u64, _world: &mut World) {
        self.rests = true;
        program.core_at = Ps::NEVER;
    }

    fn measures_all(&self) -> bool {
        true
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
