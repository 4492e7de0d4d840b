//! Caches that know the way of each line: any policy, with a mask of the ways that fills may use.

use waykeeper_simulator::{Cache, DIRTY, Line};
use waykeeper_workload::Xorshift;

use crate::access::{EMPTY, STORE, Word};
use crate::counts::BlockMisses;
use crate::level::{Level, StoreHit};

/// A cache of lines by set and way.
#[derive(Debug, Clone)]
pub struct ByWay {
    cache: Cache,
    fill_ways: u32,
    mark_only: bool,
    random: Xorshift,
}

impl ByWay {
    /// An empty cache.
    pub fn new(level: &Level, seed: u64) -> Self {
        Self {
            cache: Cache::new(level.sets as usize, level.ways as usize, level.replacement),
            fill_ways: level.fill_ways.unwrap_or(level.all_ways()),
            mark_only: level.store_hit == StoreHit::MarkOnly,
            random: Xorshift::new(seed),
        }
    }

    /// Changes the ways that fills may use. Lines stay where they are.
    pub fn set_fill_ways(&mut self, mask: u32) {
        self.fill_ways = mask;
    }

    /// Takes a block of words and passes words to the next level.
    pub fn run(&mut self, words: &[Word], out: &mut Vec<Word>) -> BlockMisses {
        out.clear();
        let mut passed = BlockMisses::default();
        for word in words {
            let (line, store) = (word & EMPTY, word & STORE != 0);
            let flags = if store { DIRTY } else { 0 };
            let key = Line::new(line);
            match self.cache.find(key) {
                Some(place) if store && self.mark_only => self.cache.mark(place, flags),
                Some(place) => drop(self.cache.touch(place, flags)),
                None => {
                    out.push(line);
                    passed.misses += 1;
                    passed.store_misses += u64::from(store);
                    let evicted = self.cache.insert(key, flags, self.fill_ways, &mut self.random);
                    out.extend(evicted.filter(|out| out.flags & DIRTY != 0).map(|out| out.line.number() | STORE));
                }
            }
        }
        passed.evicts = out.len() as u64 - passed.misses;
        passed
    }

    /// Whether a line is held.
    pub fn holds(&self, line: Word) -> bool {
        self.cache.find(Line::new(line)).is_some()
    }
}
