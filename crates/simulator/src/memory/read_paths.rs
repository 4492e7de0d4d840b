//! What became of the reads of a core that somebody asked about, on their way through a channel.
//!
//! It only looks on: commands and answers are the same with and without.

use std::ops::Range;

use crate::line::Line;
use crate::memory::Handle;
use crate::memory::per_bank::MOST_BANKS;
use crate::observe::read_path::ReadPath;
use crate::time::Ps;

/// A read in the controller.
#[derive(Debug, Clone, Copy)]
struct Open {
    handle: Handle,
    line: Line,
    bank: usize,
    /// Commands and refreshes of its bank before it came.
    commands: u64,
    refreshed: u64,
    read_path: ReadPath,
}

/// The reads of a range of readers.
#[derive(Debug, Clone)]
pub struct ReadPaths {
    of: Range<Handle>,
    open: Vec<Open>,
    done: Vec<(Handle, ReadPath)>,
    /// Commands by bank.
    commands: [u64; MOST_BANKS],
}

impl ReadPaths {
    /// Follows these readers.
    pub fn new(of: Range<Handle>) -> Self {
        Self { of, open: Vec::new(), done: Vec::new(), commands: [0; MOST_BANKS] }
    }

    /// The controller takes a read, with so many reads of its bank before it and refreshes over.
    pub fn admitted(&mut self, handle: Handle, line: Line, bank: usize, [ahead, refreshed]: [u64; 2], now: Ps) {
        if self.of.contains(&handle) {
            let read_path = ReadPath { admitted_ps: now.get(), reads_ahead: ahead as u32, ..ReadPath::default() };
            self.open.push(Open { handle, line, bank, commands: self.commands[bank], refreshed, read_path });
        }
    }

    /// Reads of a line no longer wait for a write.
    pub fn released(&mut self, line: Line, now: Ps) {
        for open in self.open.iter_mut().filter(|open| open.line == line) {
            open.read_path.held_until_ps = Some(now.get());
        }
    }

    /// A bank has got a command.
    pub fn command(&mut self, bank: usize) {
        self.commands[bank] += 1;
    }

    /// A read of a bank was issued, with so many refreshes begun.
    pub fn issued(&mut self, line: Line, bank: usize, refreshed: u64, now: Ps) {
        let commands = self.commands[bank];
        for open in self.open.extract_if(.., |open| (open.line, open.bank) == (line, bank)) {
            let others = (commands - open.commands) as u32;
            let passed_by = others.saturating_sub(open.read_path.reads_ahead);
            let refreshes = refreshed.saturating_sub(open.refreshed) as u32;
            let read_path = ReadPath { issued_ps: now.get(), passed_by, refreshes, ..open.read_path };
            self.done.push((open.handle, read_path));
        }
    }

    /// The way of the read of a reader that was answered.
    pub fn take(&mut self, handle: Handle) -> Option<ReadPath> {
        let at = self.done.iter().position(|(of, _)| *of == handle)?;
        Some(self.done.swap_remove(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_knows_who_went_before_it() {
        let mut read_paths = ReadPaths::new(64..128);
        read_paths.admitted(3, Line::new(9), 1, [0, 6], Ps::new(5));
        read_paths.admitted(70, Line::new(9), 1, [2, 6], Ps::new(10));
        // Two reads that were before it, then a write; bank 0 does not count.
        [1, 1, 0, 1].into_iter().for_each(|bank| read_paths.command(bank));
        read_paths.issued(Line::new(9), 1, 7, Ps::new(50));
        let read_path = ReadPath {
            admitted_ps: 10,
            issued_ps: 50,
            reads_ahead: 2,
            passed_by: 1,
            refreshes: 1,
            ..ReadPath::default()
        };
        assert_eq!([3, 70, 70].map(|handle| read_paths.take(handle)), [None, Some(read_path), None]);
    }
}
