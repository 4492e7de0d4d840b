//! Caches whose ways are told apart: any policy, with a mask of the ways that fills may use.

use waykeeper_workload::Xorshift;

use super::access::{EMPTY, STORE, Word};
use super::counts::Passed;
use super::level::{Level, StoreHit};
use crate::replacement::Policy;
use crate::tags::{Place, Tags};

/// A cache of lines by set and way.
#[derive(Debug, Clone)]
pub struct ToldApart {
    tags: Tags,
    /// By set, the ways that hold dirty lines.
    dirty: Vec<u32>,
    policy: Policy,
    fill_ways: u32,
    mark_only: bool,
    random: Xorshift,
}

impl ToldApart {
    /// An empty cache.
    pub fn new(level: &Level, seed: u64) -> Self {
        let (sets, ways) = (level.sets as usize, level.ways as usize);
        Self {
            tags: Tags::new(sets, ways),
            dirty: vec![0; sets],
            policy: Policy::new(level.replacement, sets, ways),
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
    pub fn run(&mut self, words: &[Word], out: &mut Vec<Word>) -> Passed {
        out.clear();
        let mut passed = Passed::default();
        for word in words {
            let (line, store) = (word & EMPTY, word & STORE != 0);
            let place = match self.tags.find(line) {
                Some(place) => {
                    if !(store && self.mark_only) {
                        self.policy.touch(place.set, place.way, self.tags.ways());
                    }
                    place
                }
                None => {
                    out.push(line);
                    passed.misses += 1;
                    passed.store_misses += u64::from(store);
                    self.fill(line, out)
                }
            };
            self.dirty[place.set] |= u32::from(store) << place.way;
        }
        passed.evicts = out.len() as u64 - passed.misses;
        passed
    }

    #[inline]
    fn fill(&mut self, line: Word, out: &mut Vec<Word>) -> Place {
        let (set, ways) = (self.tags.set_of(line), self.tags.ways());
        let way = match self.tags.empty_way(set, self.fill_ways) {
            Some(way) => way,
            None => {
                let way = self.policy.victim(set, ways, self.fill_ways, &mut self.random);
                if self.dirty[set] >> way & 1 == 1 {
                    out.push(self.tags.line_at(Place { set, way }) | STORE);
                    self.dirty[set] &= !(1 << way);
                }
                way
            }
        };
        let place = Place { set, way };
        self.tags.put(place, line);
        self.policy.fill(set, way, ways, self.fill_ways);
        place
    }

    /// Whether a line is held.
    pub fn holds(&self, line: Word) -> bool {
        self.tags.find(line).is_some()
    }
}
