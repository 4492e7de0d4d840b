//! A core's way to the memory hierarchy: bounded outstanding misses, and what each answer costs.

use crate::access::{Answer, Want};
use crate::bits::bits;
use crate::hierarchy::Hierarchy;
use crate::latencies::Latencies;
use crate::memory::{Handle, Memory, Source};
use crate::tags::Line;

/// The most misses that a core can have outstanding.
pub const MOST_SLOTS: usize = 64;

/// A time that never comes.
pub const NEVER: u64 = u64::MAX;

/// What the cores share.
#[derive(Debug, Clone)]
pub struct World {
    /// Caches and filters.
    pub hierarchy: Hierarchy,
    /// The memory.
    pub memory: Memory,
    /// Cores whose programs must hear at once of lines that they lose, one bit each.
    pub watched: u32,
}

impl World {
    /// Whether an access has left nothing that the engine must pass on: no write to memory, no loss of a watched line.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.hierarchy.writes.is_empty() && self.hierarchy.disturbed & self.watched == 0
    }
}

/// What became of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Issued {
    /// The first level has the line.
    Hit,
    /// The line is there at this time.
    At(Arrival),
    /// Memory will answer into this slot.
    Pending(usize),
    /// Memory will answer into this slot, which an earlier access waits for too.
    Joined(usize),
    /// A filter has no entry, or another core waits for the line: [`Port::retry_after`] tells when to try again.
    Blocked,
    /// All slots are taken, one of them until this time (or [`NEVER`], if all wait for memory).
    Full(u64),
}

/// When a line comes, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The time.
    pub at: u64,
    /// Whether it comes from beyond the core's own caches.
    pub beyond: bool,
}

/// How many lines a core can wait for at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Lines that its first level waits for: 1 to [`MOST_SLOTS`].
    pub all: usize,
    /// Those among them that come from beyond its own caches.
    pub beyond: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Blocked {
    line: Line,
    since: u64,
    every: u64,
}

/// A core's outstanding misses and latencies.
#[derive(Debug, Clone)]
pub struct Port {
    /// Index of the core.
    pub core: usize,
    /// Whether independent accesses overlap.
    pub out_of_order: bool,
    /// Whether its reads go first before the memory controller.
    pub first: bool,
    /// Its class.
    pub class: u8,
    /// What answers cost.
    pub latencies: Latencies,
    /// All slots, one bit each.
    all: u64,
    /// Slots that memory owes a line.
    owed: u64,
    /// Slots that are taken until a known time.
    timed: u64,
    /// Slots whose lines come, or came, from beyond the core's own caches.
    beyond: u64,
    most_beyond: Option<usize>,
    blocked: Option<Blocked>,
    done: [u64; MOST_SLOTS],
    line: [Line; MOST_SLOTS],
    want: [Want; MOST_SLOTS],
}

impl Port {
    /// A port with nothing outstanding.
    pub fn new(core: usize, out_of_order: bool, bounds: Bounds, latencies: Latencies) -> Self {
        Self {
            core,
            out_of_order,
            first: false,
            class: 0,
            latencies,
            all: u64::MAX >> (MOST_SLOTS - bounds.all),
            owed: 0,
            timed: 0,
            beyond: 0,
            most_beyond: bounds.beyond,
            blocked: None,
            done: [0; MOST_SLOTS],
            line: [0; MOST_SLOTS],
            want: [Want::Read; MOST_SLOTS],
        }
    }

    /// Begins an access.
    #[inline]
    pub fn issue(&mut self, world: &mut World, line: Line, want: Want, now: u64) -> Issued {
        let hierarchy = &mut world.hierarchy;
        if (self.free() == 0 || self.most_beyond.is_some())
            && let Some(time) = self.full(hierarchy, line, want, now)
        {
            return Issued::Full(time);
        }
        let answer = hierarchy.access(self.core, line, want, now);
        let counts = &mut hierarchy.counts[self.core];
        counts.accesses += 1;
        match answer {
            Answer::L1 => {
                counts.l1_hits += 1;
                Issued::Hit
            }
            Answer::L2 => {
                counts.l2_hits += 1;
                Issued::At(Arrival { at: now + self.latencies.l2, beyond: false })
            }
            Answer::Shared(level) => {
                counts.shared_hits += 1;
                Issued::At(Arrival { at: now + self.latencies.shared[usize::from(level)], beyond: true })
            }
            Answer::OtherCore => {
                counts.transfers += 1;
                Issued::At(Arrival { at: now + self.latencies.other_core, beyond: true })
            }
            Answer::Memory => {
                counts.memory_reads += 1;
                let slot = self.free().trailing_zeros() as usize;
                self.owed |= 1 << slot;
                self.beyond |= 1 << slot;
                self.line[slot] = line;
                self.want[slot] = want;
                let handle = (self.core * MOST_SLOTS + slot) as Handle;
                let source = Source { core: self.core as u8, class: self.class, first: self.first };
                world.memory.read(line, handle, source, now);
                Issued::Pending(slot)
            }
            Answer::UnderWay => match bits(self.owed).find(|slot| self.line[*slot] == line) {
                Some(slot) => {
                    if want == Want::Write {
                        self.want[slot] = Want::Write;
                    }
                    Issued::Joined(slot)
                }
                None => self.block(hierarchy, line, now, self.latencies.retry[0]),
            },
            Answer::Busy(filter) => {
                *[&mut counts.cluster_waits, &mut counts.interconnect_waits][usize::from(filter)] += 1;
                self.block(hierarchy, line, now, self.latencies.retry[usize::from(filter)])
            }
            Answer::Sent => Issued::Hit,
        }
    }

    /// If there is no slot for a line that the core does not hold: when there will be one, or [`NEVER`] if memory decides.
    #[inline(never)]
    fn full(&mut self, hierarchy: &Hierarchy, line: Line, want: Want, now: u64) -> Option<u64> {
        let full = |port: &Self| match port.most_beyond {
            _ if port.free() == 0 => Some(port.timed),
            Some(most) => {
                let beyond = port.beyond & (port.owed | port.timed);
                (beyond.count_ones() as usize >= most).then_some(port.timed & beyond)
            }
            None => None,
        };
        full(self)?;
        self.reclaim(now);
        let timed = full(self)?;
        if want != Want::Fetch && hierarchy.cores[self.core].holds(line) {
            return None;
        }
        Some(bits(timed).map(|slot| self.done[slot]).min().unwrap_or(NEVER))
    }

    fn block(&mut self, hierarchy: &mut Hierarchy, line: Line, now: u64, every: u64) -> Issued {
        hierarchy.counts[self.core].accesses -= 1;
        self.blocked = Some(Blocked { line, since: now, every });
        Issued::Blocked
    }

    /// Whether an access waits for an entry of a filter, or for another core's fill.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    /// A fill of `filled` has come. If that may unblock this core, gives the time of its next attempt: the requester
    /// tries at fixed intervals, and only the first attempt after a fill into the same set can succeed.
    #[inline]
    pub fn retry_after(&mut self, filled: Line, hierarchy: &Hierarchy, now: u64) -> Option<u64> {
        let Blocked { line, since, every } = self.blocked?;
        if !hierarchy.compete(line, filled) {
            return None;
        }
        self.blocked = None;
        let at = since + (now - since).div_ceil(every).max(1) * every;
        Some(at)
    }

    /// Keeps a slot for a line that comes at a known time, and gives it; none if all are taken.
    #[inline]
    pub fn keep_until(&mut self, arrival: Arrival) -> Option<usize> {
        let free = self.free();
        if free == 0 {
            return None;
        }
        let slot = free.trailing_zeros() as usize;
        self.timed |= 1 << slot;
        self.beyond = self.beyond & !(1 << slot) | u64::from(arrival.beyond) << slot;
        self.done[slot] = arrival.at;
        Some(slot)
    }

    /// Memory has answered a slot; gives the line.
    #[inline]
    pub fn answer(&mut self, slot: usize, hierarchy: &mut Hierarchy, line_bytes: u64, now: u64) -> Line {
        self.owed &= !(1 << slot);
        hierarchy.counts[self.core].bytes_from_memory += line_bytes;
        hierarchy.fill(self.core, self.line[slot], self.want[slot], now);
        self.line[slot]
    }

    /// When everything outstanding is there: [`NEVER`] while memory owes an answer, 0 if there is nothing.
    #[inline]
    pub fn all_done(&self) -> u64 {
        match self.owed {
            0 => bits(self.timed).map(|slot| self.done[slot]).max().unwrap_or(0),
            _ => NEVER,
        }
    }

    /// Slots whose lines are not there at `now`, one bit each.
    pub fn unfinished(&self, now: u64) -> u64 {
        self.owed | bits(self.timed).filter(|slot| self.done[*slot] > now).fold(0, |mask, slot| mask | 1 << slot)
    }

    /// When a slot has its line: [`NEVER`] while memory owes it.
    pub fn done_at(&self, slot: usize) -> u64 {
        if self.owed >> slot & 1 == 1 { NEVER } else { self.done[slot] }
    }

    #[inline]
    fn free(&self) -> u64 {
        self.all & !(self.owed | self.timed)
    }

    #[inline]
    fn reclaim(&mut self, now: u64) {
        for slot in bits(self.timed) {
            if self.done[slot] <= now {
                self.timed &= !(1 << slot);
            }
        }
    }
}
