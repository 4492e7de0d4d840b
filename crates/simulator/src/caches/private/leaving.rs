//! The lines that leave a core for one that comes in.

use crate::caches::cache::Evicted;
use crate::line::Line;

/// Lines that leave a core for one that comes in, in their order: one, or two where the second level is non-inclusive.
#[derive(Debug, Clone, Copy)]
pub struct Leaving {
    lines: [Evicted; 2],
    count: u32,
    next: u32,
}

impl Default for Leaving {
    fn default() -> Self {
        Self { lines: [Evicted { line: Line::EMPTY, flags: 0 }; 2], count: 0, next: 0 }
    }
}

impl Leaving {
    #[inline(always)]
    pub(super) fn push(&mut self, out: Evicted) {
        self.lines[self.count as usize] = out;
        self.count += 1;
    }

    /// The next of them, which is then no longer here.
    #[inline(always)]
    #[expect(clippy::should_implement_trait, reason = "it is a queue that is filled again, not an iterator")]
    pub fn next(&mut self) -> Option<Evicted> {
        if self.next == self.count {
            (self.next, self.count) = (0, 0);
            return None;
        }
        let out = self.lines[self.next as usize];
        self.next += 1;
        Some(out)
    }
}
