//! A channel: its controller's queues in front of its dies. When a bank issues its next command is here, which command
//! that is in [`issue`], and when writes go before reads in [`write_ageing`].
//!
//! Reads beyond the controller's capacity wait in front of it, where a priority counts. Writes wait until they have aged,
//! until many have gathered, or until no read is left: so each of them is written in the end. A read of a line that a
//! write waits for goes after that write.

mod issue;
mod write_ageing;

use waykeeper_platform::ReadAfterWrite;

use crate::bits::bits;
use crate::line::Line;
use crate::memory::Handle;
use crate::memory::bank::{Bank, Read, ReorderLimits, Waiter, Write};
use crate::memory::checks::CheckLines;
use crate::memory::dram::Dram;
use crate::memory::joint::Joints;
use crate::memory::layout::{BankRow, Checks, Layout, Steps};
use crate::memory::parameters::{MemoryParameters, Scheduler};
use crate::memory::per_bank::PerBank;
use crate::memory::queue::Queue;
use crate::memory::read_paths::ReadPaths;
use crate::observe::counters::MemoryCounters;
use crate::time::Ps;

/// A channel and its controller.
#[derive(Debug, Clone)]
pub struct Channel {
    pub(in crate::memory) layout: Layout,
    steps: Option<Steps>,
    pub(in crate::memory) rules: Scheduler,
    pub(in crate::memory) crossing: Ps,
    pub(in crate::memory) order: ReorderLimits,
    /// Whether the reads of a bank go in the order of their coming.
    in_order: bool,
    pub(in crate::memory) dram: Dram,
    pub(in crate::memory) banks: PerBank<Bank>,
    /// When each bank issues its next command, or never.
    next: PerBank<Ps>,
    /// The banks that will issue one, one bit each.
    active: u64,
    /// The banks with writes, one bit each.
    pub(in crate::memory) with_writes: u64,
    /// The first of them and its time, or never.
    first: usize,
    first_time: Ps,
    /// Reads in the controller.
    pub(in crate::memory) admitted: usize,
    /// Those of them that wait for a write.
    pub(in crate::memory) held: usize,
    /// Reads in front of the controller, those of higher priority apart.
    pub(in crate::memory) outside: [Queue<(Line, Handle)>; 2],
    answers: Queue<(Ps, Handle)>,
    /// When the first of them comes, or never.
    answer_time: Ps,
    /// Writes in the controller.
    pub(in crate::memory) writes: usize,
    pub(in crate::memory) draining: bool,
    /// Writes that have gone since writes went first.
    pub(in crate::memory) drained: usize,
    /// Reads that go before writes go first again: those that waited when as many writes had gone as the controller holds.
    pub(in crate::memory) owed: usize,
    checks: Option<CheckLines>,
    pub(in crate::memory) joints: Joints,
    /// The line that was read last since this was cleared; it may be one of check bits.
    pub fetched: Option<Line>,
    /// What becomes of some reads, if anybody asks.
    pub read_paths: Option<Box<ReadPaths>>,
    /// What was counted.
    pub counts: MemoryCounters,
}

impl Channel {
    /// An idle channel.
    pub fn new(of: &MemoryParameters) -> Self {
        let order =
            ReorderLimits { priorities: of.scheduler.priorities_in_banks, row_hits: of.scheduler.row_hits_in_a_row };
        Self {
            layout: of.layout,
            steps: of.layout.steps(),
            rules: of.scheduler,
            crossing: of.crossing,
            order,
            in_order: !order.priorities && order.row_hits == 0,
            dram: Dram::new(of),
            banks: PerBank::all(&Bank::new()),
            next: PerBank::all(&Ps::NEVER),
            active: 0,
            with_writes: 0,
            first: 0,
            first_time: Ps::NEVER,
            admitted: 0,
            held: 0,
            outside: [Queue::new(), Queue::new()],
            answers: Queue::new(),
            answer_time: Ps::NEVER,
            writes: 0,
            draining: false,
            drained: 0,
            owed: 0,
            checks: (of.layout.checks != Checks::Nowhere).then(|| CheckLines::new(of.check_lines)),
            joints: Joints::default(),
            fetched: None,
            read_paths: None,
            counts: MemoryCounters::default(),
        }
    }

    /// Whether the controller can hold another read.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.admitted < self.rules.queue_entries
    }

    /// Whether the controller can hold another write.
    #[inline]
    pub fn has_room_for_write(&self) -> bool {
        self.writes < self.rules.write_entries
    }

    /// Writes beyond those that a controller holds: twice its watermark where no number is given.
    pub fn writes_beyond(&self) -> u64 {
        self.writes.saturating_sub(self.rules.write_entries.min(2 * self.rules.write_high)) as u64
    }

    /// Whether it can hold another read, and another write.
    #[inline]
    pub fn room(&self) -> [bool; 2] {
        [self.has_room(), self.has_room_for_write()]
    }

    /// A line is to be read; true if the controller takes the request at once.
    #[inline(always)]
    pub fn read(&mut self, line: Line, handle: Handle, first: bool, now: Ps) -> bool {
        let room = self.has_room();
        match room {
            true => self.admit(line, handle, first, now),
            false => self.outside[usize::from(!first)].push_back((line, handle)),
        }
        room
    }

    /// A line is to be written.
    pub fn write(&mut self, line: Line, now: Ps) {
        self.enqueue_write(line, self.layout.place(line), now);
        if self.checks.is_some() {
            self.use_checks(line, true, now);
        }
    }

    /// The time of the next command or answer.
    #[inline(always)]
    pub fn next_time(&self) -> Ps {
        self.answer_time.min(self.first_time)
    }

    /// Does what is due at `now`, which is [`Channel::next_time`]: returns who was answered, or issues one command.
    #[inline(always)]
    pub fn step(&mut self, now: Ps) -> Option<Handle> {
        if self.answer_time <= now {
            let answered = self.answers.pop_front().map(|(_, handle)| handle);
            self.answer_time = self.answers.front().map_or(Ps::NEVER, |(at, _)| at);
            return answered;
        }
        match self.reads_in_order() {
            true => self.issue_oldest(self.first, now),
            false => self.issue(self.first, now),
        }
        None
    }

    /// Whether all that may be issued are reads, each bank's in the order of their coming.
    #[inline(always)]
    fn reads_in_order(&self) -> bool {
        self.in_order && self.writes == 0
    }

    /// A line has been read for somebody, who has it at a time. The bus is used in the order of the commands, so answers come
    /// in that order too.
    #[inline(always)]
    pub(in crate::memory) fn answer(&mut self, at: Ps, handle: Handle) {
        self.answer_time = self.answer_time.min(at);
        self.answers.push_back((at, handle));
    }

    /// The controller takes a read.
    #[inline(always)]
    pub(in crate::memory) fn admit(&mut self, line: Line, handle: Handle, first: bool, now: Ps) {
        let place = match self.steps {
            Some(steps) => steps.place(line),
            None => self.layout.place(line),
        };
        if self.read_paths.is_some() {
            self.tell_of_admission(line, handle, place.bank, now);
        }
        if self.checks.is_none() {
            self.enqueue_read(Read { line, row: place.row, waiter: Waiter::Handle(handle), first }, place.bank, now);
        } else {
            self.admit_with_checks(line, handle, first, place, now);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_of_admission(&mut self, line: Line, handle: Handle, bank: usize, now: Ps) {
        let Some(read_paths) = &mut self.read_paths else { return };
        let ahead = self.banks[bank].reads.iter().count();
        let [_, refreshed] = self.dram.refresh.due(bank, now);
        read_paths.admitted(handle, line, bank, [ahead as u64, refreshed], now);
    }

    /// A read is answered when both its data and, unless the controller has it, the line of check bits are there.
    #[cold]
    #[inline(never)]
    fn admit_with_checks(&mut self, line: Line, handle: Handle, first: bool, place: BankRow, now: Ps) {
        let waiter = Waiter::Joint(self.joints.begin(handle));
        self.enqueue_read(Read { line, row: place.row, waiter, first }, place.bank, now);
        let Waiter::Joint(joint) = waiter else { return };
        if self.use_checks_as(line, false, waiter, first, now) {
            self.joints.add(joint);
        }
    }

    fn use_checks(&mut self, line: Line, changes: bool, now: Ps) {
        self.use_checks_as(line, changes, Waiter::Controller, false, now);
    }

    /// Uses the check bits of a line; true if they are being read for `waiter`.
    fn use_checks_as(&mut self, line: Line, changes: bool, waiter: Waiter, first: bool, now: Ps) -> bool {
        let (checks, place) = (self.layout.checks_of(line), self.layout.place_of_checks(line));
        let Some(buffer) = &mut self.checks else { return false };
        let caused = buffer.take(checks, place, changes);
        if caused.read {
            self.counts.check_reads += 1;
            self.enqueue_read(Read { line: checks, row: place.row, waiter, first }, place.bank, now);
        }
        if let Some((checks, place)) = caused.write {
            self.counts.check_writes += 1;
            self.enqueue_write(checks, place, now);
        }
        caused.read
    }

    #[inline(always)]
    fn enqueue_read(&mut self, read: Read, bank: usize, now: Ps) {
        self.admitted += 1;
        let in_order = self.reads_in_order();
        let queue = &mut self.banks[bank];
        if in_order {
            let is_oldest = queue.reads.is_empty();
            queue.reads.push_back(read);
            // Behind another one it changes nothing yet.
            if is_oldest {
                self.plan_oldest(bank, now);
            }
            return;
        }
        if self.with_writes >> bank & 1 == 1 && queue.writes_line(read.line) {
            self.counts.reads_behind_writes += 1;
            self.held += 1;
            queue.held.push(read);
        } else {
            queue.reads.push_back(read);
            // The first read stops the writes that were free to go.
            if self.admitted - self.held == 1 && self.writes > 0 {
                self.plan_banks(self.with_writes, now);
            }
        }
        self.plan(bank, now);
    }

    fn enqueue_write(&mut self, line: Line, place: BankRow, now: Ps) {
        self.writes += 1;
        self.with_writes |= 1 << place.bank;
        self.banks[place.bank].writes.push_back(Write { line, row: place.row, arrived: now });
        self.may_drain(now);
        self.plan(place.bank, now);
    }

    /// Whether a read waits for its turn. Held ones do not count: they would keep away the writes that they wait for.
    #[inline]
    pub(in crate::memory) fn has_reads(&self) -> bool {
        self.admitted > self.held
    }

    /// The read of a bank that goes next, by its place in the queue.
    #[inline(always)]
    pub(in crate::memory) fn next_read(&self, bank: usize) -> Option<(usize, Read)> {
        if self.draining && self.rules.drains_channel {
            return None;
        }
        self.banks[bank].first_read(self.order, self.dram.open_row(bank))
    }

    /// Where a read lines up that no longer waits for a write.
    pub(in crate::memory) fn release(&mut self, bank: usize, line: Line) {
        let queue = &mut self.banks[bank];
        for read in queue.held.extract_if(.., |read| read.line == line) {
            self.held -= 1;
            match self.rules.read_after_write {
                ReadAfterWrite::First => queue.reads.push_front(read),
                ReadAfterWrite::Last => queue.reads.push_back(read),
            }
        }
    }

    /// Sets the times of the banks whose bits are set.
    #[cold]
    #[inline(never)]
    pub(in crate::memory) fn plan_banks(&mut self, banks: u64, now: Ps) {
        for bank in bits(banks) {
            self.plan(bank, now);
        }
    }

    /// Sets the time of a bank's next command.
    #[inline(always)]
    pub(in crate::memory) fn plan(&mut self, bank: usize, now: Ps) {
        match self.reads_in_order() {
            true => self.plan_oldest(bank, now),
            false => self.plan_any(bank, now),
        }
    }

    /// The same where no write waits, and the oldest read goes first.
    #[inline(always)]
    pub(in crate::memory) fn plan_oldest(&mut self, bank: usize, now: Ps) {
        let oldest = self.banks[bank].reads.front();
        self.set_next(bank, oldest.map_or(Ps::NEVER, |read| self.dram.ready(read.place(bank), now)));
    }

    #[cold]
    #[inline(never)]
    fn plan_any(&mut self, bank: usize, now: Ps) {
        let read = self.next_read(bank).map_or(Ps::NEVER, |(_, read)| self.dram.ready(read.place(bank), now));
        let write = self
            .next_write(bank)
            .map_or(Ps::NEVER, |(_, write, eligible)| self.dram.ready(write.place(bank), now).max(eligible));
        self.set_next(bank, read.min(write));
    }

    #[inline(always)]
    pub(in crate::memory) fn set_next(&mut self, bank: usize, next: Ps) {
        self.next[bank] = next;
        match next {
            Ps::NEVER => self.active &= !(1 << bank),
            _ => self.active |= 1 << bank,
        }
        // Of several banks with the same time the lowest one goes first.
        if bank == self.first {
            self.find_first();
        } else if next < self.first_time || (next == self.first_time && bank < self.first) {
            (self.first, self.first_time) = (bank, next);
        }
    }

    #[inline(always)]
    fn find_first(&mut self) {
        let (mut first, mut time) = (0, Ps::NEVER);
        let mut left = self.active;
        while left != 0 {
            let bank = left.trailing_zeros() as usize;
            left &= left - 1;
            let next = self.next[bank];
            first = if next < time { bank } else { first };
            time = time.min(next);
        }
        (self.first, self.first_time) = (first, time);
    }
}
