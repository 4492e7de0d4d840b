//! Accesses that change caches, filters and TLBs as usual, and take no time and no memory traffic.
//!
//! Every line is there at once: what an in-order core does that waits for each line, all its caches, filters and TLBs see in
//! the same order. Other cores' lines that overlap in time come in the order of their accesses. Prefetchers see the same
//! misses, and always find a slot. Nothing is counted but the accesses themselves.

use waykeeper_workload::Access;

use crate::caches::access::{Answer, Want};
use crate::caches::allocation::no_allocate_mode::NoAllocateMode;
use crate::core::front::prefetch::Prefetchers;
use crate::core::front::streaming::Stored;
use crate::core::front::tlb::NONE;
use crate::core::front::translation::{Looked, Translation};
use crate::core::port::World;
use crate::core::program::{Op, Program, Touch};
use crate::line::Line;
use crate::observe::counters::{CoreCounters, SharedCounters};

/// What going forward must not change: counts, and modes that depend on how much happens in a time.
pub struct Before {
    counts: Vec<CoreCounters>,
    shared: SharedCounters,
    modes: Vec<Option<NoAllocateMode>>,
}

impl Before {
    /// Puts it aside.
    pub fn new(world: &mut World) -> Self {
        let hierarchy = &mut world.hierarchy;
        Self {
            counts: hierarchy.counts.clone(),
            shared: hierarchy.shared_counts,
            modes: hierarchy.stations.iter_mut().map(|station| station.mode.take()).collect(),
        }
    }

    /// Puts it back.
    pub fn restore(self, world: &mut World) {
        let hierarchy = &mut world.hierarchy;
        (hierarchy.counts, hierarchy.shared_counts) = (self.counts, self.shared);
        hierarchy.stations.iter_mut().zip(self.modes).for_each(|(station, mode)| station.mode = mode);
    }
}

impl Program {
    /// One access.
    pub(crate) fn forward(&mut self, access: Access, world: &mut World) {
        let Op::Touch(touch) = self.touch_of(access) else { return };
        self.port.counts.forwarded_accesses += 1;
        self.forward_translation(&touch, world);
        let Some(want) = self.forward_run(touch, world) else { return };
        let answer = self.bring(touch.line, want, world);
        if matches!(want, Want::Read | Want::Write) {
            self.forward_prefetches(touch.line, answer, world);
        }
    }

    /// The translation of an access, and nothing else.
    pub(crate) fn forward_page(&mut self, access: Access, world: &mut World) {
        if let Op::Touch(touch) = self.touch_of(access) {
            self.forward_translation(&touch, world);
        }
    }

    /// A translation that no TLB has is walked for.
    fn forward_translation(&mut self, touch: &Touch, world: &mut World) {
        let (side, page) = (touch.side(), touch.page);
        let Some(translation) = self.translation().filter(|_| page != NONE) else { return };
        if matches!(translation.look_up(side, page), Looked::Found(_)) {
            return;
        }
        let lines: Vec<Line> =
            (0..translation.tables.reads()).map(|array| translation.tables.descriptor(page, array)).collect();
        for line in lines {
            self.bring(line, Want::Walk, world);
        }
        if let Some(translation) = self.translation() {
            translation.fill(side, page);
            // The access asks again once its walk has ended.
            translation.look_up(side, page);
        }
    }

    fn translation(&mut self) -> Option<&mut Translation> {
        self.front.as_mut().and_then(|front| front.translation.as_mut())
    }

    fn prefetchers(&mut self) -> Option<&mut Prefetchers> {
        self.front.as_mut().and_then(|front| front.prefetchers.as_mut())
    }

    /// What a run of stores makes of an access: how it goes on, if it does.
    fn forward_run(&mut self, touch: Touch, world: &mut World) -> Option<Want> {
        loop {
            let Some(streaming) = self.front.as_mut().and_then(|front| front.streaming.as_mut()) else {
                return Some(touch.want);
            };
            if touch.words == 0 {
                if streaming.gathers(touch.line) {
                    streaming.leave();
                    self.bring(touch.line, Want::Write, world);
                }
                return Some(touch.want);
            }
            match streaming.store(touch.line, touch.words) {
                Stored::AsUsual => return Some(touch.want),
                Stored::Full => return Some(Want::Stream),
                Stored::Gathered => return None,
                Stored::After(incomplete) => _ = self.bring(incomplete, Want::Write, world),
            }
        }
    }

    /// Brings a line to where it is wanted. One that finds every entry of a filter's set taken by lines under way, which
    /// takes time to change, stays away.
    fn bring(&mut self, line: Line, want: Want, world: &mut World) -> Answer {
        let (core, now) = (self.port.core, self.now);
        let answer = world.hierarchy.access(core, line, want, now);
        if answer == Answer::Memory {
            world.memory.forward(line, false);
            world.hierarchy.fill(core, line, want, now);
        }
        while let Some(write) = world.hierarchy.writes.pop() {
            world.memory.forward(write.line, true);
        }
        answer
    }

    /// What prefetchers make of an answer, as in [`Program::after_caches`].
    fn forward_prefetches(&mut self, line: Line, answer: Answer, world: &mut World) {
        let Some(prefetchers) = self.prefetchers() else { return };
        let trains = match answer {
            Answer::L1 | Answer::Sent => prefetchers.first_use(line),
            Answer::Busy(_) => false,
            _ => true,
        };
        if !trains {
            return;
        }
        prefetchers.missed(line);
        let mut wishes = std::mem::take(&mut prefetchers.wishes);
        for (line, level) in wishes.drain(..) {
            if world.hierarchy.cores[self.port.core].holds_up_to(level, line) {
                continue;
            }
            let answer = self.bring(line, Want::Prefetch { level }, world);
            if let Some(prefetchers) = self.prefetchers().filter(|_| answer.brings_nearer(level)) {
                prefetchers.asked(line);
            }
        }
        if let Some(prefetchers) = self.prefetchers() {
            prefetchers.wishes = wishes;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
