//! A core's way to the memory hierarchy, and what each answer costs.

mod explain;
mod prefetch;
pub mod retry;
mod turns;

use crate::caches::access::{Answer, Want};
use crate::caches::hierarchy::Hierarchy;
use crate::core::latencies::Latencies;
use crate::core::mshrs::{Arrival, Asked, Bounds, MOST_MSHRS, Mshrs};
use crate::core::port::retry::Blocked;
use crate::core::world::World;
use crate::line::Line;
use crate::memory::{Handle, Requester};
use crate::observe::counters::FrontCounters;
use crate::observe::label::Label;
use crate::time::Ps;

/// What became of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Issued {
    /// The first level has the line.
    Hit,
    /// The line is there at this time.
    At(Arrival),
    /// Memory will answer into this MSHR.
    Pending(usize),
    /// Memory will answer into this MSHR, which an earlier access waits for too.
    Joined(usize),
    /// A filter has no entry, a shared cache can wait for no further line, or another core waits for the line:
    /// [`Port::retry_after`] returns when to try again.
    Blocked,
    /// All MSHRs are taken, one of them until this time (or [`Ps::NEVER`], if all wait for memory).
    Full(Ps),
}

/// A core's way to the hierarchy and the memory.
#[derive(Debug, Clone)]
pub struct Port {
    /// Index of the core.
    pub core: usize,
    /// Whether independent accesses overlap.
    pub out_of_order: bool,
    /// Whether a load that waits stops the core at once.
    pub stops_at_loads: bool,
    /// Whether its reads go first before the memory controller.
    pub first: bool,
    /// Who its requests count for.
    pub label: Label,
    /// What answers cost.
    pub latencies: Latencies,
    /// What the core did before its caches.
    pub counts: FrontCounters,
    /// The lines that it waits for.
    pub mshrs: Mshrs,
    blocked: Option<Blocked>,
    /// Whether the world's explainer hears of its misses.
    pub explains: bool,
    /// Those of the shared caches on its way whose misses are bounded.
    pub limits: Vec<usize>,
}

impl Port {
    /// A port with nothing outstanding.
    pub fn new(core: usize, out_of_order: bool, bounds: Bounds, latencies: Latencies) -> Self {
        Self {
            core,
            out_of_order,
            stops_at_loads: !out_of_order,
            first: false,
            label: Label::default(),
            latencies,
            counts: FrontCounters::default(),
            mshrs: Mshrs::new(bounds),
            blocked: None,
            explains: false,
            limits: Vec::new(),
        }
    }

    /// Begins an access.
    #[inline]
    pub fn issue(&mut self, world: &mut World, line: Line, want: Want, now: Ps) -> Issued {
        let hierarchy = &mut world.hierarchy;
        if self.mshrs.may_be_full()
            && let Some(time) = self.full(hierarchy, line, want, now)
        {
            return Issued::Full(time);
        }
        if !self.limits.is_empty()
            && let Some(refused) = self.out_of_turn(world, line, want, now)
        {
            return refused;
        }
        let World { hierarchy, effects, .. } = world;
        let answer = hierarchy.access(self.core, line, want, now, effects);
        let counts = &mut hierarchy.counts[self.core];
        counts.accesses += 1;
        let issued = match answer {
            Answer::L1 => {
                counts.l1_hits += 1;
                return match want {
                    Want::Write => self.stored(world, now),
                    _ => Issued::Hit,
                };
            }
            Answer::L2 => {
                counts.l2_hits += 1;
                Issued::At(Arrival { at: self.taken_from(world, want, now, now + self.latencies.l2), beyond: false })
            }
            Answer::Shared(level) => {
                counts.shared_hits += 1;
                let at = now + self.latencies.shared[usize::from(level)];
                let at = self.taken_from(world, want, now, at);
                self.take_turns(world, level, at);
                Issued::At(Arrival { at, beyond: true })
            }
            Answer::OnChip => {
                counts.on_chip_reads += 1;
                Issued::At(Arrival { at: now + self.latencies.on_chip, beyond: true })
            }
            Answer::OtherCore => {
                counts.transfers += 1;
                let at = now + self.latencies.other_core;
                self.take_turns(world, u8::MAX, at);
                Issued::At(Arrival { at, beyond: true })
            }
            Answer::Memory => {
                counts.memory_reads += 1;
                let mshr = self.mshrs.free().trailing_zeros() as usize;
                self.ask_memory(world, mshr, Asked { line, want, entry: 0 }, now);
                Issued::Pending(mshr)
            }
            Answer::InFlight => match self.mshr_that_brings(line, hierarchy) {
                Some(mshr) => {
                    self.mshrs.join(mshr, want);
                    Issued::Joined(mshr)
                }
                None => self.block(hierarchy, line, now, self.latencies.retry[0]),
            },
            Answer::Busy(filter) => {
                *[&mut counts.cluster_waits, &mut counts.interconnect_waits][usize::from(filter)] += 1;
                self.block(hierarchy, line, now, self.latencies.retry[usize::from(filter)])
            }
            Answer::Sent if want == Want::Stream => {
                self.counts.streamed_lines += 1;
                // A line leaves the core once the memory has taken those before it.
                let leaves = now + self.latencies.stream + world.memory.write_backlog();
                Issued::At(Arrival { at: leaves, beyond: true })
            }
            Answer::Sent => self.sent(world, now),
        };
        if self.explains {
            self.explain(world, (line, want), answer, issued, now);
        }
        issued
    }

    /// Whether reads of data that cannot wait for anything but MSHRs, entries and memory may take the short way: they
    /// overlap, nothing bounds them besides the MSHRs, and nobody asks why they wait.
    pub fn reads_straight(&self) -> bool {
        !self.stops_at_loads
            && !self.explains
            && self.limits.is_empty()
            && !self.mshrs.tell_beyond()
            && self.blocked.is_none_or(|blocked| blocked.turn.is_none())
    }

    /// On the short way: the hierarchy has let a read pass to memory, which answers into a free MSHR.
    #[inline(always)]
    pub fn ask(&mut self, world: &mut World, mshr: usize, (line, entry): (Line, u8), now: Ps) {
        let counts = &mut world.hierarchy.counts[self.core];
        counts.accesses += 1;
        counts.memory_reads += 1;
        self.ask_memory(world, mshr, Asked { line, want: Want::Read, entry }, now);
    }

    /// On the short way: a shared cache's filter has no entry for a line.
    #[inline(always)]
    pub fn wait_for_entry(&mut self, world: &mut World, line: Line, now: Ps) {
        world.hierarchy.counts[self.core].cluster_waits += 1;
        self.blocked = Some(Blocked { line, since: now, every: self.latencies.retry[0], turn: None });
    }

    /// A store hit the first level, and may have gone on to the memory.
    #[inline]
    fn stored(&self, world: &World, now: Ps) -> Issued {
        if world.hierarchy.cores[self.core].is_written_through() { self.sent(world, now) } else { Issued::Hit }
    }

    /// When a store that hits further out than the first level has left the core: it may have gone on to the memory, too.
    #[inline]
    fn taken_from(&self, world: &World, want: Want, now: Ps, at: Ps) -> Ps {
        if want != Want::Write || world.effects.writes.is_empty() {
            return at;
        }
        match self.stored(world, now) {
            Issued::At(arrival) => at.max(arrival.at),
            _ => at,
        }
    }

    /// A store that goes on to the memory leaves the core once the memory has taken those before it.
    #[inline(never)]
    fn sent(&self, world: &World, now: Ps) -> Issued {
        match world.memory.write_backlog() {
            backlog if backlog > Ps::ZERO && !world.effects.writes.is_empty() => {
                Issued::At(Arrival { at: now + backlog, beyond: true })
            }
            _ => Issued::Hit,
        }
    }

    /// Lines that this core's own accesses have read from memory: not those of page walks and prefetchers.
    pub fn demand_reads(&self, world: &World) -> u64 {
        let others = self.counts.walk_memory_reads + self.counts.prefetch_memory_reads;
        world.hierarchy.counts[self.core].memory_reads - others
    }

    #[inline(always)]
    fn ask_memory(&mut self, world: &mut World, mshr: usize, asked: Asked, now: Ps) {
        self.mshrs.ask(mshr, asked);
        let handle = (self.core * MOST_MSHRS + mshr) as Handle;
        let Label { class, monitor } = self.label;
        let source = Requester { core: self.core as u8, class, monitor, first: self.first };
        world.memory.read(asked.line, handle, source, now);
        if !self.limits.is_empty() {
            self.limits_owe(world);
        }
    }

    /// The MSHR that memory owes a line which is then in a cache.
    fn mshr_that_brings(&self, line: Line, hierarchy: &Hierarchy) -> Option<usize> {
        self.mshrs.owed_for(line).find(|mshr| !hierarchy.passes_caches(self.core, self.mshrs.asked(*mshr).want))
    }

    /// If there is no MSHR for a line that the core does not hold: when there will be one, or [`Ps::NEVER`] if memory decides.
    #[inline(never)]
    fn full(&mut self, hierarchy: &Hierarchy, line: Line, want: Want, now: Ps) -> Option<Ps> {
        let timed = self.mshrs.full(now)?;
        if want != Want::Fetch && hierarchy.cores[self.core].holds(line) {
            return None;
        }
        Some(self.mshrs.first_done(timed))
    }

    #[inline(never)]
    fn block(&mut self, hierarchy: &mut Hierarchy, line: Line, now: Ps, every: Ps) -> Issued {
        hierarchy.counts[self.core].accesses -= 1;
        self.blocked = Some(Blocked { line, since: now, every, turn: None });
        Issued::Blocked
    }

    /// Whether an access waits for an entry of a filter, or for another core's fill.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    /// The line for whose entry an access waits, or [`Line::EMPTY`] if it waits for a turn; none if none waits.
    #[inline(always)]
    pub fn waits_for(&self) -> Option<Line> {
        let blocked = self.blocked.as_ref()?;
        Some(if blocked.turn.is_none() { blocked.line } else { Line::EMPTY })
    }

    /// An access that waits is no longer wanted.
    pub fn unblock(&mut self) {
        self.blocked = None;
    }

    /// Takes over what another program of the same core has left: lines that are in flight, and counts.
    pub fn take_over(&mut self, before: Self) {
        self.counts = before.counts;
        self.mshrs.take_over(before.mshrs);
    }

    /// A fill of `filled` has come. If that may unblock this core, returns the time of its next attempt: the requester
    /// tries at fixed intervals, and only the first attempt after a fill into the same set can succeed.
    #[inline(always)]
    pub fn retry_after(&mut self, filled: Option<Line>, world: &mut World, now: Ps) -> Option<Ps> {
        let blocked = self.blocked.as_ref()?;
        let at = match (blocked.turn, filled) {
            (Some(cache), _) => blocked.turn_comes(&mut world.misses[cache], self.core, now)?,
            (None, Some(filled)) if world.hierarchy.compete(blocked.line, filled) => blocked.next_try(now),
            (None, _) => return None,
        };
        self.blocked = None;
        if self.explains {
            Self::tell_of_entry(world, at);
        }
        Some(at)
    }

    /// Memory has answered an MSHR; returns the line.
    #[inline(always)]
    pub fn answer(&mut self, mshr: usize, world: &mut World, line_bytes: u64, now: Ps) -> Line {
        let Asked { line, want, entry } = self.mshrs.answered(mshr);
        if self.explains || !self.limits.is_empty() {
            self.tell_of_answer(mshr, world, now);
        }
        let World { hierarchy, effects, .. } = world;
        hierarchy.counts[self.core].bytes_from_memory += line_bytes;
        if want != Want::Read || !hierarchy.fill_straight(self.core, line, entry, now, effects) {
            hierarchy.fill(self.core, line, want, now, effects);
        }
        line
    }

    /// The same as [`Port::answer`], for those who are not answered often.
    #[inline(never)]
    pub fn answer_rarely(&mut self, mshr: usize, world: &mut World, line_bytes: u64, now: Ps) -> Line {
        self.answer(mshr, world, line_bytes, now)
    }
}
