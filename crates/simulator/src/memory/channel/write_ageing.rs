//! When writes go before reads: once they have aged, while many have gathered, or as no read is left.
//!
//! A write that waits goes before reads of its bank when it is older than `write_age`. When as many wait as the high
//! watermark, the channel drains: writes go first down to the low watermark. After a long drain the reads that waited
//! meanwhile are owed their turn, and go before writes drain again.

use crate::memory::bank::Write;
use crate::memory::channel::Channel;
use crate::memory::per_bank::MOST_BANKS;
use crate::time::Ps;

impl Channel {
    /// Sets the age at which writes go first.
    pub fn set_write_age(&mut self, age: Ps, now: Ps) {
        self.rules.write_age = age;
        self.plan_banks(self.with_writes, now);
    }

    /// Writes go first from now on if there are many, and no reads are owed their turn.
    pub(super) fn may_drain(&mut self, now: Ps) {
        if self.writes >= self.rules.write_high && !self.draining && self.owed == 0 {
            (self.draining, self.drained) = (true, 0);
            self.plan_after_turn(now);
        }
    }

    /// A write has gone: ends a drain when few are left, or when reads have waited for as many as the controller holds.
    pub(super) fn may_end_drain(&mut self, now: Ps) {
        if !self.draining {
            return;
        }
        self.drained += 1;
        let long = self.drained >= self.rules.write_entries.min(2 * self.rules.write_high) && self.has_reads();
        if self.writes <= self.rules.write_low || long {
            self.draining = false;
            self.owed = if long { self.admitted - self.held } else { 0 };
            self.plan_after_turn(now);
        }
    }

    /// A read has gone.
    pub(super) fn repay(&mut self, now: Ps) {
        if self.owed > 0 {
            self.owed = if self.has_reads() { self.owed - 1 } else { 0 };
            if self.owed == 0 {
                self.plan_banks(self.with_writes, now);
                self.may_drain(now);
            }
        }
    }

    /// Whether writes need not wait for their age.
    #[inline]
    pub(super) fn writes_are_free(&self) -> bool {
        self.draining || !self.has_reads()
    }

    /// The write of a bank that goes next, by its place in the queue, and when it may, without regard to its bank.
    #[inline(always)]
    pub(super) fn next_write(&self, bank: usize) -> Option<(usize, Write, Ps)> {
        if self.with_writes >> bank & 1 == 0 {
            return None;
        }
        let queue = &self.banks[bank];
        if self.writes_are_free() {
            let (at, write) = queue.first_write(self.order, self.dram.open_row(bank))?;
            Some((at, write, Ps::ZERO))
        } else if self.owed > 0 && !queue.reads.is_empty() {
            None
        } else {
            let write = queue.writes.front()?;
            Some((0, write, write.arrived.saturating_add(self.rules.write_age)))
        }
    }

    /// Writes go first now, or no longer.
    pub(super) fn plan_after_turn(&mut self, now: Ps) {
        let all = u64::MAX >> (MOST_BANKS - self.layout.all_banks());
        self.plan_banks(if self.rules.drains_channel { all } else { self.with_writes }, now);
    }
}
