//! A channel's commands.

use crate::line::Line;
use crate::memory::bank::{Read, Waiter, Write};
use crate::memory::channel::Channel;
use crate::time::Ps;

impl Channel {
    /// The same as [`Channel::issue`], where no write waits, and the oldest read goes first.
    #[inline(always)]
    pub(super) fn issue_oldest(&mut self, bank: usize, now: Ps) {
        let Some(read) = self.banks[bank].reads.front() else { return self.plan(bank, now) };
        let allowed = self.dram.allowed(read.place(bank), false, now);
        if allowed > now {
            return self.set_next(bank, allowed);
        }
        self.banks[bank].take_oldest_read();
        self.transfer_read(bank, read, now);
        self.admit_next(now);
        self.repay(now);
        // What was admitted may have brought writes with it, of check bits.
        self.plan(bank, now);
    }

    /// The bank issues its next command, or finds that it must wait.
    #[cold]
    #[inline(never)]
    pub(super) fn issue(&mut self, bank: usize, now: Ps) {
        let write = self.next_write(bank).filter(|(_, _, eligible)| *eligible <= now);
        match (write, self.next_read(bank)) {
            (Some((at, write, _)), waiting_read) => {
                let allowed = self.dram.allowed(write.place(bank), true, now);
                if allowed > now {
                    return self.set_next(bank, allowed);
                }
                self.counts.aged_writes += u64::from(waiting_read.is_some() && !self.draining);
                self.issue_write(bank, at, write, now);
            }
            (None, Some((at, read))) => {
                let allowed = self.dram.allowed(read.place(bank), false, now);
                if allowed > now {
                    return self.set_next(bank, allowed);
                }
                self.issue_read(bank, at, read, now);
            }
            (None, None) => self.plan(bank, now),
        }
    }

    fn issue_read(&mut self, bank: usize, at: usize, read: Read, now: Ps) {
        self.banks[bank].take_read(at);
        self.transfer_read(bank, read, now);
        self.admit_next(now);
        if self.writes > 0 && !self.has_reads() {
            self.plan_banks(self.with_writes, now);
        }
        self.repay(now);
        self.plan(bank, now);
    }

    /// A read that has left its bank's queue goes over the bus.
    #[inline(always)]
    fn transfer_read(&mut self, bank: usize, read: Read, now: Ps) {
        let end = self.dram.transfer(read.place(bank), false, now, &mut self.counts);
        if self.read_paths.is_some() {
            self.tell_of_read(bank, read.line, now);
        }
        match read.waiter {
            Waiter::Handle(handle) => self.answer(end + self.crossing, handle),
            other => self.answer_other(end + self.crossing, other),
        }
        self.fetched = Some(read.line);
        self.counts.reads += 1;
        self.admitted -= 1;
    }

    #[cold]
    #[inline(never)]
    fn answer_other(&mut self, at: Ps, waiter: Waiter) {
        if let Waiter::Joint(joint) = waiter
            && let Some(handle) = self.joints.arrive(joint)
        {
            self.answer(at, handle);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_of_read(&mut self, bank: usize, line: Line, now: Ps) {
        let Some(read_paths) = &mut self.read_paths else { return };
        let [refreshed, _] = self.dram.refresh.due(bank, now);
        read_paths.issued(line, bank, refreshed, now);
        read_paths.command(bank);
    }

    /// Takes the next read in front of the controller, if there is one, and room for it.
    #[inline(always)]
    fn admit_next(&mut self, now: Ps) {
        if !self.has_room() {
            return;
        }
        let [first, others] = &mut self.outside;
        if let Some((line, handle)) = first.pop_front() {
            self.admit(line, handle, true, now);
        } else if let Some((line, handle)) = others.pop_front() {
            self.admit(line, handle, false, now);
        }
    }

    fn issue_write(&mut self, bank: usize, at: usize, write: Write, now: Ps) {
        self.dram.transfer(write.place(bank), true, now, &mut self.counts);
        if let Some(read_paths) = &mut self.read_paths {
            read_paths.command(bank);
        }
        self.counts.writes += 1;
        self.writes -= 1;
        self.banks[bank].take_write(at);
        if self.banks[bank].writes.is_empty() {
            self.with_writes &= !(1 << bank);
        }
        self.may_end_drain(now);
        if !self.banks[bank].writes_line(write.line) {
            let had_reads = self.has_reads();
            if let Some(read_paths) = &mut self.read_paths {
                read_paths.released(write.line, now);
            }
            self.release(bank, write.line);
            if !had_reads && self.has_reads() && self.writes > 0 {
                self.plan_banks(self.with_writes, now);
            }
        }
        self.plan(bank, now);
    }
}
