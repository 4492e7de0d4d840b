//! The slow and obvious model: each set is a list of ways, each policy does what its description says, word by word.

use waykeeper_functional::{Level, LevelCounts, PackedAccess, StoreHit};
use waykeeper_platform::Replacement;
use waykeeper_workload::Xorshift;

/// A line in a way.
#[derive(Debug, Clone)]
struct Held {
    line: u64,
    dirty: bool,
    /// When it was last used.
    used: u64,
    /// Predicted re-reference interval.
    interval: u8,
}

#[derive(Debug, Clone)]
struct Set {
    ways: Vec<Option<Held>>,
    /// For round robin.
    pointer: usize,
    /// For bit-PLRU.
    bits: Vec<bool>,
    /// For tree-PLRU: for each half, quarter, ... by its first way and its length, whether the older part is the upper one.
    upper_is_older: std::collections::BTreeMap<(usize, usize), bool>,
}

struct Cache {
    level: Level,
    sets: Vec<Set>,
    counts: LevelCounts,
    now: u64,
    random: Xorshift,
}

/// Levels, the innermost first.
pub struct Model {
    caches: Vec<Cache>,
    line_bytes: u64,
}

impl Model {
    pub fn new(line_bytes: u64, levels: &[Level], seed: u64) -> Self {
        let set = |ways: u32| Set {
            ways: vec![None; ways as usize],
            pointer: 0,
            bits: vec![false; ways as usize],
            upper_is_older: Default::default(),
        };
        let cache = |(at, level): (usize, &Level)| Cache {
            level: *level,
            sets: (0..level.sets).map(|_| set(level.ways)).collect(),
            counts: LevelCounts::default(),
            now: 0,
            random: Xorshift::new(seed + at as u64),
        };
        Self { caches: levels.iter().enumerate().map(cache).collect(), line_bytes }
    }

    pub fn access(&mut self, access: PackedAccess) {
        let line = access.address() / self.line_bytes;
        if access.is_store() { store(&mut self.caches, line) } else { load(&mut self.caches, line) }
    }

    pub fn counts(&self) -> Vec<LevelCounts> {
        self.caches.iter().map(|cache| cache.counts).collect()
    }

    pub fn holds(&self, level: usize, address: u64) -> bool {
        let line = address / self.line_bytes;
        let cache = &self.caches[level];
        cache.sets[(line % cache.level.sets) as usize].ways.iter().flatten().any(|held| held.line == line)
    }

    pub fn set_fill_ways(&mut self, level: usize, mask: u32) {
        self.caches[level].level.fill_ways = Some(mask);
    }
}

fn load(caches: &mut [Cache], line: u64) {
    let [cache, outer @ ..] = caches else { return };
    cache.counts.loads += 1;
    if let Some(way) = cache.find(line) {
        cache.counts.hits += 1;
        cache.use_way(line, way);
        return;
    }
    cache.counts.misses += 1;
    load(outer, line);
    if let Some(out) = cache.fill(line) {
        cache.counts.evicts += 1;
        store(outer, out);
    }
}

fn store(caches: &mut [Cache], line: u64) {
    if caches.is_empty() {
        return;
    }
    caches[0].counts.stores += 1;
    match caches[0].find(line) {
        Some(way) if caches[0].level.store_hit == StoreHit::Use => caches[0].use_way(line, way),
        Some(_) => {}
        None => load(caches, line),
    }
    let way = caches[0].find(line).expect("it was there or was loaded");
    let set = caches[0].set(line);
    set.ways[way].as_mut().expect("it was found").dirty = true;
}

impl Cache {
    fn set(&mut self, line: u64) -> &mut Set {
        let sets = self.sets.len() as u64;
        &mut self.sets[(line % sets) as usize]
    }

    fn find(&mut self, line: u64) -> Option<usize> {
        self.set(line).ways.iter().position(|held| held.as_ref().is_some_and(|held| held.line == line))
    }

    fn use_way(&mut self, line: u64, way: usize) {
        self.now += 1;
        let now = self.now;
        let set = self.set(line);
        let held = set.ways[way].as_mut().expect("a line is used");
        held.used = now;
        held.interval = 0;
        set.bits[way] = true;
        if set.bits.iter().all(|bit| *bit) {
            set.bits.fill(false);
            set.bits[way] = true;
        }
        let (mut first, mut length) = (0, set.ways.len());
        while length > 1 {
            let in_upper = way >= first + length / 2;
            set.upper_is_older.insert((first, length), !in_upper);
            length /= 2;
            first += if in_upper { length } else { 0 };
        }
    }

    /// Puts a line that is missing into its set; gives the dirty line that makes room.
    fn fill(&mut self, line: u64) -> Option<u64> {
        let allowed: Vec<usize> = match self.level.fill_ways {
            Some(mask) => (0..self.level.ways as usize).filter(|way| mask & 1 << way != 0).collect(),
            None => (0..self.level.ways as usize).collect(),
        };
        let empty = allowed.iter().copied().find(|way| self.set(line).ways[*way].is_none());
        let way = empty.unwrap_or_else(|| self.victim(line, &allowed));
        let out = self.set(line).ways[way].replace(Held { line, dirty: false, used: 0, interval: 0 });
        self.use_way(line, way);
        let set = self.set(line);
        set.ways[way].as_mut().expect("it was put there").interval = 2;
        // Whoever fills some ways only sees no others.
        if allowed.iter().all(|way| set.bits[*way]) {
            allowed.iter().for_each(|way| set.bits[*way] = false);
            set.bits[way] = true;
        }
        out.filter(|out| out.dirty).map(|out| out.line)
    }

    fn victim(&mut self, line: u64, allowed: &[usize]) -> usize {
        let replacement = self.level.replacement;
        if replacement == Replacement::Random {
            return allowed[self.random.below(allowed.len() as u64) as usize];
        }
        let set = self.set(line);
        let used = |way: &&usize| set.ways[**way].as_ref().expect("no way is empty").used;
        match replacement {
            Replacement::Random => unreachable!("handled above"),
            Replacement::Lru => *allowed.iter().min_by_key(used).expect("a way is allowed"),
            Replacement::Mru => *allowed.iter().max_by_key(used).expect("a way is allowed"),
            Replacement::BitPlru => {
                if allowed.iter().all(|way| set.bits[*way]) {
                    allowed.iter().for_each(|way| set.bits[*way] = false);
                }
                *allowed.iter().find(|way| !set.bits[**way]).expect("one bit is clear")
            }
            Replacement::RoundRobin => {
                while !allowed.contains(&set.pointer) {
                    set.pointer = (set.pointer + 1) % set.ways.len();
                }
                let way = set.pointer;
                set.pointer = (set.pointer + 1) % set.ways.len();
                way
            }
            Replacement::TreePlru => {
                let (mut first, mut length) = (0, set.ways.len());
                while length > 1 {
                    let half = length / 2;
                    let any = |from: usize| allowed.iter().any(|way| (from..from + half).contains(way));
                    let older = set.upper_is_older.get(&(first, length)).copied().unwrap_or(false);
                    let upper = if any(first) && any(first + half) { older } else { any(first + half) };
                    first += if upper { half } else { 0 };
                    length = half;
                }
                first
            }
            Replacement::Biased => loop {
                let interval = |way: usize| set.ways[way].as_ref().expect("no way is empty").interval;
                if let Some(way) = allowed.iter().find(|way| interval(**way) == 3) {
                    return *way;
                }
                for way in allowed {
                    set.ways[*way].as_mut().expect("no way is empty").interval += 1;
                }
            },
        }
    }
}
