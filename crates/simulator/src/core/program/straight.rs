//! Streams that only read, on cores with nothing before their caches: what they do between two events of others, written
//! out for the usual cases. Everything else takes the general way, from the same state on.

use crate::caches::access::Want;
use crate::caches::hierarchy::Straight;
use crate::core::front::tlb::NONE;
use crate::core::program::{Op, Program, Touch, Waiting};
use crate::core::world::World;
use crate::line::Line;
use crate::observe::samples::Discard;
use crate::time::Ps;

impl Program {
    /// Finds out whether it takes the short way from now on. To be asked again whenever something was changed from outside.
    pub fn choose_way(&mut self, world: &World) {
        self.leave_straight();
        self.straight = self.stream.only_reads()
            && self.front.is_none()
            && self.detour.is_none()
            && self.recorder.is_none()
            && self.next.is_empty()
            && self.window.is_unbounded()
            && self.port.reads_straight()
            && world.hierarchy.reads_straight(self.port.core)
            && self.enter_straight();
    }

    /// What is tried again is a line on the short way, and an operation on the general one.
    fn leave_straight(&mut self) {
        if self.again_line != Line::EMPTY {
            let line = std::mem::replace(&mut self.again_line, Line::EMPTY);
            let (want, load, blocking, dependent) = (Want::Read, true, false, false);
            self.again = Some(Op::Touch(Touch { line, want, load, blocking, dependent, page: NONE, words: 0 }));
        }
    }

    /// The other way round; false if that cannot be.
    fn enter_straight(&mut self) -> bool {
        match self.again {
            Some(Op::Touch(Touch { line, want: Want::Read, blocking: false, dependent: false, .. })) => {
                self.again_line = line;
                self.again = None;
            }
            Some(_) => return false,
            None => {}
        }
        true
    }

    /// Whether it takes the short way.
    #[inline(always)]
    pub fn is_straight(&self) -> bool {
        self.straight
    }

    /// Whether an answer changes nothing for the core: it takes the short way, and waits for no MSHR.
    #[inline(always)]
    pub fn goes_on_as_planned(&self) -> bool {
        self.straight && matches!(self.waiting, Waiting::Nothing | Waiting::Entry)
    }

    /// The same as [`Program::unblocked`], for one that takes the short way.
    #[inline(always)]
    pub fn unblocked_straight(&mut self, world: &mut World, at: Ps) {
        debug_assert!(self.waiting == Waiting::Entry && self.front.is_none());
        world.hierarchy.counts[self.port.core].stalled_for_filters_ps += (at - self.blocked_since).get();
        self.waiting = Waiting::Nothing;
        (self.core_at, self.wake) = (at, at);
    }

    /// The same as [`Program::run`], for one that takes the short way.
    #[inline(always)]
    pub fn run_straight(&mut self, world: &mut World, mut horizon: Ps) -> Ps {
        let mut began = self.wake;
        loop {
            self.now = began;
            self.read_on(world, horizon);
            self.wake = self.core_at;
            horizon = horizon.min(world.memory.next_time());
            if self.wake >= horizon || !world.is_settled() {
                return began;
            }
            began = self.wake;
        }
    }

    /// Reads until one misses or somebody else acts.
    #[inline(always)]
    fn read_on(&mut self, world: &mut World, horizon: Ps) {
        self.waiting = Waiting::Nothing;
        let mut now = self.now;
        while now <= horizon {
            let again = std::mem::replace(&mut self.again_line, Line::EMPTY);
            let line = if again == Line::EMPTY { self.data.line(self.stream.next_read()) } else { again };
            let World { hierarchy, effects, .. } = world;
            let core = self.port.core;
            let read = match self.port.mshrs.free_mshr() {
                Some(mshr) => Some(mshr).zip(hierarchy.read_straight(core, line, self.misses, now, effects)),
                None => None,
            };
            match read {
                Some((_, Straight::Hit)) => {
                    self.misses = false;
                    world.hierarchy.counts[self.port.core].hit_first();
                    self.window.begin(1);
                    now += self.port.latencies.pace;
                }
                Some((mshr, Straight::Asked(entry))) => {
                    self.misses = true;
                    self.port.ask(world, mshr, (line, entry), now);
                    self.window.begin(1);
                    self.now = now;
                    self.core_at = now + self.port.latencies.pace;
                    return;
                }
                Some((_, Straight::Busy)) => {
                    self.port.wait_for_entry(world, line, now);
                    (self.again_line, self.misses) = (line, true);
                    (self.now, self.blocked_since) = (now, now);
                    self.waiting = Waiting::Entry;
                    self.core_at = Ps::NEVER;
                    return;
                }
                None => {
                    (self.again_line, self.now) = (line, now);
                    return self.go_on_generally(world, horizon);
                }
            }
        }
        (self.now, self.core_at) = (now, now);
    }

    #[cold]
    #[inline(never)]
    fn go_on_generally(&mut self, world: &mut World, horizon: Ps) {
        self.leave_straight();
        // It takes no samples.
        self.run_core(world, horizon, &mut Discard);
        let entered = self.enter_straight();
        debug_assert!(entered, "a stream that only reads has nothing else to try again");
    }
}
