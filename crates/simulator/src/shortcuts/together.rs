//! Warm-ups before the windows of a pass, mostly without time: the target rests at their beginning, its neighbours come to
//! rest, and all fast-forward together, each at the pace that it had in time. The clock stands still meanwhile.

use crate::core::program::Program;
use crate::engine::Engine;
use crate::engine::running::Running;
use crate::engine::shortcut::Shortcut;
use crate::observe::samples::{Discard, SampleReceiver};
use crate::shortcuts::forward::Before;
use crate::shortcuts::sampled::SampledPass;
use crate::shortcuts::warm_up::{LEAD, Paced, TO_REST, TOGETHER, can_go_forward, forward_some};
use crate::shortcuts::window_warm_up::WindowWarmUp;
use crate::time::Ps;

/// How often the target is asked whether it rests.
const LOOK: Ps = Ps::new(1_000_000);

/// Fast-forwards all programs together when the target asks for it.
#[derive(Debug, Clone)]
struct Together {
    /// The number of the target.
    target: usize,
    look_at: Ps,
    /// Since when the neighbours are to rest.
    asked: Option<Ps>,
}

impl Engine {
    /// Prepares all programs for warm-ups of this length before the windows of this target, and returns how they
    /// are divided. `None` where they have to be in time: they are short, other shortcuts are taken, or a neighbour has periods or
    /// is no walk, chase, buffer or trace in full.
    pub(super) fn warm_up_together(&mut self, target: usize, length: Ps) -> Option<WindowWarmUp> {
        if self.running.len() == 1 {
            return Some(WindowWarmUp::alone(length));
        }
        let warm_up = WindowWarmUp::together(length)?;
        let can = |at: usize| {
            let pattern = &self.programs[at].pattern;
            at == target
                || can_go_forward(pattern)
                    && pattern.period_ns().is_none()
                    && matches!(&self.running[at], Running::Stream(stream) if stream.detour.is_none())
        };
        if self.takes_shortcuts() || !(0..self.running.len()).all(can) {
            return None;
        }
        for (at, running) in self.running.iter_mut().enumerate() {
            if let Running::Stream(stream) = running
                && at != target
            {
                stream.detour = Some(Box::new(Paced::from(LEAD)));
            }
        }
        self.take_shortcuts(Box::new(Together { target, look_at: Ps::ZERO, asked: None }));
        Some(warm_up)
    }

    fn target_waits(&self, target: usize) -> bool {
        let Running::Stream(stream) = &self.running[target] else { return false };
        let sampled = stream.detour.as_ref().and_then(|detour| detour.as_any().downcast_ref::<SampledPass>());
        sampled.is_some_and(SampledPass::waits_for_others)
    }

    /// Calls `each` for the pace of each neighbour; returns whether all returned true.
    fn neighbours(&mut self, mut each: impl FnMut(&mut Paced) -> bool) -> bool {
        self.running.iter_mut().all(|running| {
            let Running::Stream(stream) = running else { return false };
            paced(stream).is_none_or(&mut each)
        })
    }

    /// All programs fast-forward, from a time on that stands still, up to the access that the target asked for.
    fn go_together(&mut self, target: usize) {
        let before = Before::new(&mut self.world);
        let now = self.now;
        let mut next = vec![Ps::ZERO; self.running.len()];
        let length = self.with_target(target, |_, sampled, _| sampled.time_together());
        while next[target] < Ps::NEVER {
            let Some((at, time)) = next.iter().copied().enumerate().min_by_key(|(_, time)| *time) else { break };
            next[at] = match at == target {
                true => self.with_target(target, |program, sampled, world| {
                    sampled.forward_some(program, world, TOGETHER, time)
                }),
                false => match &mut self.running[at] {
                    Running::Stream(stream) => forward_some(stream, &mut self.world, time),
                    Running::Tick(_) => Ps::NEVER,
                },
            };
        }
        before.restore(&mut self.world);
        self.with_target(target, |_, sampled, _| sampled.went_together(now, length));
        self.wake_all(target);
        self.settle(&mut Discard);
    }

    /// The target's program and its windows, apart from each other.
    fn with_target<T>(
        &mut self,
        target: usize,
        work: impl FnOnce(&mut Program, &mut SampledPass, &mut crate::core::world::World) -> T,
    ) -> T {
        let Running::Stream(stream) = &mut self.running[target] else { unreachable!("the target is a trace") };
        let mut detour = stream.detour.take().expect("the target has windows");
        let sampled = detour.as_any_mut().downcast_mut().expect("the target has windows");
        let result = work(stream, sampled, &mut self.world);
        stream.detour = Some(detour);
        result
    }

    /// Continues in time: the target, and each neighbour that has come to rest.
    fn wake_all(&mut self, target: usize) {
        let now = self.now;
        for at in 0..self.running.len() {
            let Running::Stream(stream) = &mut self.running[at] else { continue };
            let rested = at == target || paced(stream).is_some_and(|pace| pace.rests());
            if let Some(pace) = paced(stream) {
                pace.go_on(now);
            }
            if rested {
                stream.now = now;
                stream.goes_on_at(now);
                self.wakes.change(at, now);
            }
        }
    }
}

fn paced(stream: &mut Program) -> Option<&mut Paced> {
    stream.detour.as_mut()?.as_any_mut().downcast_mut()
}

impl Shortcut for Together {
    fn look_at(&self) -> Ps {
        self.look_at
    }

    fn take(&mut self, engine: &mut Engine, _until: Ps, _samples: &mut dyn SampleReceiver) -> Ps {
        let now = engine.now;
        self.look_at = now + LOOK;
        if !engine.target_waits(self.target) {
            return Ps::ZERO;
        }
        let asked = *self.asked.get_or_insert_with(|| {
            engine.neighbours(|pace| {
                pace.rest_from(now);
                true
            });
            now
        });
        // Once all rest there are no more events: the last one has to be looked at.
        self.look_at = now;
        if engine.neighbours(|pace| pace.rests()) {
            engine.go_together(self.target);
            self.asked = None;
        } else if now > asked + TO_REST {
            engine.with_target(self.target, |_, sampled, _| sampled.goes_alone(now));
            engine.wake_all(self.target);
            self.asked = None;
        }
        Ps::ZERO
    }

    fn skipped_accesses(&self, _program: usize) -> u64 {
        0
    }

    fn boxed(&self) -> Box<dyn Shortcut> {
        Box::new(self.clone())
    }
}
