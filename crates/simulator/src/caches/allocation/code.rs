//! Which lines hold instructions: those that leave an inner cache go into the ways that their class has for code.

use std::collections::HashSet;

use crate::line::Line;

/// log2 of the lines that are distinguished: 4 KiB of 64-byte lines, and no more than a page of any.
const BLOCK_LOG2: u32 = 6;

/// The blocks of memory that hold instructions of programs.
#[derive(Debug, Clone, Default)]
pub struct Code(HashSet<u32>);

impl Code {
    /// The blocks of these lines, of which there is at least one in each block.
    pub fn of(lines: impl Iterator<Item = Line>) -> Self {
        Self(lines.map(|line| line.block(BLOCK_LOG2)).collect())
    }

    /// Whether a line holds instructions.
    pub fn has(&self, line: Line) -> bool {
        self.0.contains(&line.block(BLOCK_LOG2))
    }

    /// Lines of a region that may be the first that is met of a block.
    pub const STEP: u64 = 1 << BLOCK_LOG2;
}
