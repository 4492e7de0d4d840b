//! A running workload that is a stream of steps: everything but `tick`.

use std::collections::VecDeque;

use waykeeper_workload::{Access, Operation, Region as Which, Step, Stream, recorder};

use crate::access::Want;
use crate::placement::Region;
use crate::port::{Arrival, Issued, NEVER, Port, World};
use crate::samples::Samples;
use crate::tags::Line;
use crate::window::{Room, Window};

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
    window: Window,
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
    /// It is a load: until the line is there it stays in the core's window.
    load: bool,
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
    Compute(u64),
    Delay(u64),
    Period(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Nothing,
    /// This slot.
    Slot(usize),
    AnySlot,
    AllSlots,
}

impl Program {
    /// A stream that begins at `start`; only one with a recorder takes samples.
    pub fn new(
        port: Port,
        window: Window,
        stream: Stream,
        [data, code]: [Region; 2],
        recorder: Option<Recorder>,
        start: u64,
    ) -> Self {
        Self {
            port,
            window,
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
                Op::Compute(instructions) => self.compute(instructions),
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
                Some(Step::Compute { instructions, .. }) => return Op::Compute(instructions),
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
        Op::Touch(Touch { line, want, load: loads && !fetch, blocking, dependent: access.dependent })
    }

    /// Instructions without memory; as many as the window has room for, the others follow.
    fn compute(&mut self, instructions: u64) -> bool {
        match self.window.room(&self.port, self.now) {
            Room::AfterSlot(slot) => self.wait_for(slot, Op::Compute(instructions)),
            Room::For(room) => {
                let begin = instructions.min(room);
                self.window.begin(begin);
                self.now += self.port.latencies.instructions(begin);
                self.again = (begin < instructions).then(|| Op::Compute(instructions - begin));
                true
            }
        }
    }

    /// The window is full: `op` waits for a slot.
    #[cold]
    fn wait_for(&mut self, slot: usize, op: Op) -> bool {
        self.again = Some(op);
        self.blocked_since = self.now;
        self.waiting = Waiting::Slot(slot);
        self.wake = self.port.done_at(slot);
        false
    }

    /// One access; false if somebody else may have to act before the next one.
    #[inline]
    fn touch(&mut self, touch: Touch, world: &mut World) -> bool {
        if let Room::AfterSlot(slot) = self.window.room(&self.port, self.now) {
            return self.wait_for(slot, Op::Touch(touch));
        }
        let Touch { line, want, load, blocking, dependent } = touch;
        let latencies = &self.port.latencies;
        let (l1, pace) = (latencies.l1, latencies.pace);
        let issued = self.port.issue(world, line, want, self.now);
        match issued {
            Issued::Hit => {
                self.window.begin(1);
                // A dependent load waits for its value; everything else goes on at the core's pace.
                self.now += if dependent { l1 } else { pace };
                return true;
            }
            Issued::At(arrival) => {
                self.window.begin(1);
                self.wake = if self.goes_on(arrival, load, blocking) {
                    self.now + pace
                } else {
                    world.hierarchy.counts[self.port.core].stalled_for_shared_ps += arrival.at - self.now;
                    arrival.at
                };
            }
            Issued::Pending(slot) | Issued::Joined(slot) => {
                self.window.begin(1);
                if blocking {
                    self.blocked_since = self.now;
                    self.waiting = Waiting::Slot(slot);
                    self.wake = NEVER;
                } else {
                    if load {
                        self.window.wait_for(slot, issued == Issued::Joined(slot));
                    }
                    self.wake = self.now + pace;
                }
            }
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

    /// Whether the core goes on while a line is on its way from another cache.
    #[inline]
    fn goes_on(&mut self, arrival: Arrival, load: bool, blocking: bool) -> bool {
        if blocking {
            return false;
        }
        let slot = self.port.keep_until(arrival);
        if let (Some(slot), true) = (slot, load) {
            self.window.wait_for(slot, false);
        }
        slot.is_some()
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
                self.next.push_back(Op::Touch(Touch {
                    line,
                    want: Want::Write,
                    load: false,
                    blocking,
                    dependent: false,
                }));
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
        self.window.answered(slot);
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
