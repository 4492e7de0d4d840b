//! What comes before an event, without time: all of it but its last accesses. Of the others only those are done that can
//! touch what the event needs.

use std::any::Any;

use waykeeper_workload::Region as Which;

use crate::caches::hierarchy::Passed;
use crate::core::front::translation::Side;
use crate::core::program::detour::Detour;
use crate::core::program::{EventLine, Program};
use crate::core::world::World;
use crate::line::Line;
use crate::shortcuts::forward::{Before, forward, forward_page};

/// So many accesses before each event take their time: the memory's rows and queues, and the time since the last refresh,
/// are then what the whole background would have left.
pub const IN_TIME: u64 = 64;

/// So many of the last accesses to data are translated, whatever they touch, for what they leave in the TLBs.
const TRANSLATED: u64 = 512;

/// Which lines share a set of some cache or filter with a line that an event needs, its translations included.
#[derive(Debug, Clone)]
pub struct Background {
    /// Lines are distinguished by these bits.
    bits: u32,
    /// By side, data first, whether lines with these bits do.
    shares: [Vec<bool>; 2],
    /// Accesses that were left out.
    skipped: u64,
}

impl Background {
    /// For an event of these lines, and translations that lie in those.
    fn new(passed: &Passed, event: &[EventLine], descriptors: &[Line]) -> Self {
        let all = passed.first.iter().chain(&passed.outer);
        let most = all.max().copied().unwrap_or(1);
        let mut shares = [vec![false; most], vec![false; most]];
        let mut mark = |side: usize, line: Line, sets: usize| {
            shares[side].iter_mut().skip(line.number() as usize % sets).step_by(sets).for_each(|shares| *shares = true);
        };
        for line in event.iter().map(|event| &event.line).chain(descriptors) {
            for side in 0..2 {
                // Also where the event needs nothing of it: whether an access goes on to the sets behind it depends on it.
                mark(side, *line, passed.first[side]);
                passed.outer.iter().for_each(|sets| mark(side, *line, *sets));
            }
        }
        Self { bits: most as u32 - 1, shares, skipped: 0 }
    }

    fn touches(&self, side: Side, line: Line) -> bool {
        self.shares[side as usize][line.bits(self.bits) as usize]
    }
}

/// Fast-forwards a program, from its next event on, through what comes before its events, which touch these lines; false
/// if its core prefetches, which depends on all accesses, or it takes no samples: then the background is what counts.
pub fn forward_background(program: &mut Program, passed: &Passed, event: &[EventLine], data_bytes: u64) -> bool {
    if program.recorder.is_none() || program.front.as_ref().is_some_and(|front| front.prefetchers.is_some()) {
        return false;
    }
    let mut descriptors = Vec::new();
    if let Some(translation) = program.front.as_ref().and_then(|front| front.translation.as_ref()) {
        let background = (0..data_bytes).step_by(translation.page_bytes()).map(|at| program.data.address(at));
        let addresses = background.chain(event.iter().map(|line| line.address));
        let mut pages: Vec<_> =
            addresses.map(|address| translation.page(address)).chain(program.devices.clone()).collect();
        pages.sort_unstable();
        pages.dedup();
        let reads = 0..translation.tables.reads();
        let of_page = |page| reads.clone().map(move |array| translation.tables.descriptor(page, array));
        descriptors = pages.into_iter().flat_map(of_page).collect();
    }
    program.detour = Some(Box::new(Background::new(passed, event, &descriptors)));
    true
}

impl Detour for Background {
    fn recorded(&mut self) -> Option<u64> {
        // There is one way only.
        Some(0)
    }

    /// Fast-forwards until few accesses are left before the next event.
    fn leave(&mut self, program: &mut Program, _number: u64, world: &mut World) {
        let Some([data, calls]) = program.stream.before_event() else { return };
        let before = Before::new(world);
        let mut stream = std::mem::take(&mut program.stream);
        let mut at = 0;
        stream.accesses((data + calls).saturating_sub(IN_TIME), |access| {
            let (side, region) = match access.region {
                Which::Data => (Side::Data, &program.data),
                Which::Code => (Side::Instructions, &program.code),
            };
            if self.touches(side, region.line(access.offset)) {
                forward(program, access, world);
            } else {
                self.skipped += 1;
                if side == Side::Data && at + TRANSLATED >= data {
                    forward_page(program, access, world);
                }
            }
            at += 1;
        });
        program.stream = stream;
        before.restore(world);
    }

    fn measures_all(&self) -> bool {
        true
    }

    fn skipped(&self) -> Option<u64> {
        Some(self.skipped)
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
