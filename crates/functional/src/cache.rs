//! A level at work.

use waykeeper_platform::Replacement;

use crate::access::Word;
use crate::by_way::ByWay;
use crate::counts::BlockMisses;
use crate::level::{Level, StoreHit};
use crate::lru::Recency;

/// A cache by what must be known of its lines.
#[derive(Debug, Clone)]
pub enum CacheState {
    /// Lines in the order of their last use: all that LRU needs.
    Recency(Recency),
    /// Lines by way: for masks, and for all other policies.
    ByWay(ByWay),
}

impl CacheState {
    /// An empty cache of a level that was checked.
    pub fn new(level: &Level, seed: u64) -> Self {
        let mark_only = level.store_hit == StoreHit::MarkOnly;
        if level.replacement == Replacement::Lru && level.fill_ways.is_none() {
            Self::Recency(Recency::new(level.sets as usize, level.ways as usize, mark_only))
        } else {
            Self::ByWay(ByWay::new(level, seed))
        }
    }

    /// Takes a block of words and passes words to the next level. `stores` says whether there may be any among them.
    #[inline]
    pub fn run(&mut self, words: &[Word], stores: bool, out: &mut Vec<Word>) -> BlockMisses {
        match self {
            Self::Recency(cache) => cache.run(words, stores, out),
            Self::ByWay(cache) => cache.run(words, out),
        }
    }

    /// Whether a line is held.
    pub fn holds(&self, line: Word) -> bool {
        match self {
            Self::Recency(cache) => cache.holds(line),
            Self::ByWay(cache) => cache.holds(line),
        }
    }
}
