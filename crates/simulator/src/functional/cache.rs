//! A level at work.

use super::access::Word;
use super::counts::Passed;
use super::level::{Level, StoreHit};
use super::lru::Recency;
use super::told_apart::ToldApart;
use waykeeper_platform::Replacement;

/// A cache by what must be known of its lines.
#[derive(Debug, Clone)]
pub enum Cache {
    /// Lines in the order of their last use: all that LRU needs.
    Recency(Recency),
    /// Lines by way: for masks, and for all other policies.
    ToldApart(ToldApart),
}

impl Cache {
    /// An empty cache of a level that was checked.
    pub fn new(level: &Level, seed: u64) -> Self {
        let mark_only = level.store_hit == StoreHit::MarkOnly;
        if level.replacement == Replacement::Lru && level.fill_ways.is_none() {
            Self::Recency(Recency::new(level.sets as usize, level.ways as usize, mark_only))
        } else {
            Self::ToldApart(ToldApart::new(level, seed))
        }
    }

    /// Takes a block of words and passes words to the next level. `stores` tells whether there may be any among them.
    #[inline]
    pub fn run(&mut self, words: &[Word], stores: bool, out: &mut Vec<Word>) -> Passed {
        match self {
            Self::Recency(cache) => cache.run(words, stores, out),
            Self::ToldApart(cache) => cache.run(words, out),
        }
    }

    /// Whether a line is held.
    pub fn holds(&self, line: Word) -> bool {
        match self {
            Self::Recency(cache) => cache.holds(line),
            Self::ToldApart(cache) => cache.holds(line),
        }
    }
}
