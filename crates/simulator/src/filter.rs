//! A snoop filter: a finite directory of the lines that are cached on its inner side.

use waykeeper_platform::Replacement;
use waykeeper_workload::Xorshift;

use crate::replacement::{Policy, nth_set_bit};
use crate::tags::{EMPTY, Line, Tags};

/// The entry waits for a fill and cannot make room.
const BUSY: u32 = 1 << 31;

/// An entry that made room: its line must leave the inner side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Displaced {
    /// Which line.
    pub line: Line,
    /// Who held it, one bit each.
    pub owners: u32,
}

/// The answer to a request for an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// It is there; another one may have made room for it.
    Taken(Option<Displaced>),
    /// Every entry of the set waits for a fill; nothing was changed.
    AllBusy,
}

/// A set-associative filter with up to 31 owners a line.
#[derive(Debug, Clone)]
pub struct SnoopFilter {
    tags: Tags,
    state: Vec<u32>,
    policy: Policy,
}

impl SnoopFilter {
    /// An empty filter of `sets` (a power of two, over all directories) and at most 32 `ways`.
    pub fn new(sets: usize, ways: usize, victim: Replacement) -> Self {
        assert!(ways <= 32, "{ways} ways do not fit a mask");
        let tags = Tags::new(sets, ways);
        Self { state: vec![0; tags.len()], policy: Policy::new(victim, sets, ways), tags }
    }

    /// The place of a line.
    #[inline]
    pub fn find(&self, line: Line) -> Option<usize> {
        self.tags.find(line)
    }

    /// Who holds the line at a place.
    #[inline]
    pub fn owners(&self, place: usize) -> u32 {
        self.state[place] & !BUSY
    }

    /// Whether the line at a place is still under way.
    #[inline]
    pub fn is_busy(&self, place: usize) -> bool {
        self.state[place] & BUSY != 0
    }

    /// Whether an entry could be had for a line that has none.
    #[inline]
    pub fn has_room(&self, line: Line) -> bool {
        let start = self.tags.start_of(line);
        self.state[start..start + self.tags.ways()].iter().any(|state| state & BUSY == 0)
    }

    /// Takes an entry for a line that has none.
    #[inline]
    pub fn take(&mut self, line: Line, owners: u32, busy: bool, random: &mut Xorshift) -> Entry {
        debug_assert!(self.find(line).is_none(), "line {line:#x} has an entry");
        let (start, ways) = (self.tags.start_of(line), self.tags.ways());
        let way = match self.tags.empty_way(line, u32::MAX) {
            Some(way) => way,
            None => {
                let states = &self.state[start..start + ways];
                let idle = states.iter().enumerate().fold(0, |mask, (way, state)| mask | (!state >> 31) << way);
                match &self.policy {
                    _ if idle == 0 => return Entry::AllBusy,
                    Policy::Random => nth_set_bit(idle, random.below(u64::from(idle.count_ones())) as u32),
                    policy => policy.victim(start / ways, ways, idle, random),
                }
            }
        };
        let place = start + way;
        let out = self.tags.line_at(place);
        let displaced = (out != EMPTY).then(|| Displaced { line: out, owners: self.state[place] });
        self.tags.put(place, line);
        self.state[place] = owners | if busy { BUSY } else { 0 };
        self.policy.touch(start / ways, way, ways);
        Entry::Taken(displaced)
    }

    /// The fill of a line has come.
    #[inline]
    pub fn settle(&mut self, line: Line) {
        if let Some(place) = self.find(line) {
            self.state[place] &= !BUSY;
        }
    }

    /// Adds an owner.
    pub fn add_owner(&mut self, place: usize, owner: u32) {
        self.state[place] |= owner;
    }

    /// Takes an owner away, and the entry if it was the last one; gives who is left.
    #[inline]
    pub fn drop_owner(&mut self, line: Line, owner: u32) -> u32 {
        let Some(place) = self.find(line) else { return 0 };
        self.state[place] &= !owner;
        let left = self.owners(place);
        if left == 0 {
            self.release_place(place);
        }
        left
    }

    /// Takes the entry of a line away, if it has one, and gives who held it.
    #[inline]
    pub fn release(&mut self, line: Line) -> Option<u32> {
        let place = self.find(line)?;
        let owners = self.owners(place);
        self.release_place(place);
        Some(owners)
    }

    fn release_place(&mut self, place: usize) {
        self.tags.put(place, EMPTY);
        self.state[place] = 0;
    }

    /// All lines that have an entry.
    pub fn held(&self) -> impl Iterator<Item = Line> + '_ {
        self.tags.held()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_entry_without_a_fill_under_way_makes_room() {
        let mut filter = SnoopFilter::new(1, 3, Replacement::Random);
        let mut random = Xorshift::new(3);
        assert_eq!(filter.take(1, 0b01, true, &mut random), Entry::Taken(None));
        assert_eq!(filter.take(2, 0b10, false, &mut random), Entry::Taken(None));
        assert_eq!(filter.take(3, 0b01, true, &mut random), Entry::Taken(None));
        let displaced = Displaced { line: 2, owners: 0b10 };
        assert_eq!(filter.take(4, 0b01, true, &mut random), Entry::Taken(Some(displaced)));
        assert!(!filter.has_room(5));
        assert_eq!(filter.take(5, 0b01, true, &mut random), Entry::AllBusy);
        filter.settle(3);
        let displaced = Displaced { line: 3, owners: 0b01 };
        assert_eq!(filter.take(5, 0b01, true, &mut random), Entry::Taken(Some(displaced)));
    }

    #[test]
    fn the_entry_goes_with_its_last_owner() {
        let mut filter = SnoopFilter::new(1, 1, Replacement::Random);
        filter.take(9, 0b11, false, &mut Xorshift::new(0));
        assert_eq!(filter.drop_owner(9, 0b01), 0b10);
        assert!(filter.find(9).is_some());
        assert_eq!(filter.drop_owner(9, 0b10), 0);
        assert_eq!(filter.find(9), None);
    }
}
