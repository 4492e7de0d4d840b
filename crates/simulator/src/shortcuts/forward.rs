//! Accesses that change caches, filters and TLBs as usual, and take no time and no memory traffic.
//!
//! Every line is there at once: what an in-order core does that waits for each line, all its caches, filters and TLBs see in
//! the same order. Other cores' lines that overlap in time come in the order of their accesses. Prefetchers see the same
//! misses, and always find an MSHR. Nothing is counted but the accesses themselves.

use waykeeper_workload::Access;

use crate::caches::access::{Answer, Want};
use crate::caches::allocation::no_allocate_mode::NoAllocateMode;
use crate::core::front::prefetch::Prefetchers;
use crate::core::front::streaming::Stored;
use crate::core::front::tlb::NONE;
use crate::core::front::translation::{Looked, Translation};
use crate::core::program::{Op, Program, Touch};
use crate::core::world::World;
use crate::line::Line;
use crate::observe::counters::{CoreCounters, SharedCounters};

/// What fast-forwarding must not change: counts, and modes that depend on how much happens in a time.
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
            modes: hierarchy.nodes.iter_mut().map(|node| node.mode.take()).collect(),
        }
    }

    /// Puts it back.
    pub fn restore(self, world: &mut World) {
        let hierarchy = &mut world.hierarchy;
        (hierarchy.counts, hierarchy.shared_counts) = (self.counts, self.shared);
        hierarchy.nodes.iter_mut().zip(self.modes).for_each(|(node, mode)| node.mode = mode);
    }
}

/// One access.
pub fn forward(program: &mut Program, access: Access, world: &mut World) {
    let Op::Touch(touch) = program.touch_of(access) else { return };
    program.port.counts.forwarded_accesses += 1;
    translate(program, &touch, world);
    let Some(want) = store_run(program, touch, world) else { return };
    let answer = bring(program, touch.line, want, world);
    if matches!(want, Want::Read | Want::Write) {
        prefetch(program, touch.line, answer, world);
    }
}

/// The translation of an access, and nothing else.
pub fn forward_page(program: &mut Program, access: Access, world: &mut World) {
    if let Op::Touch(touch) = program.touch_of(access) {
        translate(program, &touch, world);
    }
}

/// A translation that no TLB has is walked for.
fn translate(program: &mut Program, touch: &Touch, world: &mut World) {
    let (side, page) = (touch.side(), touch.page);
    let Some(translation) = translation(program).filter(|_| page != NONE) else { return };
    if matches!(translation.look_up(side, page), Looked::Found(_)) {
        return;
    }
    let lines: Vec<Line> =
        (0..translation.tables.reads()).map(|array| translation.tables.descriptor(page, array)).collect();
    for line in lines {
        bring(program, line, Want::Walk, world);
    }
    if let Some(translation) = self::translation(program) {
        translation.fill(side, page);
        // The access asks again once its walk has ended.
        translation.look_up(side, page);
    }
}

fn translation(program: &mut Program) -> Option<&mut Translation> {
    program.front.as_mut().and_then(|front| front.translation.as_mut())
}

fn prefetchers(program: &mut Program) -> Option<&mut Prefetchers> {
    program.front.as_mut().and_then(|front| front.prefetchers.as_mut())
}

/// What a run of stores makes of an access: how it goes on, if it does.
fn store_run(program: &mut Program, touch: Touch, world: &mut World) -> Option<Want> {
    loop {
        let Some(streaming) = program.front.as_mut().and_then(|front| front.streaming.as_mut()) else {
            return Some(touch.want);
        };
        if touch.words == 0 {
            if streaming.gathers(touch.line) {
                streaming.leave();
                bring(program, touch.line, Want::Write, world);
            }
            return Some(touch.want);
        }
        match streaming.store(touch.line, touch.words) {
            Stored::AsUsual => return Some(touch.want),
            Stored::Full => return Some(Want::Stream),
            Stored::Gathered => return None,
            Stored::After(incomplete) => _ = bring(program, incomplete, Want::Write, world),
        }
    }
}

/// Brings a line to where it is wanted. One that finds every entry of a filter's set taken by lines in flight, which
/// takes time to change, stays away.
fn bring(program: &Program, line: Line, want: Want, world: &mut World) -> Answer {
    let (core, now) = (program.port.core, program.now);
    let answer = world.hierarchy.access(core, line, want, now, &mut world.effects);
    if answer == Answer::Memory {
        world.memory.forward(line, false);
        world.hierarchy.fill(core, line, want, now, &mut world.effects);
    }
    while let Some(write) = world.effects.writes.pop() {
        world.memory.forward(write.line, true);
    }
    answer
}

/// What prefetchers make of an answer, as in [`Program::after_caches`].
fn prefetch(program: &mut Program, line: Line, answer: Answer, world: &mut World) {
    let core = program.port.core;
    let Some(prefetchers) = prefetchers(program) else { return };
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
        if world.hierarchy.cores[core].holds_up_to(level, line) {
            continue;
        }
        let answer = bring(program, line, Want::Prefetch { level }, world);
        if let Some(prefetchers) = self::prefetchers(program).filter(|_| answer.brings_nearer(level)) {
            prefetchers.asked(line);
        }
    }
    if let Some(prefetchers) = self::prefetchers(program) {
        prefetchers.wishes = wishes;
    }
}

#[cfg(test)]
mod tests;
