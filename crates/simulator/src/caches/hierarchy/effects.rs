//! What accesses cause outside of the caches.

use crate::caches::cache::Evicted;
use crate::caches::flags::{DIRTY, label_of};
use crate::line::Line;
use crate::observe::label::Label;

/// A line on its way to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// Which line.
    pub line: Line,
    /// A core inside of every cache that it came through.
    pub core: usize,
    /// Of who brought it in.
    pub label: Label,
}

/// What accesses and fills have caused outside of the caches, for whoever passes it on.
#[derive(Debug, Clone)]
pub struct Effects {
    /// Lines to be written to memory.
    pub writes: Vec<Write>,
    /// Cores that lost a line, or have it no longer for themselves, one bit each, of the cores in `hears`.
    pub disturbed: u32,
    /// The cores for which that is recorded, one bit each: all, unless somebody says so.
    pub hears: u32,
}

impl Default for Effects {
    fn default() -> Self {
        Self { writes: Vec::new(), disturbed: 0, hears: u32::MAX }
    }
}

impl Effects {
    /// A line that no cache further out has leaves for the memory, if it was changed.
    #[inline(always)]
    pub(super) fn write_to_memory(&mut self, core: usize, out: Evicted) {
        if out.flags & DIRTY != 0 {
            self.writes.push(Write { line: out.line, core, label: label_of(out.flags) });
        }
    }

    /// A core has lost a line, or has it no longer for itself.
    #[inline(always)]
    pub(super) fn disturb(&mut self, core: usize) {
        self.disturbed |= 1 << core & self.hears;
    }
}
