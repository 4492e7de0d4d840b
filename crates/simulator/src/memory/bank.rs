//! The requests of one bank that the controller holds, and which of them goes first.

use crate::line::Line;
use crate::memory::Handle;
use crate::memory::layout::BankRow;
use crate::memory::queue::Queue;
use crate::time::Ps;

/// Who waits for a read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Waiter {
    /// The one with that handle.
    Handle(Handle),
    /// A [`super::joint::Joints`] with that number.
    Joint(u32),
    /// The controller itself.
    #[default]
    Controller,
}

/// A read that the controller holds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Read {
    /// The line's number in the channel.
    pub line: Line,
    /// Its row.
    pub row: u32,
    /// Who waits for it.
    pub waiter: Waiter,
    /// Whether it has a higher priority.
    pub first: bool,
}

/// A write that the controller holds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Write {
    /// The line's number in the channel.
    pub line: Line,
    /// Its row.
    pub row: u32,
    /// When it came.
    pub arrived: Ps,
}

/// The requests of one bank.
#[derive(Debug, Clone)]
pub struct Bank {
    /// Reads, the oldest first.
    pub reads: Queue<Read>,
    /// Writes, the oldest first.
    pub writes: Queue<Write>,
    /// Reads that wait for a write of their line.
    pub held: Vec<Read>,
    /// Younger requests that have passed the oldest one, reads and writes apart.
    passed: [u32; 2],
}

/// Which of the reads of a bank may pass the oldest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReorderLimits {
    /// Reads of higher priority go before all others.
    pub priorities: bool,
    /// So many requests of the open row may pass the oldest one.
    pub row_hits: u32,
}

impl Bank {
    /// A bank without requests.
    pub fn new() -> Self {
        Self { reads: Queue::new(), writes: Queue::new(), held: Vec::new(), passed: [0; 2] }
    }

    /// The read that goes first, by its place in the queue.
    #[inline]
    pub fn first_read(&self, order: ReorderLimits, open_row: u32) -> Option<(usize, Read)> {
        let oldest = self.reads.front()?;
        if !order.priorities && (order.row_hits == 0 || oldest.row == open_row) {
            return Some((0, oldest));
        }
        Some(self.pick_read(order, open_row))
    }

    fn pick_read(&self, order: ReorderLimits, open_row: u32) -> (usize, Read) {
        if !order.priorities {
            let oldest = self.reads.front().expect("the bank has a read");
            if self.passed[0] >= order.row_hits {
                return (0, oldest);
            }
            return self.reads.find(|read| read.row == open_row).unwrap_or((0, oldest));
        }
        self.pick_read_by_priority(order, open_row)
    }

    fn pick_read_by_priority(&self, order: ReorderLimits, open_row: u32) -> (usize, Read) {
        let high = self.reads.iter().any(|read| read.first);
        let mut candidates = self.reads.iter().enumerate().filter(|(_, read)| read.first || !high);
        let oldest = candidates.next().expect("the bank has a read, of high priority if one is asked for");
        if oldest.1.row == open_row || self.passed[0] >= order.row_hits {
            return oldest;
        }
        candidates.find(|(_, read)| read.row == open_row).unwrap_or(oldest)
    }

    /// The write that goes first once `now` lies beyond the age of all, by its place in the queue.
    #[inline]
    pub fn first_write(&self, order: ReorderLimits, open_row: u32) -> Option<(usize, Write)> {
        let oldest = self.writes.front()?;
        if order.row_hits == 0 || oldest.row == open_row || self.passed[1] >= order.row_hits {
            return Some((0, oldest));
        }
        self.writes.find(|write| write.row == open_row).or(Some((0, oldest)))
    }

    /// Takes a read.
    #[inline]
    pub fn take_read(&mut self, at: usize) -> Read {
        self.passed[0] = if at == 0 { 0 } else { self.passed[0] + 1 };
        if at == 0 { self.reads.pop_front().expect("it is there") } else { self.reads.remove(at) }
    }

    /// Takes the oldest read, if there is one.
    #[inline(always)]
    pub fn take_oldest_read(&mut self) {
        self.passed[0] = 0;
        self.reads.pop_front();
    }

    /// Takes a write.
    #[inline]
    pub fn take_write(&mut self, at: usize) -> Write {
        self.passed[1] = if at == 0 { 0 } else { self.passed[1] + 1 };
        if at == 0 { self.writes.pop_front().expect("it is there") } else { self.writes.remove(at) }
    }

    /// Whether a write of this line waits.
    #[inline]
    pub fn writes_line(&self, line: Line) -> bool {
        self.writes.iter().any(|write| write.line == line)
    }
}

impl Read {
    /// Where it goes, in that bank.
    #[inline]
    pub fn place(&self, bank: usize) -> BankRow {
        BankRow { bank, row: self.row }
    }
}

impl Write {
    /// Where it goes, in that bank.
    #[inline]
    pub fn place(&self, bank: usize) -> BankRow {
        BankRow { bank, row: self.row }
    }
}
