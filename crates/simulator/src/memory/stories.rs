//! What became of the reads of a core that somebody asked about, on their way through a channel.
//!
//! It only looks on: commands and answers are the same with and without.

use std::ops::Range;

use crate::line::Line;
use crate::memory::Handle;
use crate::memory::per_bank::MOST_BANKS;
use crate::observe::story::Story;

/// A read in the controller.
#[derive(Debug, Clone, Copy)]
struct Open {
    handle: Handle,
    line: Line,
    bank: usize,
    /// Commands and refreshes of its bank before it came.
    commands: u64,
    refreshed: u64,
    story: Story,
}

/// The stories of a range of readers.
#[derive(Debug, Clone)]
pub struct Stories {
    of: Range<Handle>,
    open: Vec<Open>,
    told: Vec<(Handle, Story)>,
    /// Commands by bank.
    commands: [u64; MOST_BANKS],
}

impl Stories {
    /// Follows these readers.
    pub fn new(of: Range<Handle>) -> Self {
        Self { of, open: Vec::new(), told: Vec::new(), commands: [0; MOST_BANKS] }
    }

    /// The controller takes a read, with so many reads of its bank before it and refreshes over.
    pub fn admitted(&mut self, handle: Handle, line: Line, bank: usize, [ahead, refreshed]: [u64; 2], now: u64) {
        if self.of.contains(&handle) {
            let story = Story { admitted_ps: now, reads_ahead: ahead as u32, ..Story::default() };
            self.open.push(Open { handle, line, bank, commands: self.commands[bank], refreshed, story });
        }
    }

    /// Reads of a line no longer wait for a write.
    pub fn released(&mut self, line: Line, now: u64) {
        for open in self.open.iter_mut().filter(|open| open.line == line) {
            open.story.held_until_ps = Some(now);
        }
    }

    /// A bank was given a command.
    pub fn command(&mut self, bank: usize) {
        self.commands[bank] += 1;
    }

    /// A read of a bank was issued, with so many refreshes begun.
    pub fn issued(&mut self, line: Line, bank: usize, refreshed: u64, now: u64) {
        let commands = self.commands[bank];
        for open in self.open.extract_if(.., |open| (open.line, open.bank) == (line, bank)) {
            let others = (commands - open.commands) as u32;
            let passed_by = others.saturating_sub(open.story.reads_ahead);
            let refreshes = refreshed.saturating_sub(open.refreshed) as u32;
            let story = Story { issued_ps: now, passed_by, refreshes, ..open.story };
            self.told.push((open.handle, story));
        }
    }

    /// The story of a reader that was answered.
    pub fn take(&mut self, handle: Handle) -> Option<Story> {
        let at = self.told.iter().position(|(of, _)| *of == handle)?;
        Some(self.told.swap_remove(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_knows_who_went_before_it() {
        let mut stories = Stories::new(64..128);
        stories.admitted(3, 9, 1, [0, 6], 5);
        stories.admitted(70, 9, 1, [2, 6], 10);
        // Two reads that were before it, then a write; bank 0 does not count.
        [1, 1, 0, 1].into_iter().for_each(|bank| stories.command(bank));
        stories.issued(9, 1, 7, 50);
        let story =
            Story { admitted_ps: 10, issued_ps: 50, reads_ahead: 2, passed_by: 1, refreshes: 1, ..Story::default() };
        assert_eq!([3, 70, 70].map(|handle| stories.take(handle)), [None, Some(story), None]);
    }
}
