//! One level of caches, as data.

use waykeeper_platform::Replacement;
use waykeeper_simulator::Refused;

/// Most ways of a level.
const MOST_WAYS: u32 = 32;

/// Most sets of a level: what lines keep of their number when far regions are brought near.
const MOST_SETS: u64 = 1 << crate::regions::REGION_BITS;

/// A set-associative level. The lowest bits of the line number are the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Sets, a power of two.
    pub sets: u64,
    /// Associativity, 1 to 32.
    pub ways: u32,
    /// The choice of the victim.
    pub replacement: Replacement,
    /// The ways that fills may use, one bit each. With `None` it is all of them, and for LRU that cannot change later.
    pub fill_ways: Option<u32>,
    /// What a store that hits means.
    pub store_hit: StoreHit,
}

/// What a store means that finds its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoreHit {
    /// A use of the line, as in any hardware.
    #[default]
    Use,
    /// The line is dirty from now on, but to the replacement policy it was not used. pycachesim does so.
    MarkOnly,
}

impl Level {
    /// A level of a number of sets and ways, all of which can be filled.
    pub fn new(sets: u64, ways: u32, replacement: Replacement) -> Self {
        Self { sets, ways, replacement, fill_ways: None, store_hit: StoreHit::Use }
    }

    /// A level of a capacity in bytes.
    pub fn of_bytes(bytes: u64, ways: u32, line_bytes: u64, replacement: Replacement) -> Self {
        Self::new(bytes / line_bytes.max(1) / u64::from(ways.max(1)), ways, replacement)
    }

    /// The same with a mask of the ways that fills may use.
    pub fn filling(self, ways: u32) -> Self {
        Self { fill_ways: Some(ways), ..self }
    }

    /// The same with another meaning of stores that hit.
    pub fn with_store_hit(self, store_hit: StoreHit) -> Self {
        Self { store_hit, ..self }
    }

    /// A mask of all ways.
    pub fn all_ways(&self) -> u32 {
        u32::MAX >> (MOST_WAYS - self.ways)
    }

    pub(crate) fn check(&self, at: usize) -> Result<(), Refused> {
        let refuse = |key: &str, why: String| Err(Refused::new(format!("levels.{at}.{key}"), why));
        if !self.sets.is_power_of_two() || self.sets > MOST_SETS {
            let why = format!("{} sets; a power of two up to {MOST_SETS} would do", self.sets);
            return refuse("sets", why);
        }
        if !(1..=MOST_WAYS).contains(&self.ways) {
            return refuse("ways", format!("{} ways; 1 to {MOST_WAYS} would do", self.ways));
        }
        if self.replacement == Replacement::TreePlru && !self.ways.is_power_of_two() {
            let why = format!("{} ways form no binary tree; `lru` or `bit_plru` replacement would do", self.ways);
            return refuse("ways", why);
        }
        match self.fill_ways {
            Some(mask) => self.check_mask(at, mask),
            None => Ok(()),
        }
    }

    pub(crate) fn check_mask(&self, at: usize, mask: u32) -> Result<(), Refused> {
        if mask & self.all_ways() == 0 || mask & !self.all_ways() != 0 {
            let why = format!("{mask:#x} must allow some of the ways {:#x} and no others", self.all_ways());
            return Err(Refused::new(format!("levels.{at}.fill_ways"), why));
        }
        Ok(())
    }
}
