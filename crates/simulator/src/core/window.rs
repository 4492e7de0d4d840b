//! How far a core runs ahead of the oldest load that waits.

use crate::bits::bits;
use crate::core::mshrs::{MOST_SLOTS, Mshrs};

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
    /// Slots of the port that loads wait for, one bit each, and the oldest load of each.
    waiting: u64,
    load: [u64; MOST_SLOTS],
    /// Loads that wait for their translations.
    held: Vec<u64>,
}

/// Whether instructions can begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// So many.
    For(u64),
    /// None before this slot has its line.
    AfterSlot(usize),
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
            load: [0; MOST_SLOTS],
            held: Vec::new(),
        }
    }

    /// Whether any number of instructions can begin.
    pub fn is_unbounded(&self) -> bool {
        self.size == u64::MAX && self.waiting == 0 && self.held.is_empty()
    }

    /// How many instructions can begin at `now`.
    #[inline]
    pub fn room(&mut self, mshrs: &Mshrs, now: u64) -> Room {
        if self.waiting == 0 && self.held.is_empty() {
            return Room::For(u64::MAX);
        }
        match self.left() {
            0 => self.look(mshrs, now),
            room => Room::For(room),
        }
    }

    /// Instructions that can begin if no load has ended since the last look.
    #[inline]
    fn left(&self) -> u64 {
        self.size.saturating_sub(self.begun - self.oldest)
    }

    /// Finds the oldest load that still waits.
    fn look(&mut self, mshrs: &Mshrs, now: u64) -> Room {
        self.waiting &= mshrs.unfinished(now);
        let slot = bits(self.waiting).min_by_key(|slot| self.load[*slot]);
        let held = self.held.iter().min().copied();
        self.oldest = match (slot.map(|slot| self.load[slot]), held) {
            (None, None) => return Room::For(u64::MAX),
            (slot, held) => slot.unwrap_or(u64::MAX).min(held.unwrap_or(u64::MAX)),
        };
        match (self.left(), slot) {
            (0, Some(slot)) if self.load[slot] == self.oldest => Room::AfterSlot(slot),
            (0, _) => Room::AfterWalk,
            (room, _) => Room::For(room),
        }
    }

    /// So many instructions begin.
    #[inline]
    pub fn begin(&mut self, instructions: u64) {
        self.begun += instructions;
    }

    /// The instruction that began last is a load that waits for a slot; `joins` if an older one may wait for it too.
    #[inline]
    pub fn wait_for(&mut self, slot: usize, joins: bool) {
        if self.size != u64::MAX {
            self.wait_as(self.begun - 1, slot, joins);
        }
    }

    /// A load that was held waits for a slot.
    pub fn wait_as(&mut self, load: u64, slot: usize, joins: bool) {
        if self.size == u64::MAX {
            return;
        }
        if joins && self.waiting >> slot & 1 == 1 {
            self.load[slot] = self.load[slot].min(load);
            return;
        }
        if self.waiting == 0 && self.held.is_empty() {
            self.oldest = load;
        }
        self.waiting |= 1 << slot;
        self.load[slot] = load;
    }

    /// An instruction begins that waits for its translation; gives its number.
    pub fn hold(&mut self) -> u64 {
        let load = self.begun;
        self.begun += 1;
        if self.size != u64::MAX {
            if self.waiting == 0 && self.held.is_empty() {
                self.oldest = load;
            }
            self.held.push(load);
        }
        load
    }

    /// An instruction that was held has its translation.
    pub fn release(&mut self, load: u64) {
        self.held.retain(|held| *held != load);
    }

    /// Whether a load waits for a slot, or its line came since the last look.
    pub fn waits_for(&self, slot: usize) -> bool {
        self.waiting >> slot & 1 == 1
    }

    /// A slot has its line.
    #[inline]
    pub fn answered(&mut self, slot: usize) {
        self.waiting &= !(1 << slot);
    }
}
