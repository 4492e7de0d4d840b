//! A running workload that is a stream of steps: everything but `tick`.

mod agents;
pub mod detour;
mod lines;
mod sample;
mod straight;
mod touch;

pub use lines::EventLine;
pub use sample::SampleRecorder;
pub use touch::Touch;

use std::collections::VecDeque;

use waykeeper_workload::{Access, Operation, Region as Which, Stream, WorkloadStep};

use crate::caches::access::Want;
use crate::core::front::Front;
use crate::core::front::tlb::{NONE, Page};
use crate::core::placement::MemoryRegion;
use crate::core::port::Port;
use crate::core::program::detour::Detour;
use crate::core::window::{Window, WindowSpace};
use crate::core::world::World;
use crate::line::Line;
use crate::observe::samples::SampleReceiver;
use crate::time::Ps;

/// A running stream.
#[derive(Debug, Clone)]
pub struct Program {
    /// Way to the memory.
    pub port: Port,
    window: Window,
    /// What the core does before its caches, if it does anything.
    pub front: Option<Box<Front>>,
    pub(crate) stream: Stream,
    /// Pages of devices that its event uses.
    pub devices: Vec<Page>,
    pub(crate) data: MemoryRegion,
    pub(crate) code: MemoryRegion,
    pub(crate) recorder: Option<SampleRecorder>,
    /// When it or its front acts next.
    pub wake: Ps,
    /// When the core itself goes on.
    pub(crate) core_at: Ps,
    pub(crate) now: Ps,
    /// What could not go on and is tried again first.
    pub(crate) again: Option<Op>,
    /// What follows before the stream goes on.
    pub(crate) next: VecDeque<Op>,
    waiting: Waiting,
    last_load: LastLoad,
    sample_start: Ps,
    reads_at_start: u64,
    waited_until: Ps,
    blocked_since: Ps,
    /// What takes over between its steps, if anything does.
    pub detour: Option<Box<dyn Detour>>,
    /// Whether it takes the short way of [`straight`].
    straight: bool,
    /// The line that is read again on that way, or [`Line::EMPTY`].
    again_line: Line,
    /// The last access on that way was none that the first level answered.
    misses: bool,
}

/// When the value of the last load comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastLoad {
    /// At a time.
    At(Ps),
    /// With the line of an MSHR; or, if nobody waits there any more, it came at this time or later.
    In(usize, Ps),
    /// The load with this number waits for a walk.
    Held(u64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Op {
    Touch(Touch),
    Start,
    End,
    /// All that was begun before ends first.
    Fence,
    Compute(u64),
    /// A mispredicted branch; whether it decides on the last load.
    Mispredicted(bool),
    Delay(Ps),
    Period(Ps),
    /// The next release: the first one's time and the period.
    Release(Ps, Ps),
    /// Something is due of the detour.
    Turn,
    /// The detour takes over, with this number of its own.
    Leave(u64),
}

/// What a core waits for that does not go on at a known time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// Nothing, or a known time.
    Nothing,
    /// The line of this MSHR.
    Mshr(usize),
    /// An MSHR.
    AnyMshr,
    /// Every line that is in flight.
    AllMshrs,
    /// An entry of a filter.
    Entry,
    /// The end of a page walk.
    Walk,
    /// An entry of the store buffer.
    Store,
}

impl Program {
    /// A stream that begins at `start`; only one with a recorder takes samples.
    pub fn new(
        port: Port,
        (window, front): (Window, Option<Box<Front>>),
        stream: Stream,
        [data, code]: [MemoryRegion; 2],
        recorder: Option<SampleRecorder>,
        start: Ps,
    ) -> Self {
        Self {
            port,
            window,
            front,
            stream,
            devices: Vec::new(),
            data,
            code,
            recorder,
            wake: start,
            core_at: start,
            now: start,
            again: None,
            next: VecDeque::with_capacity(4),
            waiting: Waiting::Nothing,
            last_load: LastLoad::At(start),
            sample_start: start,
            reads_at_start: 0,
            waited_until: start,
            blocked_since: start,
            detour: None,
            straight: false,
            again_line: Line::EMPTY,
            misses: false,
        }
    }

    /// Its samples take so long besides their accesses.
    pub fn set_base(&mut self, base: Ps) {
        if let Some(recorder) = &mut self.recorder {
            recorder.base = base;
        }
    }

    /// Acts from `wake` on, up to `horizon` at most: until then nobody else does anything. Returns when its last stretch
    /// without a miss began.
    #[inline(never)]
    pub fn run(&mut self, world: &mut World, mut horizon: Ps, samples: &mut dyn SampleReceiver) -> Ps {
        let mut began = self.wake;
        loop {
            self.now = began;
            if self.front_at() <= began {
                self.run_front(world);
            } else {
                self.run_core(world, horizon, samples);
            }
            self.wake = self.core_at.min(self.front_at());
            // After a miss the memory has something to do, perhaps before this program's next access.
            horizon = horizon.min(world.memory.next_time());
            if self.wake >= horizon || !world.is_settled() {
                return began;
            }
            began = self.wake;
        }
    }

    /// When the front acts next. While a request finds no entry in a filter, nothing else goes out.
    #[inline]
    fn front_at(&self) -> Ps {
        match &self.front {
            Some(front) if !self.port.is_blocked() => front.at,
            _ => Ps::NEVER,
        }
    }

    /// The core's own operations, until one misses or somebody else acts.
    #[inline]
    fn run_core(&mut self, world: &mut World, horizon: Ps, samples: &mut dyn SampleReceiver) {
        self.waiting = Waiting::Nothing;
        while self.now <= horizon && self.now < self.front_at() {
            let op = match self.again.take() {
                Some(op) => op,
                None if self.next.is_empty() => self.next_of_stream(),
                None => self.next.pop_front().expect("it is not empty"),
            };
            let goes_on = match op {
                Op::Touch(touch) => self.touch(touch, world),
                Op::Compute(instructions) => self.compute(instructions),
                Op::Mispredicted(on_load) => self.begin_again(on_load),
                Op::Delay(length) => {
                    self.now += length;
                    true
                }
                Op::Period(length) => {
                    self.now = self.next_period(self.now, length);
                    true
                }
                Op::Release(first, period) => {
                    self.now = self.next_release(self.now, first, period);
                    true
                }
                Op::Start | Op::End | Op::Fence if self.leaves_line(op, world) => true,
                Op::Fence => self.drained(op),
                Op::Start => self.drained(op) && self.start_sample(world),
                Op::End => self.drained(op) && self.end_sample(world, samples),
                Op::Turn => self.turn(world),
                Op::Leave(number) => self.drained(op) && self.leave(number, world),
            };
            if !goes_on {
                return;
            }
        }
        self.core_at = self.now;
    }

    #[inline(always)]
    fn next_of_stream(&mut self) -> Op {
        loop {
            if self.detour.as_ref().is_some_and(|detour| detour.is_due(self.now)) {
                return Op::Turn;
            }
            let step = self.stream.next();
            if let (Some(detour), Some(step)) = (&mut self.detour, &step) {
                detour.count(step);
            }
            match step {
                Some(WorkloadStep::Access(access)) if access.operation == Operation::Atomic => {
                    self.next.push_back(self.touch_of(access));
                    return Op::Fence;
                }
                Some(WorkloadStep::Access(access)) => return self.touch_of(access),
                Some(WorkloadStep::Start) if self.recorder.is_some() => return Op::Start,
                Some(WorkloadStep::End) if self.recorder.is_some() => return Op::End,
                Some(WorkloadStep::Start | WorkloadStep::End) => {}
                Some(WorkloadStep::Compute { instructions, .. }) => return Op::Compute(instructions),
                Some(WorkloadStep::Mispredicted { on_shown }) => return Op::Mispredicted(on_shown),
                Some(WorkloadStep::Wait(ns)) => return Op::Period(Ps::from_ns(ns)),
                Some(WorkloadStep::Release { offset_ns, period_ns }) => {
                    return Op::Release(Ps::from_ns(offset_ns), Ps::from_ns(period_ns));
                }
                None => return Op::Delay(Ps::NEVER / 2),
            }
        }
    }

    #[inline(always)]
    pub(crate) fn touch_of(&self, access: Access) -> Op {
        let (region, fetch) = match access.region {
            Which::Data => (&self.data, false),
            Which::Code => (&self.code, true),
        };
        let line = region.line(access.offset);
        // An atomic add is a change that what follows waits for; all that came before has ended.
        let atomic = access.operation == Operation::Atomic;
        let loads = atomic || matches!(access.operation, Operation::Read | Operation::Modify);
        let stores = atomic || matches!(access.operation, Operation::Write | Operation::Modify);
        let want = match (fetch, stores) {
            (true, _) => Want::Fetch,
            (false, true) => Want::Write,
            (false, false) => Want::Read,
        };
        let dependent = access.dependent || atomic;
        let blocking = fetch || dependent || (loads && self.port.stops_at_loads);
        let touch = Touch { line, want, load: loads && !fetch, blocking, dependent, page: NONE, words: 0 };
        Op::Touch(match &self.front {
            Some(front) => front.complete(touch, region, access.offset),
            None => touch,
        })
    }

    /// Instructions without memory; as many as the window has room for, the others follow.
    fn compute(&mut self, instructions: u64) -> bool {
        match self.window.room(&self.port.mshrs, self.now) {
            WindowSpace::For(room) => {
                let begin = instructions.min(room);
                self.window.begin(begin);
                self.now += self.port.latencies.instructions(begin);
                self.again = (begin < instructions).then(|| Op::Compute(instructions - begin));
                true
            }
            full => self.wait_for_window(full, Op::Compute(instructions)),
        }
    }

    /// Wrong-path work behind a mispredicted branch is discarded: the core begins again when the branch has its
    /// value, and its pipeline is empty then.
    #[inline(never)]
    fn begin_again(&mut self, on_load: bool) -> bool {
        let Some(misprediction) = self.port.latencies.misprediction else { return true };
        let value_at = match self.last_load {
            _ if !on_load => self.now + self.port.latencies.l1,
            LastLoad::In(mshr, _) if self.window.waits_for(mshr) => match self.port.mshrs.done_at(mshr) {
                Ps::NEVER => return self.wait(Waiting::Mshr(mshr), Ps::NEVER, Op::Mispredicted(on_load)),
                time => time,
            },
            LastLoad::At(at) | LastLoad::In(_, at) => at,
            LastLoad::Held(_) => return self.wait(Waiting::Walk, Ps::NEVER, Op::Mispredicted(on_load)),
        };
        self.now = self.now.max(value_at) + misprediction;
        true
    }

    /// The window is full: `op` waits for its oldest load.
    #[cold]
    fn wait_for_window(&mut self, room: WindowSpace, op: Op) -> bool {
        match room {
            WindowSpace::AfterMshr(mshr) => self.wait(Waiting::Mshr(mshr), self.port.mshrs.done_at(mshr), op),
            WindowSpace::AfterWalk | WindowSpace::For(_) => self.wait(Waiting::Walk, Ps::NEVER, op),
        }
    }

    /// `op` is tried again at a time, or when what the core waits for has come.
    fn wait(&mut self, waiting: Waiting, until: Ps, op: Op) -> bool {
        self.again = Some(op);
        self.blocked_since = self.now;
        self.waiting = waiting;
        self.core_at = until;
        false
    }

    /// The counter is read when everything is there; until then `op` waits.
    pub(crate) fn drained(&mut self, op: Op) -> bool {
        match self.all_done() {
            Ps::NEVER => self.wait(Waiting::AllMshrs, Ps::NEVER, op),
            time => {
                self.now = self.now.max(time);
                true
            }
        }
    }

    /// When everything that is outstanding is there.
    fn all_done(&self) -> Ps {
        match &self.front {
            Some(front) if front.is_busy() => Ps::NEVER,
            _ => self.port.mshrs.all_done(),
        }
    }

    /// An access that found no entry in a filter is tried again at a time.
    #[inline(never)]
    pub fn unblocked(&mut self, world: &mut World, at: Ps) {
        if self.waiting == Waiting::Entry {
            world.hierarchy.counts[self.port.core].stalled_for_filters_ps += (at - self.blocked_since).get();
            self.waiting = Waiting::Nothing;
            self.core_at = at;
        }
        if let Some(front) = &mut self.front {
            front.put_off_until(at);
        }
        self.wake = self.core_at.min(self.front_at());
    }

    /// Memory has answered an MSHR.
    #[inline(never)]
    pub fn answered(&mut self, mshr: usize, world: &mut World, now: Ps) {
        self.window.answered(mshr);
        if self.front.is_some() {
            self.front_answered(mshr, now);
        }
        let over = match self.waiting {
            Waiting::Nothing | Waiting::Entry | Waiting::Walk => false,
            Waiting::Mshr(expected) => expected == mshr,
            Waiting::AnyMshr | Waiting::Store => true,
            Waiting::AllMshrs => self.all_done() != Ps::NEVER,
        };
        if over {
            world.hierarchy.counts[self.port.core].stalled_for_memory_ps += (now - self.blocked_since).get();
            self.waiting = Waiting::Nothing;
            self.core_at = now;
        }
        self.wake = self.core_at.min(self.front_at());
    }

    /// Whether it only waits for a time, with nothing in flight.
    pub fn sleeps(&self, now: Ps) -> bool {
        self.again.is_none()
            && self.next.is_empty()
            && (now + Ps::new(1)..Ps::NEVER).contains(&self.core_at)
            && self.all_done() <= now
    }

    /// It has nothing in flight, and goes on at this time.
    pub fn goes_on_at(&mut self, at: Ps) {
        self.core_at = at;
        self.wake = at.min(self.front_at());
    }

    /// The end of a period of a length that is waited for from `now` on.
    pub fn next_period(&mut self, now: Ps, length: Ps) -> Ps {
        self.waited_until = now.max(self.waited_until + length);
        self.waited_until
    }

    /// The next release: `first`, or a whole number of periods after it, from `now` on and after the last one waited for. The common
    /// start is time 0 of the engine.
    pub fn next_release(&mut self, now: Ps, first: Ps, period: Ps) -> Ps {
        let from = now.max(self.waited_until + Ps::new(1));
        let periods = from.saturating_sub(first).div_ceil(period.max(Ps::new(1)));
        self.waited_until = first.saturating_add(period.saturating_mul(periods));
        self.waited_until
    }

    /// For a walk: the iteration of its outer loop.
    pub fn outer_iteration(&self) -> u64 {
        self.stream.outer_iteration().unwrap_or(0)
    }

    /// For a walk: so many iterations of the outer loop are over.
    pub fn skip_outer(&mut self, iterations: u64) {
        self.stream.start_at_outer(self.outer_iteration() + iterations);
    }
}
