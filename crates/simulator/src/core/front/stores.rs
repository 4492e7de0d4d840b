//! The store buffer: stores that wait for their lines while the core goes on.

use std::collections::VecDeque;

use crate::bits::bits;
use crate::core::port::Port;
use crate::line::Line;

/// Stores that wait. Those to one line share an entry.
#[derive(Debug, Clone)]
pub struct StoreBuffer {
    entries: usize,
    /// Slots of the port that stores wait for, one bit each.
    slots: u64,
    /// Lines that no slot was free for, the oldest first.
    later: VecDeque<Line>,
}

impl StoreBuffer {
    /// An empty buffer.
    pub fn new(entries: usize) -> Self {
        Self { entries, slots: 0, later: VecDeque::new() }
    }

    /// Whether a further store has to wait before the buffer at `now`.
    pub fn is_full(&mut self, port: &Port, now: u64) -> bool {
        let taken = |buffer: &Self| buffer.slots.count_ones() as usize + buffer.later.len();
        if taken(self) >= self.entries {
            self.slots &= port.mshrs.unfinished(now);
        }
        taken(self) >= self.entries
    }

    /// When one of the slots has its line: a time, or never if memory decides.
    pub fn next_done(&self, port: &Port) -> u64 {
        bits(self.slots).map(|slot| port.mshrs.done_at(slot)).min().unwrap_or(u64::MAX)
    }

    /// A store waits for a slot.
    pub fn wait_for(&mut self, slot: usize) {
        self.slots |= 1 << slot;
    }

    /// A slot has its line, or waits for something else.
    #[inline]
    pub fn forget(&mut self, slot: usize) {
        self.slots &= !(1 << slot);
    }

    /// A store waits for a free slot.
    pub fn put_off(&mut self, line: Line) {
        if !self.later.contains(&line) {
            self.later.push_back(line);
        }
    }

    /// The store that gets the next free slot.
    pub fn first_put_off(&self) -> Option<Line> {
        self.later.front().copied()
    }

    /// The first of those that were put off has become a request.
    pub fn take_put_off(&mut self) {
        self.later.pop_front();
    }
}
