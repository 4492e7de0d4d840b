//! The lines that leave a core for one that comes in.

use crate::caches::cache::Evicted;
use crate::line::Line;

/// Lines that leave a core for one that comes in, in their order: one, or two where the second level is non-inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "these lines go on outward"]
pub struct Leaving {
    lines: [Evicted; 2],
    count: u32,
}

impl Leaving {
    /// No lines.
    pub const NONE: Self = Self { lines: [Evicted { line: Line::EMPTY, flags: 0 }; 2], count: 0 };

    #[inline(always)]
    pub(super) fn push(&mut self, out: Evicted) {
        self.lines[self.count as usize] = out;
        self.count += 1;
    }

    /// The lines, in their order.
    #[inline(always)]
    pub fn lines(&self) -> &[Evicted] {
        &self.lines[..self.count as usize]
    }
}
