//! The memory: channels of banks with rows, a data bus each, refresh, and controllers that prefer reads to writes.
//!
//! | file | is |
//! |---|---|
//! | [`layout`] | where a line lies |
//! | `channel`, `bank` | a controller: its queues, what goes first, what is issued, when writes go before reads |
//! | `per_bank` | something for each bank |
//! | `dram`, `refresh` | the dies: when commands are allowed |
//! | `checks`, `joint` | inline ECC |
//! | `upstream`, `arbiter` | what stands before the channels: a limit of the way, bounded write queues |
//! | [`regulator`] | bandwidth regulation by class |
//! | [`side_cache`] | a cache at the memory's side |
//! | `read_paths` | what became of reads that somebody asked about |
//!
//! Assumed for simplicity: a transaction is placed as a whole when it begins, so that a later one that could fill a gap
//! on the data bus before it does not; the way through the interconnect is added to the answer, not split in two.

mod arbiter;
mod bank;
mod channel;
mod checks;
mod dram;
mod joint;
pub mod layout;
pub mod parameters;
mod per_bank;
mod queue;
mod read_paths;
mod refresh;
pub mod regulator;
pub mod side_cache;
#[cfg(test)]
mod tests;
mod upstream;

use crate::caches::hierarchy::MOST_CORES;
use crate::line::Line;
use crate::observe::counters::{ClassTraffic, MemoryCounters};
use crate::observe::label::{MOST_CLASSES, MOST_MONITORS};
use crate::observe::read_path::ReadPath;
use crate::time::Ps;
use arbiter::{Arbiter, Request};
use channel::Channel;
use parameters::MemoryParameters;
pub use per_bank::MOST_BANKS;
use read_paths::ReadPaths;
use upstream::Upstream;

/// Names the one who waits for a read.
pub type Handle = u32;

/// Who asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Requester {
    /// Index of the core.
    pub core: u8,
    /// Its class, below [`MOST_CLASSES`].
    pub class: u8,
    /// Its monitor, below [`MOST_MONITORS`].
    pub monitor: u8,
    /// Whether it goes first where priorities count.
    pub first: bool,
}

impl Requester {
    /// The number of its core's monitor among those of all cores.
    fn number(self) -> usize {
        (usize::from(self.core) * MOST_MONITORS + usize::from(self.monitor)) % MONITORS
    }
}

/// A memory.
#[derive(Debug, Clone)]
pub struct Memory {
    channels: Vec<Channel>,
    /// What stands before the channels, while it makes any difference.
    upstream: Option<Box<Upstream>>,
    /// The same while it makes none.
    idle_upstream: Option<Box<Upstream>>,
    /// The next command or answer of each channel.
    times: Vec<Ps>,
    /// The channel that acts next (the lowest one, if there are several), and when.
    next: usize,
    next_command: Ps,
    /// The same, or when something in front acts.
    next_time: Ps,
    line_bytes: u64,
    /// From one line to the next at the peak rate of all channels.
    line_time: Ps,
    classes: [ClassTraffic; MOST_CLASSES],
    /// By core and monitor.
    monitors: Box<[ClassTraffic; MONITORS]>,
}

/// Monitors of all cores, and room up to a power of two.
const MONITORS: usize = (MOST_CORES * MOST_MONITORS).next_power_of_two();

impl Memory {
    /// An idle memory with all rows closed.
    pub fn new(of: &MemoryParameters) -> Self {
        let channels = of.layout.channels;
        let mut memory = Self {
            channels: vec![Channel::new(of); channels],
            upstream: Upstream::new(of).map(Box::new),
            idle_upstream: None,
            times: vec![Ps::NEVER; channels],
            next: 0,
            next_command: Ps::NEVER,
            next_time: Ps::NEVER,
            line_bytes: of.line_bytes,
            line_time: of.line_time.max(of.timing.transfer / channels as u64),
            classes: [ClassTraffic::default(); MOST_CLASSES],
            monitors: Box::new([ClassTraffic::default(); MONITORS]),
        };
        memory.use_upstream();
        memory
    }

    /// A line is to be read.
    #[inline(always)]
    pub fn read(&mut self, line: Line, handle: Handle, source: Requester, now: Ps) {
        self.classes[usize::from(source.class) % MOST_CLASSES].bytes_read += self.line_bytes;
        self.monitors[source.number()].bytes_read += self.line_bytes;
        let (channel, in_channel) = self.channels[0].layout.channel(line);
        if self.upstream.is_some() {
            return self.arrive(Request::read(line, (channel, in_channel), handle, source), now);
        }
        if self.channels[channel].read(in_channel, handle, source.first, now) {
            self.plan_alone(channel);
        }
    }

    /// A line is to be written.
    #[inline]
    pub fn write(&mut self, line: Line, source: Requester, now: Ps) {
        self.classes[usize::from(source.class) % MOST_CLASSES].bytes_written += self.line_bytes;
        self.monitors[source.number()].bytes_written += self.line_bytes;
        let (channel, in_channel) = self.channels[0].layout.channel(line);
        if self.upstream.is_some() {
            return self.arrive(Request::write(line, (channel, in_channel), source), now);
        }
        self.channels[channel].write(in_channel, now);
        self.plan(channel);
    }

    /// The time that the writes take at the peak rate which the controllers have no room for: 0 as long as they take them all.
    pub fn write_backlog(&self) -> Ps {
        let before =
            self.upstream.as_ref().and_then(|upstream| upstream.arbiter.as_ref()).map_or(0, Arbiter::writes_waiting);
        let beyond = self.channels.iter().map(Channel::writes_beyond).sum::<u64>();
        self.line_time * (before + beyond)
    }

    /// The time of the next command or answer.
    #[inline]
    pub fn next_time(&self) -> Ps {
        self.next_time
    }

    /// Does what is due at `now`, which is [`Memory::next_time`]: returns who was answered, or issues one command.
    #[inline(always)]
    pub fn step(&mut self, now: Ps) -> Option<Handle> {
        if self.upstream.is_some() {
            return self.step_with_upstream(now);
        }
        let at = self.next;
        let channel = &mut self.channels[at];
        let answered = channel.step(now);
        let time = channel.next_time();
        self.acts_at(at, time);
        answered
    }

    /// Sets the age at which waiting writes go before reads.
    pub fn set_write_age(&mut self, age: Ps, now: Ps) {
        for channel in 0..self.channels.len() {
            self.channels[channel].set_write_age(age, now);
            self.plan(channel);
        }
    }

    /// Sets a class's stride, share or portions, and whether anything is regulated at all; false if there is no
    /// regulator.
    pub fn set_bandwidth(&mut self, class: u8, share: u64, enabled: bool, now: Ps) -> bool {
        let Some(regulator) = self.upstream.as_mut().and_then(|upstream| upstream.arbiter.as_mut()?.regulator.as_mut())
        else {
            return false;
        };
        regulator.set(class, share, enabled);
        self.pass(now);
        true
    }

    /// Sets the stride, share or portions of one class, where the others keep theirs; false if there is no regulator.
    pub fn set_share(&mut self, class: u8, share: u64, now: Ps) -> bool {
        let Some(regulator) = self.upstream.as_mut().and_then(|upstream| upstream.arbiter.as_mut()?.regulator.as_mut())
        else {
            return false;
        };
        regulator.set_one(class, share);
        self.pass(now);
        true
    }

    /// Sets what allocates in the memory-side cache; false if there is none. Lines stay where they are.
    pub fn set_memory_cache(&mut self, read: bool, dirty_write: bool) -> bool {
        let upstream = self.upstream.as_mut().or(self.idle_upstream.as_mut());
        let Some(cache) = upstream.and_then(|upstream| upstream.cache.as_mut()) else { return false };
        cache.set_allocation(read, dirty_write);
        self.use_upstream();
        true
    }

    /// Remembers from now on what becomes of the reads with these handles.
    pub fn follow(&mut self, handles: std::ops::Range<Handle>) {
        for channel in &mut self.channels {
            channel.read_paths = Some(Box::new(ReadPaths::new(handles.clone())));
        }
    }

    /// What became of a read that was answered: nothing if no channel had it, or nobody follows it.
    pub fn read_path(&mut self, handle: Handle) -> Option<ReadPath> {
        self.channels.iter_mut().find_map(|channel| channel.read_paths.as_mut()?.take(handle))
    }

    /// What was counted.
    pub fn counts(&self) -> MemoryCounters {
        let channels = self.channels.iter().map(|channel| &channel.counts);
        let upstream = self.upstream.iter().chain(&self.idle_upstream).map(|upstream| &upstream.counts);
        channels.chain(upstream).fold(MemoryCounters::default(), |sum, counts| sum.plus(counts))
    }

    /// Bytes asked for, by class.
    pub fn counts_by_class(&self) -> &[ClassTraffic] {
        &self.classes
    }

    /// Bytes that a core asked for under a monitor.
    pub fn counts_by_monitor(&self, core: usize, monitor: u8) -> ClassTraffic {
        self.monitors[core * MOST_MONITORS + usize::from(monitor)]
    }

    /// A channel's next command or answer has changed.
    #[inline]
    fn plan(&mut self, channel: usize) {
        self.plan_alone(channel);
        if let Some(upstream) = &mut self.upstream {
            if let Some(arbiter) = &mut upstream.arbiter {
                arbiter.channel_has(channel, self.channels[channel].room());
            }
            self.next_time = self.next_time.min(upstream.next_time());
        }
    }

    /// The same where nothing is in front.
    #[inline(always)]
    fn plan_alone(&mut self, channel: usize) {
        let time = self.channels[channel].next_time();
        self.acts_at(channel, time);
    }

    /// A channel acts next at this time, and nothing is in front.
    #[inline(always)]
    fn acts_at(&mut self, channel: usize, time: Ps) {
        match self.channels.len() {
            1 => self.next_command = time,
            _ => self.plan_among_others(channel, time),
        }
        self.next_time = self.next_command;
    }

    #[cold]
    #[inline(never)]
    fn plan_among_others(&mut self, channel: usize, time: Ps) {
        self.times[channel] = time;
        if channel != self.next {
            if (time, channel) < (self.next_command, self.next) {
                (self.next, self.next_command) = (channel, time);
            }
            return;
        }
        (self.next, self.next_command) = (0, self.times[0]);
        for (at, time) in self.times.iter().enumerate().skip(1) {
            if *time < self.next_command {
                (self.next, self.next_command) = (at, *time);
            }
        }
    }
}
