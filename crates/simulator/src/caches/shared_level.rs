//! A shared cache: an array, a replacement policy, an allocation rule, and who may fill which ways.

use waykeeper_platform::Allocation;
use waykeeper_workload::Xorshift;

use crate::caches::allocation::class_ways::ClassWays;
use crate::caches::allocation::rule::takes_inward;
use crate::caches::cache::{Cache, Evicted};
use crate::caches::flags::{Flags, monitor_of};
use crate::line::Line;
use crate::observe::label::MOST_MONITORS;

/// A shared cache and who may fill it.
#[derive(Debug, Clone)]
pub struct SharedLevel {
    /// 2 or 3.
    pub level: u8,
    /// The cache.
    pub cache: Cache,
    /// When it takes a line.
    pub allocation: Allocation,
    /// Who may fill which ways. Only lines on their way in are known to be instructions.
    pub ways: ClassWays,
    /// Lines by the monitor of who brought them.
    held: Box<[u32; MOST_MONITORS]>,
}

impl SharedLevel {
    /// An empty cache that everyone fills without bounds.
    pub fn new(level: u8, cache: Cache, allocation: Allocation) -> Self {
        Self { level, allocation, ways: ClassWays::new(cache.all_ways()), held: Box::new([0; MOST_MONITORS]), cache }
    }

    /// Puts a line that is not there into one of these ways; see [`Cache::insert`].
    #[inline(always)]
    pub fn insert(&mut self, line: Line, flags: Flags, ways: u32, random: &mut Xorshift) -> Option<Evicted> {
        let out = self.cache.insert(line, flags, ways, random);
        self.held[monitor_of(flags)] += 1;
        if let Some(out) = out {
            // The line itself, if it found no way.
            self.held[monitor_of(out.flags)] -= 1;
        }
        out
    }

    /// Takes a line out and returns its flags.
    #[inline]
    pub fn remove(&mut self, line: Line) -> Option<Flags> {
        let flags = self.cache.remove(line)?;
        self.held[monitor_of(flags)] -= 1;
        Some(flags)
    }

    /// Lines that are here, by the monitor of who brought them.
    pub fn held(&self) -> &[u32; MOST_MONITORS] {
        &self.held
    }

    /// Whether lines pass through it on their way in. Other kinds take lines on their way out.
    #[inline(always)]
    pub fn takes_inward(&self) -> bool {
        takes_inward(self.allocation)
    }

    /// Whether what lies inside must be here too.
    pub fn is_inclusive(&self) -> bool {
        self.allocation == Allocation::Inclusive
    }
}
