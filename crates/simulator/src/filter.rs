//! A snoop filter: a finite directory of the lines that are cached on its inner side.

use waykeeper_platform::Replacement;
use waykeeper_workload::Xorshift;

use crate::replacement::{Policy, nth_set_bit};
use crate::tags::{EMPTY, Line, Place, Tags};

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

/// A set-associative filter with up to 32 owners a line.
#[derive(Debug, Clone)]
pub struct SnoopFilter {
    tags: Tags,
    owners: Vec<u32>,
    /// By set, the ways that wait for a fill and cannot make room.
    busy: Vec<u32>,
    policy: Policy,
}

impl SnoopFilter {
    /// An empty filter of `sets` (a power of two, over all directories) and at most 32 `ways`.
    pub fn new(sets: usize, ways: usize, victim: Replacement) -> Self {
        let tags = Tags::new(sets, ways);
        Self { owners: vec![0; tags.places()], busy: vec![0; sets], policy: Policy::new(victim, sets, ways), tags }
    }

    /// Number of sets, if the lowest bits of a line's number alone decide on its set.
    pub fn linear_sets(&self) -> Option<usize> {
        self.tags.linear_sets()
    }

    /// Bytes of memory that the filter takes.
    pub fn bytes(&self) -> usize {
        self.tags.bytes() + size_of_val(&*self.owners) + size_of_val(&*self.busy) + self.policy.bytes()
    }

    /// The place of a line.
    #[inline]
    pub fn find(&self, line: Line) -> Option<Place> {
        self.tags.find(line)
    }

    /// Who holds the line at a place.
    #[inline]
    pub fn owners(&self, place: Place) -> u32 {
        self.owners[self.tags.index(place)]
    }

    /// Whether the line at a place is still under way.
    #[inline]
    pub fn is_busy(&self, place: Place) -> bool {
        self.busy[place.set] >> place.way & 1 == 1
    }

    /// Whether an entry could be had for a line that has none.
    #[inline]
    pub fn has_room(&self, line: Line) -> bool {
        self.busy[self.tags.set_of(line)] != self.tags.all_ways()
    }

    /// Whether two lines compete for the same entries.
    #[inline]
    pub fn same_set(&self, one: Line, other: Line) -> bool {
        self.tags.set_of(one) == self.tags.set_of(other)
    }

    /// Takes an entry for a line that has none.
    #[inline]
    pub fn take(&mut self, line: Line, owners: u32, busy: bool, random: &mut Xorshift) -> Entry {
        debug_assert!(self.find(line).is_none(), "line {line:#x} has an entry");
        let (set, ways) = (self.tags.set_of(line), self.tags.ways());
        let way = match self.tags.empty_way(set, u32::MAX) {
            Some(way) => way,
            None => {
                let idle = !self.busy[set] & self.tags.all_ways();
                match &mut self.policy {
                    _ if idle == 0 => return Entry::AllBusy,
                    // Most sets wait for nothing: all ways are equal, and there is no bit to look for.
                    Policy::Random if idle == self.tags.all_ways() => random.below(ways as u64) as usize,
                    Policy::Random => nth_set_bit(idle, random.below(u64::from(idle.count_ones())) as u32),
                    policy => policy.victim(set, ways, idle, random),
                }
            }
        };
        let place = Place { set, way };
        let out = self.tags.line_at(place);
        let displaced = (out != EMPTY).then(|| Displaced { line: out, owners: self.owners(place) });
        self.tags.put(place, line);
        self.owners[self.tags.index(place)] = owners;
        self.busy[set] = self.busy[set] & !(1 << way) | u32::from(busy) << way;
        self.policy.fill(set, way, ways, self.tags.all_ways());
        Entry::Taken(displaced)
    }

    /// The fill of a line has come; false if it has no entry.
    #[inline]
    pub fn settle(&mut self, line: Line) -> bool {
        let place = self.find(line);
        if let Some(place) = place {
            self.busy[place.set] &= !(1 << place.way);
        }
        place.is_some()
    }

    /// Adds an owner to the entry of a line.
    pub fn add_owner(&mut self, line: Line, owner: u32) {
        if let Some(place) = self.find(line) {
            let index = self.tags.index(place);
            self.owners[index] |= owner;
        }
    }

    /// Takes an owner away, and the entry if it was the last one; gives who is left.
    #[inline]
    pub fn drop_owner(&mut self, line: Line, owner: u32) -> u32 {
        let Some(place) = self.find(line) else { return 0 };
        let index = self.tags.index(place);
        self.owners[index] &= !owner;
        if self.owners[index] == 0 {
            self.release_place(place);
        }
        self.owners[index]
    }

    /// Takes the entry of a line away, if it has one, and gives who held it.
    #[inline]
    pub fn release(&mut self, line: Line) -> Option<u32> {
        let place = self.find(line)?;
        self.release_place(place);
        Some(self.owners(place))
    }

    fn release_place(&mut self, place: Place) {
        self.tags.take(place);
        self.busy[place.set] &= !(1 << place.way);
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
