//! A running workload that is a stream of steps: everything but `tick`.

use std::collections::VecDeque;

use waykeeper_workload::{Access, Operation, Region as Which, Step, Stream, recorder};

use crate::access::Want;
use crate::placement::Region;
use crate::port::{Issued, NEVER, Port, World};
use crate::samples::Samples;
use crate::tags::Line;

/// What a target does besides its stream: it reads the counter and records.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// Where it records.
    pub region: Region,
    /// Picoseconds between two values of the counter.
    pub counter_tick: u64,
}

/// A running stream.
#[derive(Debug, Clone)]
pub struct Program {
    /// Way to the memory.
    pub port: Port,
    stream: Stream,
    data: Region,
    code: Region,
    recorder: Option<Recorder>,
    /// When it acts next.
    pub wake: u64,
    now: u64,
    /// What could not go on and is tried again first.
    again: Option<Op>,
    /// What follows a sample, before the stream goes on.
    next: VecDeque<Op>,
    waiting: Waiting,
    sample_start: u64,
    waited_until: u64,
    blocked_since: u64,
}

/// One access: what stops the core until its value is there, and what only delays the next access.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Touch {
    line: Line,
    want: Want,
    /// The core stops until the line is there.
    blocking: bool,
    /// The next access needs its value.
    dependent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    Touch(Touch),
    Start,
    End,
    Delay(u64),
    Period(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Nothing,
    Slot(usize),
    AnySlot,
    AllSlots,
}

impl Program {
    /// A stream that begins at `start`; only one with a recorder takes samples.
    pub fn new(port: Port, stream: Stream, data: Region, code: Region, recorder: Option<Recorder>, start: u64) -> Self {
        Self {
            port,
            stream,
            data,
            code,
            recorder,
            wake: start,
            now: start,
            again: None,
            next: VecDeque::with_capacity(4),
            waiting: Waiting::Nothing,
            sample_start: start,
            waited_until: start,
            blocked_since: start,
        }
    }

    /// Acts from `wake` on, up to `horizon` at most: until then nobody else does anything. Gives when its last stretch
    /// without a miss began.
    pub fn run(&mut self, world: &mut World, mut horizon: u64, samples: &mut dyn Samples) -> u64 {
        let mut began = self.wake;
        self.now = began;
        self.waiting = Waiting::Nothing;
        while self.now <= horizon {
            let op = match self.again.take() {
                Some(op) => op,
                None if self.next.is_empty() => self.next_of_stream(),
                None => self.next.pop_front().expect("it is not empty"),
            };
            let goes_on = match op {
                Op::Touch(touch) => self.touch(touch, world),
                Op::Delay(ps) => {
                    self.now += ps;
                    true
                }
                Op::Period(ps) => {
                    self.now = self.now.max(self.waited_until + ps);
                    self.waited_until = self.now;
                    true
                }
                Op::Start => {
                    let drained = self.drained(op);
                    self.sample_start = self.now;
                    drained
                }
                Op::End => self.drained(op) && self.end_sample(samples),
            };
            if !goes_on {
                // After a miss the memory has something to do, perhaps before this program's next access.
                horizon = horizon.min(world.memory.next_time());
                if self.wake >= horizon || !world.is_settled() {
                    return began;
                }
                began = self.wake;
                self.now = began;
                self.waiting = Waiting::Nothing;
            }
        }
        self.wake = self.now;
        began
    }

    #[inline]
    fn next_of_stream(&mut self) -> Op {
        loop {
            match self.stream.next() {
                Some(Step::Access(access)) => return self.touch_of(access),
                Some(Step::Start) if self.recorder.is_some() => return Op::Start,
                Some(Step::End) if self.recorder.is_some() => return Op::End,
                Some(Step::Start | Step::End) => {}
                Some(Step::Compute { instructions, .. }) => {
                    return Op::Delay(instructions * self.port.latencies.cycle);
                }
                Some(Step::Wait(ns)) => return Op::Period((ns * 1e3).round() as u64),
                None => return Op::Delay(NEVER / 2),
            }
        }
    }

    #[inline]
    fn touch_of(&self, access: Access) -> Op {
        let (line, fetch) = match access.region {
            Which::Data => (self.data.line(access.offset), false),
            Which::Code => (self.code.line(access.offset), true),
        };
        let loads = matches!(access.operation, Operation::Read | Operation::Modify);
        let stores = matches!(access.operation, Operation::Write | Operation::Modify);
        let want = match (fetch, stores) {
            (true, _) => Want::Fetch,
            (false, true) => Want::Write,
            (false, false) => Want::Read,
        };
        let blocking = fetch || access.dependent || (loads && !self.port.out_of_order);
        Op::Touch(Touch { line, want, blocking, dependent: access.dependent })
    }

    /// One access; false if somebody else may have to act before the next one.
    #[inline]
    fn touch(&mut self, touch: Touch, world: &mut World) -> bool {
        let Touch { line, want, blocking, dependent } = touch;
        let latencies = self.port.latencies;
        match self.port.issue(world, line, want, self.now) {
            Issued::Hit => {
                // A dependent load waits for its value; everything else goes on in the next cycle.
                self.now += if dependent { latencies.l1 } else { latencies.cycle };
                return true;
            }
            Issued::At(time) if blocking || !self.port.keep_until(time) => {
                world.hierarchy.counts[self.port.core].stalled_for_shared_ps += time - self.now;
                self.wake = time;
            }
            Issued::Pending(slot) if blocking => {
                self.blocked_since = self.now;
                self.waiting = Waiting::Slot(slot);
                self.wake = NEVER;
            }
            Issued::At(_) | Issued::Pending(_) => self.wake = self.now + latencies.cycle,
            Issued::Blocked => {
                self.again = Some(Op::Touch(touch));
                self.blocked_since = self.now;
                self.wake = NEVER;
            }
            Issued::Full(time) => {
                self.again = Some(Op::Touch(touch));
                self.blocked_since = self.now;
                self.waiting = Waiting::AnySlot;
                self.wake = time;
            }
        }
        false
    }

    /// The counter is read when everything is there; until then `op` waits.
    fn drained(&mut self, op: Op) -> bool {
        match self.port.all_done() {
            NEVER => {
                self.again = Some(op);
                self.blocked_since = self.now;
                self.waiting = Waiting::AllSlots;
                self.wake = NEVER;
                false
            }
            time => {
                self.now = self.now.max(time);
                true
            }
        }
    }

    fn end_sample(&mut self, samples: &mut dyn Samples) -> bool {
        if let Some(Recorder { region, counter_tick }) = &self.recorder {
            let ticks = self.now / counter_tick - self.sample_start / counter_tick;
            samples.record(ticks, 1, self.now);
            let count = recorder::count_offset(ticks.min(recorder::OVERFLOW_FROM - 1));
            for offset in [0, count] {
                let blocking = !self.port.out_of_order;
                let line = region.line(offset);
                self.next.push_back(Op::Touch(Touch { line, want: Want::Write, blocking, dependent: false }));
            }
        }
        true
    }

    /// The access that found no entry in a filter is tried again.
    #[inline]
    pub fn unblocked(&mut self, world: &mut World, at: u64) {
        world.hierarchy.counts[self.port.core].stalled_for_filters_ps += at - self.blocked_since;
        self.wake = at;
    }

    /// Memory has answered a slot.
    #[inline]
    pub fn answered(&mut self, slot: usize, world: &mut World, now: u64) {
        let over = match self.waiting {
            Waiting::Nothing => false,
            Waiting::Slot(expected) => expected == slot,
            Waiting::AnySlot => true,
            Waiting::AllSlots => self.port.all_done() != NEVER,
        };
        if over {
            world.hierarchy.counts[self.port.core].stalled_for_memory_ps += now - self.blocked_since;
            self.waiting = Waiting::Nothing;
            self.wake = now;
        }
    }
}
