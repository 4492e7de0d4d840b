//! The memory: channels of banks with rows, a data bus each, refresh, and controllers that prefer reads to writes.
//!
//! | file | is |
//! |---|---|
//! | [`layout`] | where a line lies |
//! | `channel`, `bank`, `issue` | a controller: its queues, what goes first, what is issued |
//! | `dram`, `refresh` | the dies: when commands are allowed |
//! | `checks`, `joint` | inline ECC |
//!
//! Assumed for simplicity: a transaction is placed as a whole when it begins, so that a later one that could fill a gap
//! on the data bus before it does not; the way through the interconnect is added to the answer, not split in two.

mod bank;
mod channel;
mod checks;
mod dram;
mod issue;
mod joint;
pub mod layout;
pub mod parameters;
mod queue;
mod refresh;
#[cfg(test)]
mod tests;

use crate::counters::{ClassTraffic, MemoryCounters};
use crate::tags::Line;
use channel::Channel;
pub use channel::{MOST_BANKS, NEVER};
use parameters::Parameters;

/// Names the one who waits for a read.
pub type Handle = u32;

/// The most classes that the memory tells apart.
pub const MOST_CLASSES: usize = 8;

/// Who asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Source {
    /// Index of the core.
    pub core: u8,
    /// Its class, below [`MOST_CLASSES`].
    pub class: u8,
    /// Whether it goes first where priorities count.
    pub first: bool,
}

/// A memory.
#[derive(Debug, Clone)]
pub struct Memory {
    channels: Vec<Channel>,
    /// The next command or answer of each channel.
    times: Vec<u64>,
    /// The channel that acts next (the lowest one, if there are several), and when.
    next: usize,
    next_time: u64,
    line_bytes: u64,
    classes: [ClassTraffic; MOST_CLASSES],
}

impl Memory {
    /// An idle memory with all rows closed.
    pub fn new(of: &Parameters) -> Self {
        let channels = of.layout.channels;
        Self {
            channels: vec![Channel::new(of); channels],
            times: vec![NEVER; channels],
            next: 0,
            next_time: NEVER,
            line_bytes: of.line_bytes,
            classes: [ClassTraffic::default(); MOST_CLASSES],
        }
    }

    /// A line is to be read.
    #[inline]
    pub fn read(&mut self, line: Line, handle: Handle, source: Source, now: u64) {
        self.classes[usize::from(source.class)].bytes_read += self.line_bytes;
        let (channel, line) = self.channels[0].layout.channel(line);
        self.channels[channel].read(line, handle, source.first, now);
        self.plan(channel);
    }

    /// A line is to be written.
    #[inline]
    pub fn write(&mut self, line: Line, source: Source, now: u64) {
        self.classes[usize::from(source.class)].bytes_written += self.line_bytes;
        let (channel, line) = self.channels[0].layout.channel(line);
        self.channels[channel].write(line, now);
        self.plan(channel);
    }

    /// The time of the next command or answer.
    #[inline]
    pub fn next_time(&self) -> u64 {
        self.next_time
    }

    /// Does what is due at `now`, which is [`Memory::next_time`]: gives who was answered, or issues one command.
    #[inline]
    pub fn step(&mut self, now: u64) -> Option<Handle> {
        let channel = self.next;
        let answered = self.channels[channel].step(now);
        self.plan(channel);
        answered
    }

    /// Sets the age at which waiting writes go before reads.
    pub fn set_write_age(&mut self, ps: u64, now: u64) {
        for channel in 0..self.channels.len() {
            self.channels[channel].set_write_age(ps, now);
            self.plan(channel);
        }
    }

    /// What was counted.
    pub fn counts(&self) -> MemoryCounters {
        self.channels.iter().fold(MemoryCounters::default(), |sum, channel| sum.plus(&channel.counts))
    }

    /// Bytes asked for by class.
    pub fn counts_by_class(&self) -> &[ClassTraffic] {
        &self.classes
    }

    #[inline]
    fn plan(&mut self, channel: usize) {
        let time = self.channels[channel].next_time();
        if self.channels.len() == 1 {
            self.next_time = time;
            return;
        }
        self.times[channel] = time;
        (self.next, self.next_time) = (0, self.times[0]);
        for (at, time) in self.times.iter().enumerate().skip(1) {
            if *time < self.next_time {
                (self.next, self.next_time) = (at, *time);
            }
        }
    }
}
