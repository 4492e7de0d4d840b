//! The levels together.

use waykeeper_platform::Replacement;
use waykeeper_simulator::Refused;

use crate::access::{PackedAccess, Word};
use crate::addresses::Addresses;
use crate::block::{BLOCK, Block, Meaning};
use crate::cache::CacheState;
use crate::counts::LevelCounts;
use crate::level::Level;

/// Caches of one core, the innermost first.
#[derive(Debug, Clone)]
pub struct CoreCaches {
    levels: Vec<Level>,
    caches: Vec<CacheState>,
    counts: Vec<LevelCounts>,
    line_shift: u32,
    block: Block,
    passed_on: [Vec<Word>; 2],
    made: Vec<PackedAccess>,
}

impl CoreCaches {
    /// Empty caches with lines of `line_bytes`, a power of two; at least one level, the innermost first.
    ///
    /// # Errors
    /// Levels that are no cache, with the key of what is wrong.
    pub fn new(line_bytes: u64, levels: &[Level]) -> Result<Self, Refused> {
        Self::with_seed(line_bytes, levels, 1)
    }

    /// The same with a seed for random replacement; level `n` draws from a generator that begins with `seed` + `n`.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn with_seed(line_bytes: u64, levels: &[Level], seed: u64) -> Result<Self, Refused> {
        if !line_bytes.is_power_of_two() {
            return Err(Refused::new("line_bytes", format!("{line_bytes} is no power of two; 64 would do")));
        }
        if levels.is_empty() {
            return Err(Refused::new("levels", "there is none; one cache at least would do"));
        }
        for (at, level) in levels.iter().enumerate() {
            level.check(at)?;
        }
        let cache = |(at, level)| CacheState::new(level, seed.wrapping_add(at as u64));
        Ok(Self {
            caches: levels.iter().enumerate().map(cache).collect(),
            counts: vec![LevelCounts::default(); levels.len()],
            levels: levels.to_vec(),
            line_shift: line_bytes.trailing_zeros(),
            block: Block::new(),
            passed_on: [Vec::new(), Vec::new()],
            made: Vec::new(),
        })
    }

    /// Loads from byte addresses of up to 63 bits, one line each.
    ///
    /// # Errors
    /// Addresses in more than 63 far regions (of 2^24 lines each, above line 2^30). What came before them in steps of 2048
    /// accesses was done.
    pub fn load(&mut self, addresses: &[u64]) -> Result<(), Refused> {
        self.run(addresses, Meaning::Loads)
    }

    /// Stores to byte addresses.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn store(&mut self, addresses: &[u64]) -> Result<(), Refused> {
        self.run(addresses, Meaning::Stores)
    }

    /// Loads and stores.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn access(&mut self, accesses: &[PackedAccess]) -> Result<(), Refused> {
        self.run(PackedAccess::as_raw(accesses), Meaning::Both)
    }

    /// The next `count` accesses of a pattern.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn follow(&mut self, addresses: &mut Addresses, count: u64) -> Result<(), Refused> {
        let mut made = std::mem::take(&mut self.made);
        let mut left = count;
        let mut outcome = Ok(());
        while left > 0 && outcome.is_ok() {
            let now = left.min(BLOCK as u64);
            addresses.next_into(now, &mut made);
            left -= now;
            outcome = self.access(&made);
        }
        self.made = made;
        outcome
    }

    fn run(&mut self, raw: &[u64], meaning: Meaning) -> Result<(), Refused> {
        // Under interval prediction a second use in a row is more than the first.
        let repeats = self.levels[0].replacement != Replacement::Biased;
        for raw in raw.chunks(BLOCK) {
            self.block.take(raw, meaning, self.line_shift, repeats)?;
            self.run_block();
        }
        Ok(())
    }

    fn run_block(&mut self) {
        let [mut into, mut from] = self.passed_on.each_mut();
        let (mut loads, mut stores) = (self.block.loads, self.block.stores);
        for (at, (cache, counts)) in self.caches.iter_mut().zip(&mut self.counts).enumerate() {
            let words = if at == 0 { self.block.words() } else { from.as_slice() };
            let passed = cache.run(words, stores > 0, into);
            counts.add(loads, stores, passed);
            (loads, stores) = (passed.misses, passed.evicts);
            std::mem::swap(&mut into, &mut from);
        }
    }

    /// The counts, by level.
    pub fn counts(&self) -> &[LevelCounts] {
        &self.counts
    }

    /// Counts from zero again. What is cached stays.
    pub fn reset_counts(&mut self) {
        self.counts.fill(LevelCounts::default());
    }

    /// The levels.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Changes the ways that fills of a level may use. Lines stay where they are, and hits ignore the mask.
    ///
    /// # Errors
    /// A level that does not exist, a mask that allows none of its ways or others, and an LRU level that was made without
    /// a mask: it keeps its lines in the order of their use and knows no ways.
    pub fn set_fill_ways(&mut self, level: usize, mask: u32) -> Result<(), Refused> {
        let Some(described) = self.levels.get_mut(level) else {
            let why = format!("there is no such level; the last one is {}", self.caches.len() - 1);
            return Err(Refused::new(format!("levels.{level}"), why));
        };
        described.check_mask(level, mask)?;
        match &mut self.caches[level] {
            CacheState::ByWay(cache) => cache.set_fill_ways(mask),
            CacheState::Recency(_) => {
                let why = "an LRU level made without a mask does not know its ways; one that allows all would do";
                return Err(Refused::new(format!("levels.{level}.fill_ways"), why));
            }
        }
        described.fill_ways = Some(mask);
        Ok(())
    }

    /// Whether a level holds the line of a byte address.
    pub fn holds(&self, level: usize, address: u64) -> bool {
        let line = self.block.line(address, self.line_shift);
        line.is_some_and(|line| self.caches.get(level).is_some_and(|cache| cache.holds(line)))
    }
}
