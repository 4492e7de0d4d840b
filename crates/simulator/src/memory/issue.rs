//! A channel's commands.

use crate::memory::bank::{Read, Waiter, Write};
use crate::memory::channel::Channel;
use crate::memory::queue::Queue;
use crate::tags::Line;

impl Channel {
    /// The bank issues its next command, or finds that it must wait.
    #[inline(always)]
    pub(super) fn issue(&mut self, bank: usize, now: u64) {
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

    #[inline]
    fn issue_read(&mut self, bank: usize, at: usize, read: Read, now: u64) {
        self.banks[bank].take_read(at);
        let end = self.dram.transfer(read.place(bank), false, now, &mut self.counts);
        if let Some(stories) = &mut self.stories {
            let [refreshed, _] = self.dram.refresh.due(bank, now);
            stories.issued(read.line, bank, refreshed, now);
            stories.command(bank);
        }
        let answered = match read.waiter {
            Waiter::Handle(handle) => Some(handle),
            Waiter::Joint(joint) => self.joints.arrive(joint),
            Waiter::Controller => None,
        };
        // The bus is used in the order of the commands, so answers come in that order too.
        if let Some(handle) = answered {
            self.answers.push_back((end + self.crossing, handle));
        }
        self.fetched = Some(read.line);
        self.counts.reads += 1;
        self.admitted -= 1;
        if self.has_room()
            && let Some((first, (line, handle))) = self.next_outside()
        {
            self.admit(line, handle, first, now);
        }
        if self.writes > 0 && !self.has_reads() {
            self.plan_banks(self.with_writes, now);
        }
        self.repay(now);
        self.plan(bank, now);
    }

    #[inline]
    fn next_outside(&mut self) -> Option<(bool, (Line, u32))> {
        self.outside
            .iter_mut()
            .zip([true, false])
            .find_map(|(queue, first)| Queue::pop_front(queue).map(|read| (first, read)))
    }

    fn issue_write(&mut self, bank: usize, at: usize, write: Write, now: u64) {
        self.dram.transfer(write.place(bank), true, now, &mut self.counts);
        if let Some(stories) = &mut self.stories {
            stories.command(bank);
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
            if let Some(stories) = &mut self.stories {
                stories.released(write.line, now);
            }
            self.release(bank, write.line);
            if !had_reads && self.has_reads() && self.writes > 0 {
                self.plan_banks(self.with_writes, now);
            }
        }
        self.plan(bank, now);
    }
}
