//! A translation look-aside buffer.

use crate::caches::array::tags::{self, Tag};

/// The number of a page in the address space of a program.
pub type Page = u32;

impl Tag for Page {
    #[inline(always)]
    fn word(self) -> u32 {
        self
    }
}

/// No page: no address space reaches so far.
pub const NONE: Page = Page::MAX;

/// Translations by set and way; the lowest bits of the page number choose the set, and the least recently used entry of
/// the set makes room. Lockable entries lie beside the sets and hold what software put there.
#[derive(Debug, Clone)]
pub struct Tlb {
    ways: usize,
    set_mask: Page,
    pages: Vec<Page>,
    used: Vec<u64>,
    clock: u64,
    /// The entry that was used last, which is often used again.
    last: usize,
    lockable: usize,
    locked: Vec<Page>,
    /// Core cycles that a hit here adds.
    pub hit_cycles: u64,
}

impl Tlb {
    /// An empty TLB; `entries` are a power of two of sets of `ways`.
    pub fn new(entries: usize, ways: usize, lockable: usize, hit_cycles: u64) -> Self {
        assert!((entries / ways).is_power_of_two(), "{entries} entries of {ways} ways");
        Self {
            ways,
            set_mask: (entries / ways) as Page - 1,
            pages: vec![NONE; entries],
            used: vec![0; entries],
            clock: 0,
            last: 0,
            lockable,
            locked: Vec::new(),
            hit_cycles,
        }
    }

    fn set(&self, page: Page) -> std::ops::Range<usize> {
        let first = (page & self.set_mask) as usize * self.ways;
        first..first + self.ways
    }

    /// Whether a translation is here; that is a use of it.
    pub fn look_up(&mut self, page: Page) -> bool {
        if self.pages[self.last] == page {
            self.use_at(self.last);
            return true;
        }
        let set = self.set(page);
        if let Some(way) = tags::position(&self.pages[set.clone()], page) {
            self.use_at(set.start + way);
            return true;
        }
        self.locked.contains(&page)
    }

    #[inline]
    fn use_at(&mut self, entry: usize) {
        self.last = entry;
        self.clock += 1;
        self.used[entry] = self.clock;
    }

    /// Takes a translation that is not here.
    pub fn fill(&mut self, page: Page) {
        let set = self.set(page);
        let oldest = set.min_by_key(|at| self.used[*at]).expect("a set has ways");
        self.pages[oldest] = page;
        self.use_at(oldest);
    }

    /// Entries that software can still lock.
    pub fn lockable_left(&self) -> usize {
        self.lockable - self.locked.len()
    }

    /// Whether it has entries that software can lock.
    pub fn has_lockable(&self) -> bool {
        self.lockable > 0
    }

    /// Puts a translation into an entry that nothing replaces; false if there is none left.
    pub fn lock(&mut self, page: Page) -> bool {
        if !self.locked.contains(&page) {
            if self.lockable_left() == 0 {
                return false;
            }
            self.locked.push(page);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_of_a_set_makes_room() {
        // Two sets of two ways: even pages in one, odd ones in the other.
        let mut tlb = Tlb::new(4, 2, 0, 0);
        for page in [0, 2, 1] {
            assert!(!tlb.look_up(page));
            tlb.fill(page);
        }
        assert!(tlb.look_up(0));
        tlb.fill(4);
        let there: Vec<_> = [0, 1, 2, 4].map(|page| tlb.look_up(page)).into();
        assert_eq!(there, [true, true, false, true]);
    }

    #[test]
    fn locked_entries_stay_whatever_comes() {
        let mut tlb = Tlb::new(2, 2, 1, 0);
        assert!(tlb.lock(7) && tlb.lock(7) && !tlb.lock(8));
        (0..10).for_each(|page| tlb.fill(page));
        assert_eq!((tlb.look_up(7), tlb.look_up(8), tlb.look_up(9), tlb.lockable_left()), (true, true, true, 0));
        assert!(!tlb.look_up(5));
    }
}
