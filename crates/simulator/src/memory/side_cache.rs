//! A cache at the memory's side (system memory cache): it sees every request for memory, whatever the clusters hold.
//!
//! A hit answers a read after a fixed time and takes a write. A read that misses allocates when its line is fetched, if
//! it may; a write that misses allocates at once, if it may, and needs nothing from memory, as it brings a whole line.
//! Changed lines that make room are written to memory.

use waykeeper_platform::Replacement;
use waykeeper_workload::Xorshift;

use crate::caches::cache::Cache;
use crate::caches::flags::DIRTY;
use crate::line::Line;
use crate::time::Ps;

/// Shape and rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SideCacheParameters {
    /// Independent parts: a power of two; the lowest bits of the line choose one.
    pub parts: usize,
    /// Sets of a part: a power of two.
    pub sets: usize,
    /// Associativity.
    pub ways: usize,
    /// The choice of the victim.
    pub replacement: Replacement,
    /// From request to answer of a hit.
    pub hit: Ps,
    /// Whether a read that misses allocates.
    pub read_allocation: bool,
    /// Whether a write of a changed line allocates.
    pub dirty_write_allocation: bool,
    /// Decides random choices of victims.
    pub seed: u64,
}

/// A cache at the memory's side. Its parts are one array: their number is the lowest bits of the set.
#[derive(Debug, Clone)]
pub struct SideCache {
    cache: Cache,
    random: Xorshift,
    /// From request to answer of a hit.
    pub hit: Ps,
    read_allocation: bool,
    dirty_write_allocation: bool,
    held: usize,
}

impl SideCache {
    /// An empty cache.
    pub fn new(of: SideCacheParameters) -> Self {
        Self {
            cache: Cache::new(of.parts * of.sets, of.ways, of.replacement),
            random: Xorshift::new(of.seed),
            hit: of.hit,
            read_allocation: of.read_allocation,
            dirty_write_allocation: of.dirty_write_allocation,
            held: 0,
        }
    }

    /// Sets what allocates; lines stay where they are.
    pub fn set_allocation(&mut self, read: bool, dirty_write: bool) {
        (self.read_allocation, self.dirty_write_allocation) = (read, dirty_write);
    }

    /// Whether it can make any difference: it may take lines, or has some.
    #[inline]
    pub fn is_of_use(&self) -> bool {
        self.read_allocation || self.dirty_write_allocation || self.held > 0
    }

    /// Whether a line is there.
    #[inline]
    pub fn holds(&self, line: Line) -> bool {
        self.cache.find(line).is_some()
    }

    /// Whether it takes a line that is to be written.
    #[inline]
    pub fn takes_write(&self, line: Line) -> bool {
        self.dirty_write_allocation || self.holds(line)
    }

    /// Whether lines that are read allocate.
    #[inline]
    pub fn takes_reads(&self) -> bool {
        self.read_allocation
    }

    /// A use by a read; true if the line is there.
    pub fn read(&mut self, line: Line) -> bool {
        let Some(place) = self.cache.find(line) else { return false };
        self.cache.touch(place, 0);
        true
    }

    /// Takes a line that is to be written, which [`SideCache::takes_write`]; returns the changed line that made room.
    pub fn write(&mut self, line: Line) -> Option<Line> {
        match self.cache.find(line) {
            Some(place) => {
                self.cache.touch(place, DIRTY);
                None
            }
            None => self.fill(line, true),
        }
    }

    /// Takes a line that was read; returns the changed line that made room.
    pub fn fetched(&mut self, line: Line) -> Option<Line> {
        if self.holds(line) { None } else { self.fill(line, false) }
    }

    fn fill(&mut self, line: Line, changed: bool) -> Option<Line> {
        let flags = if changed { DIRTY } else { 0 };
        let out = self.cache.insert(line, flags, self.cache.all_ways(), &mut self.random);
        self.held += usize::from(out.is_none());
        out.filter(|out| out.flags & DIRTY != 0).map(|out| out.line)
    }
}
