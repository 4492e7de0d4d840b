//! How far a core runs ahead of the oldest load that waits.

use std::collections::VecDeque;

use crate::bits::bits;
use crate::core::mshrs::{MOST_MSHRS, Mshrs};
use crate::time::Ps;

/// The instructions that an out-of-order core holds. A load leaves when its line is there and everything before it has
/// left; stores leave at once, into the store buffer.
#[derive(Debug, Clone)]
pub struct Window {
    /// Instructions that can begin before the oldest waiting load has ended, itself included; `u64::MAX` for no limit.
    size: u64,
    /// Instructions that have begun.
    begun: u64,
    /// No load that waits is older than this.
    oldest: u64,
    /// MSHRs of the port that loads wait for, one bit each, and the oldest load of each.
    waiting: u64,
    load: [u64; MOST_MSHRS],
    /// Loads that wait for their translations, the oldest first.
    held: VecDeque<u64>,
}

/// Whether instructions can begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowSpace {
    /// So many.
    For(u64),
    /// None before this MSHR has its line.
    AfterMshr(usize),
    /// None before a translation has come.
    AfterWalk,
}

impl Window {
    /// A window of that many instructions.
    pub fn new(size: Option<u64>) -> Self {
        Self {
            size: size.unwrap_or(u64::MAX),
            begun: 0,
            oldest: 0,
            waiting: 0,
            load: [0; MOST_MSHRS],
            held: VecDeque::new(),
        }
    }

    /// Whether any number of instructions can begin.
    pub fn is_unbounded(&self) -> bool {
        self.size == u64::MAX && self.waiting == 0 && self.held.is_empty()
    }

    /// How many instructions can begin at `now`.
    #[inline]
    pub fn room(&mut self, mshrs: &Mshrs, now: Ps) -> WindowSpace {
        if self.waiting == 0 && self.held.is_empty() {
            return WindowSpace::For(u64::MAX);
        }
        match self.left() {
            0 => self.look(mshrs, now),
            room => WindowSpace::For(room),
        }
    }

    /// Instructions that can begin if no load has ended since the last look.
    #[inline]
    fn left(&self) -> u64 {
        self.size.saturating_sub(self.begun - self.oldest)
    }

    /// Finds the oldest load that still waits.
    fn look(&mut self, mshrs: &Mshrs, now: Ps) -> WindowSpace {
        self.waiting &= mshrs.unfinished(now);
        let mshr = bits(self.waiting).min_by_key(|mshr| self.load[*mshr]);
        let held = self.held.front().copied();
        self.oldest = match (mshr.map(|mshr| self.load[mshr]), held) {
            (None, None) => return WindowSpace::For(u64::MAX),
            (mshr, held) => mshr.unwrap_or(u64::MAX).min(held.unwrap_or(u64::MAX)),
        };
        match (self.left(), mshr) {
            (0, Some(mshr)) if self.load[mshr] == self.oldest => WindowSpace::AfterMshr(mshr),
            (0, _) => WindowSpace::AfterWalk,
            (room, _) => WindowSpace::For(room),
        }
    }

    /// So many instructions begin.
    #[inline]
    pub fn begin(&mut self, instructions: u64) {
        self.begun += instructions;
    }

    /// The instruction that began last is a load that waits for an MSHR; `joins` if an older one may wait for it too.
    #[inline]
    pub fn wait_for(&mut self, mshr: usize, joins: bool) {
        if self.size != u64::MAX {
            self.wait_as(self.begun - 1, mshr, joins);
        }
    }

    /// A load that was held waits for an MSHR.
    pub fn wait_as(&mut self, load: u64, mshr: usize, joins: bool) {
        if self.size == u64::MAX {
            return;
        }
        if joins && self.waiting >> mshr & 1 == 1 {
            self.load[mshr] = self.load[mshr].min(load);
            return;
        }
        if self.waiting == 0 && self.held.is_empty() {
            self.oldest = load;
        }
        self.waiting |= 1 << mshr;
        self.load[mshr] = load;
    }

    /// An instruction begins that waits for its translation; returns its number.
    pub fn hold(&mut self) -> u64 {
        let load = self.begun;
        self.begun += 1;
        if self.size != u64::MAX {
            if self.waiting == 0 && self.held.is_empty() {
                self.oldest = load;
            }
            self.held.push_back(load);
        }
        load
    }

    /// An instruction that was held has its translation.
    pub fn release(&mut self, load: u64) {
        // Walks end in the order in which they begin, most of them.
        if self.held.front() == Some(&load) {
            self.held.pop_front();
        } else if let Ok(at) = self.held.binary_search(&load) {
            self.held.remove(at);
        }
    }

    /// Whether a load waits for an MSHR, or its line came since the last look.
    pub fn waits_for(&self, mshr: usize) -> bool {
        self.waiting >> mshr & 1 == 1
    }

    /// An MSHR has its line.
    #[inline]
    pub fn answered(&mut self, mshr: usize) {
        self.waiting &= !(1 << mshr);
    }
}
