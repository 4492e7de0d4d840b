//! The store buffer: stores that wait for their lines while the core goes on.

use std::collections::VecDeque;

use crate::bits::bits;
use crate::core::port::Port;
use crate::line::Line;
use crate::time::Ps;

/// Stores that wait. Those to one line share an entry.
#[derive(Debug, Clone)]
pub struct StoreBuffer {
    entries: usize,
    /// MSHRs of the port that stores wait for, one bit each.
    mshrs: u64,
    /// Lines that no MSHR was free for, the oldest first.
    later: VecDeque<Line>,
}

impl StoreBuffer {
    /// An empty buffer.
    pub fn new(entries: usize) -> Self {
        Self { entries, mshrs: 0, later: VecDeque::new() }
    }

    /// Whether a further store has to wait before the buffer at `now`.
    pub fn is_full(&mut self, port: &Port, now: Ps) -> bool {
        let taken = |buffer: &Self| buffer.mshrs.count_ones() as usize + buffer.later.len();
        if taken(self) >= self.entries {
            self.mshrs &= port.mshrs.unfinished(now);
        }
        taken(self) >= self.entries
    }

    /// When one of the MSHRs has its line: a time, or never if memory decides.
    pub fn next_done(&self, port: &Port) -> Ps {
        bits(self.mshrs).map(|mshr| port.mshrs.done_at(mshr)).min().unwrap_or(Ps::NEVER)
    }

    /// A store waits for an MSHR.
    pub fn wait_for(&mut self, mshr: usize) {
        self.mshrs |= 1 << mshr;
    }

    /// An MSHR has its line, or waits for something else.
    #[inline]
    pub fn forget(&mut self, mshr: usize) {
        self.mshrs &= !(1 << mshr);
    }

    /// A store waits for a free MSHR.
    pub fn put_off(&mut self, line: Line) {
        if !self.later.contains(&line) {
            self.later.push_back(line);
        }
    }

    /// The store that gets the next free MSHR.
    pub fn first_put_off(&self) -> Option<Line> {
        self.later.front().copied()
    }

    /// The first of those that were put off has become a request.
    pub fn take_put_off(&mut self) {
        self.later.pop_front();
    }
}
