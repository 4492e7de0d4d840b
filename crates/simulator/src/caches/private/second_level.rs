//! A private second level, and which ways of it classes fill.

use waykeeper_platform::Inclusion;

use crate::caches::allocation::class_ways::ClassWays;
use crate::caches::cache::Cache;

/// A second level and its relation to the first-level data cache.
#[derive(Debug, Clone)]
pub struct SecondLevel {
    /// The cache.
    pub cache: Cache,
    /// The relation.
    pub inclusion: Inclusion,
    /// Ways that data of the core's present class may fill.
    pub data_ways: u32,
    /// Ways that its instructions may fill.
    pub code_ways: u32,
    class: usize,
    ways: ClassWays,
}

impl SecondLevel {
    /// A second level that everything may fill.
    pub fn new(cache: Cache, inclusion: Inclusion) -> Self {
        let all = cache.all_ways();
        Self { inclusion, data_ways: all, code_ways: all, class: 0, ways: ClassWays::new(all), cache }
    }

    /// The core is in another class.
    pub fn set_class(&mut self, class: usize) {
        self.class = class;
        [self.data_ways, self.code_ways] = self.ways.of(class);
    }

    /// Changes which ways classes fill.
    pub fn change_ways(&mut self, change: impl FnOnce(&mut ClassWays)) {
        change(&mut self.ways);
        self.set_class(self.class);
    }

    /// Which ways classes fill.
    pub fn ways(&self) -> &ClassWays {
        &self.ways
    }
}
