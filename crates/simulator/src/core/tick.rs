//! A `tick` workload: passes of a loop whose lines are nearly always in the first level.
//!
//! While all of them are there nothing happens but time, so such a stretch of passes is counted, not run. A line that
//! some filter takes away ends the stretch.

use waykeeper_workload::{Xorshift, recorder};

use crate::caches::access::Want;
use crate::core::front::translation::Side;
use crate::core::placement::MemoryRegion;
use crate::core::port::{Issued, Port};
use crate::core::program::EventLine;
use crate::core::world::World;
use crate::line::Line;
use crate::observe::explain::LineRole;
use crate::observe::samples::SampleReceiver;
use crate::time::Ps;

/// A delay that passes have now and then on an idle machine.
#[derive(Debug, Clone)]
pub struct IdleJitter {
    /// The length of the longest.
    pub longest: Ps,
    /// Passes from one to the next.
    pub every: u64,
    /// For its length.
    pub random: Xorshift,
}

impl IdleJitter {
    /// The length of the next one.
    fn random_length(&mut self) -> Ps {
        Ps::new(self.random.below(self.longest.get() + 1))
    }
}

/// A running `tick` workload.
#[derive(Debug, Clone)]
pub struct RunningTick {
    /// Way to the memory.
    pub port: Port,
    /// Lines of code of a pass, its body included.
    pub code: Vec<Line>,
    /// Lines that a pass changes: its stack and the recorder's header.
    pub data: Vec<Line>,
    /// The recorder.
    pub recorder: MemoryRegion,
    /// Core cycles of a pass without a miss.
    pass_cycles: u64,
    /// The time of such a pass.
    pass: Ps,
    /// The time between two values of the counter.
    pub counter_tick: Ps,
    /// Idle jitter.
    pub jitter: IdleJitter,
    state: State,
    /// When it acts next.
    pub wake: Ps,
    now: Ps,
    pass_start: Ps,
    last_ticks: u64,
    passes_to_jitter: u64,
    /// Lines of counts that quiet passes do not touch.
    seldom: Option<Vec<Line>>,
    /// Of skipped time: what is no whole pass, and passes since the last with a jitter.
    skip_left_over: (Ps, u64),
    missed: bool,
    blocked_since: Ps,
    /// Passes to go that are not samples: the first fills the caches, the others touch the recorder's lines of the
    /// values that an idle loop can have.
    warm_up: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// All lines are there: passes since `pass_start` are not yet counted.
    Quiet,
    /// At this touch of the pass.
    Touching(usize),
    /// A filter has no entry for this touch.
    Blocked(usize),
    /// Memory owes the line of this MSHR.
    Waiting(usize, usize),
    /// All touches are made; memory owes some of their lines.
    Draining,
    /// The pass ends at `wake`.
    Computing,
}

impl RunningTick {
    /// A loop that begins at `start`.
    #[expect(clippy::too_many_arguments, reason = "each is one property of the loop, named by its field")]
    pub fn new(
        port: Port,
        code: Vec<Line>,
        data: Vec<Line>,
        recorder: MemoryRegion,
        (pass_cycles, cycle_ns): (u64, f64),
        counter_tick: Ps,
        jitter: IdleJitter,
        start: Ps,
    ) -> Self {
        let pass = length(pass_cycles, cycle_ns);
        Self {
            port,
            code,
            data,
            recorder,
            pass_cycles,
            pass,
            counter_tick,
            state: State::Touching(0),
            wake: start,
            now: start,
            pass_start: start,
            last_ticks: pass / counter_tick,
            passes_to_jitter: jitter.every,
            seldom: None,
            skip_left_over: (Ps::ZERO, 0),
            missed: false,
            blocked_since: Ps::ZERO,
            warm_up: 2 + jitter.longest.div_ceil(counter_tick),
            jitter,
        }
    }

    /// The core goes on at another clock. All quiet passes that ended are counted; the one in flight ends as it began.
    pub fn set_clock(&mut self, cycle_ns: f64) {
        if self.state == State::Quiet {
            self.missed = false;
            self.passes_to_jitter -= 1;
            self.sleep(State::Computing, self.pass_start + self.pass);
        }
        self.pass = length(self.pass_cycles, cycle_ns);
    }

    /// Lines of a pass besides those that the recorder's values decide. A loop's few pages are in its first TLBs after the
    /// first pass, so its addresses do not matter.
    pub fn event(&self) -> Vec<EventLine> {
        let lines = |lines: &[Line], side| -> Vec<EventLine> {
            lines.iter().map(|line| EventLine { side, line: *line, address: 0 }).collect()
        };
        let mut event = lines(&self.code, Side::Instructions);
        event.extend(lines(&self.data, Side::Data));
        event
    }

    /// Acts at `wake`.
    pub fn run(&mut self, world: &mut World, samples: &mut dyn SampleReceiver) {
        match self.state {
            State::Quiet => {
                self.count_quiet_passes(self.wake, samples);
                self.begin_pass();
            }
            State::Computing => self.end_pass(world, samples),
            State::Touching(at) => self.touch(at, world),
            State::Blocked(_) | State::Waiting(..) | State::Draining => {}
        }
    }

    /// The touches of a pass: its code, its data, the counter of the value before.
    fn touch_at(&self, at: usize) -> Option<(Line, Want)> {
        let data = at.wrapping_sub(self.code.len());
        if at < self.code.len() {
            Some((self.code[at], Want::Fetch))
        } else if data < self.data.len() {
            Some((self.data[data], Want::Write))
        } else if data == self.data.len() {
            Some((self.count_line(self.last_ticks), Want::Write))
        } else {
            None
        }
    }

    fn count_line(&self, ticks: u64) -> Line {
        self.recorder.line(recorder::count_offset(ticks.min(recorder::OVERFLOW_FROM - 1)))
    }

    fn touch(&mut self, mut at: usize, world: &mut World) {
        self.now = self.wake;
        while let Some((line, want)) = self.touch_at(at) {
            let blocking = !self.port.out_of_order || want == Want::Fetch;
            match self.port.issue(world, line, want, self.now) {
                Issued::Hit => at += 1,
                Issued::At(arrival) => {
                    self.missed = true;
                    at += 1;
                    if blocking || self.port.mshrs.keep_until(arrival).is_none() {
                        world.hierarchy.counts[self.port.core].stalled_for_shared_ps += (arrival.at - self.now).get();
                        self.now = arrival.at;
                    }
                    // What the access changed elsewhere must be seen before the next one.
                    return self.sleep(State::Touching(at), self.now);
                }
                Issued::Pending(mshr) | Issued::Joined(mshr) => {
                    self.missed = true;
                    self.blocked_since = self.now;
                    at += 1;
                    return match blocking {
                        true => self.sleep(State::Waiting(mshr, at), Ps::NEVER),
                        false => self.sleep(State::Touching(at), self.now),
                    };
                }
                Issued::Blocked => {
                    self.missed = true;
                    self.blocked_since = self.now;
                    return self.sleep(State::Blocked(at), Ps::NEVER);
                }
                Issued::Full(time) => {
                    self.blocked_since = self.now;
                    // Any answer ends this wait.
                    return self.sleep(State::Touching(at), time);
                }
            }
        }
        self.drain(world);
    }

    /// The counter is read when everything is there.
    fn drain(&mut self, world: &mut World) {
        match self.port.mshrs.all_done() {
            Ps::NEVER => self.sleep(State::Draining, Ps::NEVER),
            time => {
                let time = time.max(self.now);
                world.hierarchy.counts[self.port.core].stalled_for_shared_ps += (time - self.now).get();
                let end = time + self.pass + self.jitter_of_pass();
                self.sleep(State::Computing, end);
            }
        }
    }

    fn jitter_of_pass(&mut self) -> Ps {
        self.passes_to_jitter -= 1;
        if self.passes_to_jitter > 0 {
            return Ps::ZERO;
        }
        self.passes_to_jitter = self.jitter.every;
        self.jitter.random_length()
    }

    fn sleep(&mut self, state: State, until: Ps) {
        self.state = state;
        self.wake = until;
    }

    /// The touch that found no entry in a filter is tried again.
    pub fn unblocked(&mut self, world: &mut World, time: Ps) {
        if let State::Blocked(at) = self.state {
            world.hierarchy.counts[self.port.core].stalled_for_filters_ps += (time - self.blocked_since).get();
            self.sleep(State::Touching(at), time);
        }
    }

    /// Memory has answered an MSHR.
    pub fn answered(&mut self, mshr: usize, world: &mut World, now: Ps) {
        let stalled = &mut world.hierarchy.counts[self.port.core].stalled_for_memory_ps;
        match self.state {
            State::Waiting(expected, at) if expected == mshr => {
                *stalled += (now - self.blocked_since).get();
                self.sleep(State::Touching(at), now);
            }
            State::Touching(at) if self.wake == Ps::NEVER => {
                *stalled += (now - self.blocked_since).get();
                self.sleep(State::Touching(at), now);
            }
            State::Draining if self.port.mshrs.all_done() != Ps::NEVER => {
                *stalled += (now - self.blocked_since).get();
                self.now = now;
                self.drain(world);
            }
            _ => {}
        }
    }

    fn begin_pass(&mut self) {
        self.missed = false;
        self.sleep(State::Touching(0), self.pass_start);
    }

    fn end_pass(&mut self, world: &mut World, samples: &mut dyn SampleReceiver) {
        let end = self.wake;
        self.last_ticks = end / self.counter_tick - self.pass_start / self.counter_tick;
        if self.warm_up > 0 {
            self.warm_up -= 1;
            self.last_ticks = self.pass / self.counter_tick + self.warm_up;
        } else {
            samples.record(self.last_ticks, 1, end.get());
        }
        if self.last_ticks > self.pass / self.counter_tick + 1 {
            let line = self.count_line(self.last_ticks);
            if let Some(seldom) = &mut self.seldom
                && !seldom.contains(&line)
            {
                seldom.push(line);
            }
        }
        if self.port.explains {
            self.explain(world, end);
        }
        self.pass_start = end;
        let warm = self.warm_up == 0 && !self.missed;
        if warm && self.passes_to_jitter > 1 && self.all_there(world) {
            // The last pass before a jittery one is run, so that its count decides what that one touches.
            self.sleep(State::Quiet, end + self.pass * (self.passes_to_jitter - 1));
        } else {
            self.begin_pass();
        }
    }

    /// A pass has ended: whoever explains the longest ones looks at it.
    #[cold]
    fn explain(&self, world: &mut World, end: Ps) {
        let Some(explainer) = &mut world.explainer else { return };
        if self.warm_up > 0 {
            return explainer.begins();
        }
        let stack = self.data.split_last().map_or(&[][..], |(_, stack)| stack);
        let name = |line| if stack.contains(&line) { LineRole::Stack } else { LineRole::Recorder };
        explainer.ended(self.last_ticks, self.pass_start, end, name);
    }

    /// Whether a pass would hit in the first level throughout, whichever of its two values came before.
    fn all_there(&self, world: &World) -> bool {
        let caches = &world.hierarchy.cores[self.port.core];
        let shortest = self.pass / self.counter_tick;
        let counts = [self.last_ticks, shortest, shortest + 1].map(|ticks| self.count_line(ticks));
        self.code.iter().all(|line| caches.l1i.find(*line).is_some())
            && self.data.iter().chain(&counts).all(|line| caches.l1d.find(*line).is_some())
    }

    /// Counts the quiet passes that ended by `now`.
    pub fn count_quiet_passes(&mut self, now: Ps, samples: &mut dyn SampleReceiver) {
        if self.state != State::Quiet {
            return;
        }
        let passes = (now - self.pass_start) / self.pass;
        if passes == 0 {
            return;
        }
        let end = self.pass_start + self.pass * passes;
        let shortest = self.pass / self.counter_tick;
        let ticks = end / self.counter_tick - self.pass_start / self.counter_tick;
        let longer = ticks - passes * shortest;
        record_two(samples, shortest, [passes - longer, longer], end);
        self.last_ticks = end / self.counter_tick - (end - self.pass) / self.counter_tick;
        self.passes_to_jitter -= passes;
        self.pass_start = end;
    }

    /// Whether nothing but passes without a miss is in progress.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.state == State::Quiet
    }

    /// The lines that quiet passes change.
    pub fn changed_lines(&self) -> Vec<Line> {
        let shortest = self.pass / self.counter_tick;
        let mut lines = self.data.clone();
        for line in [shortest, shortest + 1].map(|ticks| self.count_line(ticks)) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    /// The lines that quiet passes need; none if something else than passes without a miss is in progress.
    pub fn lines_if_quiet(&self) -> Option<Vec<Line>> {
        if self.state != State::Quiet {
            return None;
        }
        Some(self.code.iter().copied().chain(self.changed_lines()).collect())
    }

    /// Further lines that are still in a cache of those that longer passes have touched.
    pub fn seldom_lines(&mut self, world: &World) -> &[Line] {
        let core = self.port.core;
        let seldom = self.seldom.get_or_insert_default();
        seldom.retain(|line| world.hierarchy.is_held(core, *line));
        seldom
    }

    /// Counts the quiet passes of a time that nobody simulates, which ends at `at`.
    pub fn skip(&mut self, length: Ps, at: Ps, samples: &mut dyn SampleReceiver) {
        // What is left of the last pass is left out: the passes in progress before and after are one.
        let (length, since) = (length + self.skip_left_over.0, self.skip_left_over.1);
        let passes = length / self.pass;
        let jittered = (since + passes) / self.jitter.every;
        self.skip_left_over = (length % self.pass, (since + passes) % self.jitter.every);
        let shortest = self.pass / self.counter_tick;
        let longer = self.pass * passes / self.counter_tick - passes * shortest;
        let longer = longer.min(passes - jittered);
        record_two(samples, shortest, [passes - longer - jittered, longer], at);
        for _ in 0..jittered {
            let pass = self.pass + self.jitter.random_length();
            samples.record(pass / self.counter_tick, 1, at.get());
        }
    }

    /// The core lost a line: the pass in progress ends as it began, the next one will miss.
    pub fn disturbed(&mut self, now: Ps, samples: &mut dyn SampleReceiver) {
        if self.state != State::Quiet {
            return;
        }
        self.count_quiet_passes(now, samples);
        if self.wake == now {
            return self.begin_pass();
        }
        self.missed = false;
        self.passes_to_jitter -= 1;
        self.sleep(State::Computing, self.pass_start + self.pass);
    }
}

/// So many samples of a value, and of the next one, up to a time.
fn record_two(samples: &mut dyn SampleReceiver, value: u64, counts: [u64; 2], at: Ps) {
    for (value, count) in (value..).zip(counts).filter(|(_, count)| *count > 0) {
        samples.record(value, count, at.get());
    }
}

/// The time of a pass.
fn length(cycles: u64, cycle_ns: f64) -> Ps {
    Ps::from_ns(cycles as f64 * cycle_ns).max(Ps::new(1))
}
