//! The memory channel: banks with rows, a data bus, refresh, and a controller that prefers reads to writes.
//!
//! Requests beyond the controller's capacity wait in front of it, where a priority counts; inside, each bank takes its
//! reads in the order of their arrival. Writes wait until they have aged, until many have gathered, or until no read is
//! left. A read of a line that a write waits for goes after that write.
//!
//! Assumed for simplicity: the data bus is used in the order of the commands; turning it round between reads and writes
//! costs nothing; the way through the interconnect is added to the answer, not split in two.

use waykeeper_platform::ReadAfterWrite;

use crate::counters::MemoryCounters;
use crate::parameters::Parameters;
use crate::queue::Queue;
use crate::tags::Line;

/// Names the one who waits for a read.
pub type Handle = u32;

#[derive(Debug, Clone, Copy, Default)]
struct Read {
    line: Line,
    handle: Handle,
}

#[derive(Debug, Clone, Copy, Default)]
struct Write {
    line: Line,
    arrived: u64,
}

#[derive(Debug, Clone)]
struct Bank {
    reads: Queue<Read>,
    writes: Queue<Write>,
    held: Vec<Read>,
    open_row: Option<Line>,
    refreshes_seen: u64,
    next_activation: u64,
    next_column: u64,
}

/// A memory channel.
#[derive(Debug, Clone)]
pub struct Memory {
    of: Parameters,
    banks: Vec<Bank>,
    /// When each bank issues its next command, or never.
    next: Vec<u64>,
    /// The banks that will issue one, one bit each.
    active: u64,
    /// The first of them and its time, or never.
    first: usize,
    first_time: u64,
    admitted: usize,
    held: usize,
    outside: [Queue<Read>; 2],
    bus_free: u64,
    answers: Queue<(u64, Handle)>,
    writes: usize,
    draining: bool,
    next_refresh: u64,
    refresh_end: u64,
    /// What was counted.
    pub counts: MemoryCounters,
}

const NEVER: u64 = u64::MAX;

impl Memory {
    /// An idle memory with all rows closed.
    pub fn new(of: Parameters) -> Self {
        let bank = Bank {
            reads: Queue::new(),
            writes: Queue::new(),
            held: Vec::new(),
            open_row: None,
            refreshes_seen: 0,
            next_activation: 0,
            next_column: 0,
        };
        Self {
            banks: vec![bank; of.banks],
            next: vec![NEVER; of.banks],
            active: 0,
            first: 0,
            first_time: NEVER,
            admitted: 0,
            held: 0,
            outside: [Queue::new(), Queue::new()],
            bus_free: 0,
            answers: Queue::new(),
            writes: 0,
            draining: false,
            next_refresh: of.refresh_phase,
            refresh_end: 0,
            counts: MemoryCounters::default(),
            of,
        }
    }

    /// A line is to be read.
    pub fn read(&mut self, line: Line, handle: Handle, first: bool, now: u64) {
        let read = Read { line, handle };
        if self.admitted < self.of.queue_entries {
            self.admit(read, now);
        } else {
            self.outside[usize::from(!first)].push_back(read);
        }
    }

    /// A line is to be written.
    pub fn write(&mut self, line: Line, now: u64) {
        let bank = self.bank_of(line);
        self.writes += 1;
        self.banks[bank].writes.push_back(Write { line, arrived: now });
        if self.writes >= self.of.write_high && !self.draining {
            self.draining = true;
            self.plan_banks_with_writes(now);
        }
        self.plan(bank, now);
    }

    /// The time of the next command or answer.
    #[inline]
    pub fn next_time(&self) -> u64 {
        self.answers.front().map_or(NEVER, |(at, _)| at).min(self.first_time)
    }

    /// Does what is due at `now`, which is [`Memory::next_time`]: gives who was answered, or issues one command.
    #[inline]
    pub fn step(&mut self, now: u64) -> Option<Handle> {
        if self.answers.front().is_some_and(|(at, _)| at <= now) {
            return self.answers.pop_front().map(|(_, handle)| handle);
        }
        self.issue(self.first, now);
        None
    }

    fn bank_of(&self, line: Line) -> usize {
        (line >> self.of.row_lines_log2) as usize & (self.banks.len() - 1)
    }

    fn row_of(&self, line: Line) -> Line {
        line >> self.of.row_lines_log2
    }

    fn admit(&mut self, read: Read, now: u64) {
        self.admitted += 1;
        let bank = self.bank_of(read.line);
        let queue = &mut self.banks[bank];
        if queue.writes.iter().any(|write| write.line == read.line) {
            self.counts.reads_behind_writes += 1;
            self.held += 1;
            queue.held.push(read);
        } else {
            queue.reads.push_back(read);
            // The first read stops the writes that were free to go.
            if self.admitted - self.held == 1 && self.writes > 0 {
                self.plan_banks_with_writes(now);
            }
        }
        self.plan(bank, now);
    }

    /// Whether a read waits for its turn. Held ones do not count: they would keep away the writes that they wait for.
    fn has_reads(&self) -> bool {
        self.admitted > self.held
    }

    fn plan_banks_with_writes(&mut self, now: u64) {
        for bank in 0..self.banks.len() {
            if !self.banks[bank].writes.is_empty() {
                self.plan(bank, now);
            }
        }
    }

    /// When a write may go at the earliest, without regard to its bank.
    fn write_eligible(&self, write: &Write, now: u64) -> u64 {
        if self.draining || !self.has_reads() { now } else { write.arrived + self.of.write_age }
    }

    /// When a bank can begin with a line.
    #[inline]
    fn ready(&self, bank: &Bank, line: Line, now: u64) -> u64 {
        let at = if bank.open_row == Some(self.row_of(line)) {
            bank.next_column
        } else {
            bank.next_column.max(bank.next_activation.saturating_sub(self.of.trp))
        };
        at.max(now)
    }

    /// Sets the time of a bank's next command.
    #[inline]
    fn plan(&mut self, index: usize, now: u64) {
        let bank = &self.banks[index];
        let read = bank.reads.front().map_or(NEVER, |read| self.ready(bank, read.line, now));
        let write = bank
            .writes
            .front()
            .map_or(NEVER, |write| self.ready(bank, write.line, now).max(self.write_eligible(&write, now)));
        let next = read.min(write);
        self.next[index] = next;
        self.active = self.active & !(1 << index) | u64::from(next != NEVER) << index;
        // Of several banks with the same time the lowest one goes first.
        if next < self.first_time || (next == self.first_time && index <= self.first) {
            (self.first, self.first_time) = (index, next);
        } else if index == self.first {
            self.find_first();
        }
    }

    #[inline]
    fn find_first(&mut self) {
        (self.first, self.first_time) = (0, NEVER);
        let mut left = self.active;
        while left != 0 {
            let bank = left.trailing_zeros() as usize;
            left &= left - 1;
            if self.next[bank] < self.first_time {
                (self.first, self.first_time) = (bank, self.next[bank]);
            }
        }
    }

    fn issue(&mut self, index: usize, now: u64) {
        let bank = &self.banks[index];
        let write = bank.writes.front().filter(|write| self.write_eligible(write, now) <= now);
        match (write, bank.reads.front()) {
            (Some(write), waiting_read) => {
                self.counts.aged_writes += u64::from(waiting_read.is_some() && !self.draining);
                self.issue_write(index, write, now);
            }
            (None, Some(read)) => self.issue_read(index, read, now),
            (None, None) => self.plan(index, now),
        }
    }

    fn issue_read(&mut self, index: usize, read: Read, now: u64) {
        self.banks[index].reads.pop_front();
        let data = self.transfer(index, read.line, now);
        self.answers.push_back((data + self.of.crossing, read.handle));
        self.counts.reads += 1;
        self.admitted -= 1;
        if let Some(next) = self.outside.iter_mut().find_map(Queue::pop_front) {
            self.admit(next, now);
        }
        if self.writes > 0 && !self.has_reads() {
            self.plan_banks_with_writes(now);
        }
        self.plan(index, now);
    }

    fn issue_write(&mut self, index: usize, write: Write, now: u64) {
        self.transfer(index, write.line, now);
        self.counts.writes += 1;
        self.writes -= 1;
        if self.draining && self.writes <= self.of.write_low {
            self.draining = false;
            self.plan_banks_with_writes(now);
        }
        let bank = &mut self.banks[index];
        bank.writes.pop_front();
        if !bank.writes.iter().any(|later| later.line == write.line) {
            let had_reads = self.admitted > self.held;
            for read in bank.held.extract_if(.., |read| read.line == write.line) {
                self.held -= 1;
                match self.of.read_after_write {
                    ReadAfterWrite::First => bank.reads.push_front(read),
                    ReadAfterWrite::Last => bank.reads.push_back(read),
                }
            }
            if !had_reads && self.has_reads() && self.writes > 0 {
                self.plan_banks_with_writes(now);
            }
        }
        self.plan(index, now);
    }

    /// Opens the row if need be and moves one line over the bus; gives the end of the transfer.
    fn transfer(&mut self, index: usize, line: Line, now: u64) -> u64 {
        let row = self.row_of(line);
        let start = self.after_refresh(now);
        let refreshes = self.counts.refreshes;
        let bank = &mut self.banks[index];
        let refreshed = bank.refreshes_seen != refreshes;
        let column = if bank.open_row == Some(row) && !refreshed {
            self.counts.row_hits += 1;
            start
        } else {
            self.counts.row_misses += 1;
            // A refresh leaves all rows closed, so nothing is to be precharged after it.
            let precharge = if bank.open_row.is_some() && !refreshed { self.of.trp } else { 0 };
            let activation = (start + precharge).max(bank.next_activation);
            bank.next_activation = activation + self.of.trc;
            bank.open_row = Some(row);
            activation + self.of.trcd
        };
        bank.refreshes_seen = refreshes;
        let data = (column + self.of.cl).max(self.bus_free);
        self.bus_free = data + self.of.transfer;
        bank.next_column = self.bus_free - self.of.cl;
        self.bus_free
    }

    /// `now`, or the end of the refresh that is under way.
    fn after_refresh(&mut self, now: u64) -> u64 {
        while now >= self.next_refresh {
            self.refresh_end = self.next_refresh + self.of.trfc;
            self.next_refresh += self.of.trefi;
            self.counts.refreshes += 1;
        }
        now.max(self.refresh_end)
    }
}
