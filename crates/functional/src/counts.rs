//! What is counted.

/// Counts of one level. `loads` is always `hits` + `misses`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LevelCounts {
    /// Lines asked for: loads from inside, and one for each store that found its line missing.
    pub loads: u64,
    /// Loads that found their line.
    pub hits: u64,
    /// Loads that did not, and asked the next level.
    pub misses: u64,
    /// Stores from inside: the program's, or dirty lines that an inner level wrote back.
    pub stores: u64,
    /// Dirty lines that made room and were stored to the next level.
    pub evicts: u64,
}

/// What a level made of a block of words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockMisses {
    /// Words that missed.
    pub misses: u64,
    /// Those of them that are stores.
    pub store_misses: u64,
    /// Dirty lines passed on.
    pub evicts: u64,
}

impl LevelCounts {
    /// Adds a block in which `loads` and `stores` arrived.
    pub(crate) fn add(&mut self, loads: u64, stores: u64, passed: BlockMisses) {
        let loads = loads + passed.store_misses;
        self.loads += loads;
        self.stores += stores;
        self.misses += passed.misses;
        self.hits += loads - passed.misses;
        self.evicts += passed.evicts;
    }
}
