//! A cache: an array of lines, flags and a replacement policy.

use waykeeper_platform::Replacement;
use waykeeper_workload::Xorshift;

use crate::replacement::Policy;
use crate::set_index::SetIndex;
use crate::tags::{EMPTY, Line, Place, Tags};

/// What is known of a cached line, as bits.
pub type Flags = u16;
/// It differs from the copy further out.
pub const DIRTY: Flags = 1;
/// More than one core, or a core and the shared cache, may hold it.
pub const SHARED: Flags = 2;
/// Of a line that leaves a cache: one further in still holds it.
pub const HELD: Flags = 4;
/// In a shared cache: a core that is watched brought it. The bits from here on are the [`crate::label::Label`] of the core
/// that brought it.
pub const WATCHED: Flags = 8;

/// A line that left a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted {
    /// Which line.
    pub line: Line,
    /// Its flags.
    pub flags: Flags,
}

/// A set-associative cache.
#[derive(Debug, Clone)]
pub struct Cache {
    tags: Tags,
    flags: Vec<Flags>,
    policy: Policy,
    /// By set, the ways whose lines never make room; empty while there are none.
    locked: Vec<u32>,
}

impl Cache {
    /// An empty cache of `sets`, chosen by address bits or remainder, and at most 32 `ways`.
    pub fn new(sets: usize, ways: usize, replacement: Replacement) -> Self {
        Self::with_index(sets, ways, replacement, SetIndex::new(sets, 1, false))
    }

    /// An empty cache whose sets are chosen by `index`.
    pub fn with_index(sets: usize, ways: usize, replacement: Replacement, index: SetIndex) -> Self {
        let tags = Tags::with_index(sets, ways, index);
        let policy = Policy::new(replacement, sets, ways);
        Self { flags: vec![0; tags.places()], policy, locked: Vec::new(), tags }
    }

    /// Bytes of memory that the cache takes.
    pub fn bytes(&self) -> usize {
        self.tags.bytes() + size_of_val(&*self.flags) + self.policy.bytes() + size_of_val(&*self.locked)
    }

    /// A mask of all ways.
    pub fn all_ways(&self) -> u32 {
        self.tags.all_ways()
    }

    /// The place of a line. Any way hits, whatever mask fills obey.
    #[inline]
    pub fn find(&self, line: Line) -> Option<Place> {
        self.tags.find(line)
    }

    /// Remembers a use of a place and adds flags to it; gives its flags.
    #[inline]
    pub fn touch(&mut self, place: Place, add: Flags) -> Flags {
        self.policy.touch(place.set, place.way, self.tags.ways());
        self.mark(place, add);
        self.flags(place)
    }

    /// Adds flags to a place without a use.
    #[inline]
    pub fn mark(&mut self, place: Place, add: Flags) {
        self.flags[self.tags.index(place)] |= add;
    }

    /// Takes flags from a place.
    pub fn clear(&mut self, place: Place, take: Flags) {
        self.flags[self.tags.index(place)] &= !take;
    }

    /// The flags of a place.
    #[inline]
    pub fn flags(&self, place: Place) -> Flags {
        self.flags[self.tags.index(place)]
    }

    /// Puts a line that is not there into one of the ways of `mask`, an empty one if there is any. Gives what made
    /// room: the line itself if every way of the mask is locked.
    #[inline]
    pub fn insert(&mut self, line: Line, flags: Flags, mask: u32, random: &mut Xorshift) -> Option<Evicted> {
        debug_assert!(self.find(line).is_none(), "line {line:#x} is inserted twice");
        let (set, ways) = (self.tags.set_of(line), self.tags.ways());
        let mask = if self.locked.is_empty() { mask } else { mask & !self.locked[set] };
        let way = match self.tags.empty_way(set, mask) {
            Some(way) => way,
            None if mask == 0 => return Some(Evicted { line, flags }),
            None => self.policy.victim(set, ways, mask, random),
        };
        let place = Place { set, way };
        let out = self.tags.line_at(place);
        let evicted = (out != EMPTY).then(|| Evicted { line: out, flags: self.flags(place) });
        self.tags.put(place, line);
        self.flags[self.tags.index(place)] = flags;
        self.policy.fill(set, way, ways, mask);
        evicted
    }

    /// Takes a line out and gives its flags. Its lock goes with it.
    #[inline]
    pub fn remove(&mut self, line: Line) -> Option<Flags> {
        let place = self.find(line)?;
        self.tags.take(place);
        if !self.locked.is_empty() {
            self.locked[place.set] &= !(1 << place.way);
        }
        Some(self.flags(place))
    }

    /// Keeps the line at a place from making room.
    pub fn lock(&mut self, place: Place) {
        if self.locked.is_empty() {
            self.locked = vec![0; self.tags.sets()];
        }
        self.locked[place.set] |= 1 << place.way;
    }

    /// Whether the line at a place is locked.
    #[inline]
    pub fn is_locked(&self, place: Place) -> bool {
        !self.locked.is_empty() && self.locked[place.set] >> place.way & 1 == 1
    }

    /// Whether one of these ways could be filled with a line: not all are locked.
    pub fn has_room(&self, line: Line, mask: u32) -> bool {
        let locked = if self.locked.is_empty() { 0 } else { self.locked[self.tags.set_of(line)] };
        mask & self.all_ways() & !locked != 0
    }

    /// Opens the locks of these ways. Lines stay.
    pub fn unlock_ways(&mut self, ways: u32) {
        self.locked.iter_mut().for_each(|locked| *locked &= !ways);
        if self.locked.iter().all(|locked| *locked == 0) {
            self.locked = Vec::new();
        }
    }

    /// Opens all locks. Lines stay.
    pub fn unlock_all(&mut self) {
        self.locked = Vec::new();
    }

    /// Number of sets, if the lowest bits of a line's number alone decide on its set.
    pub fn linear_sets(&self) -> Option<usize> {
        self.tags.linear_sets()
    }

    /// Number of sets.
    pub fn sets(&self) -> usize {
        self.tags.sets()
    }

    /// Whether two lines share a set.
    pub fn same_set(&self, one: Line, other: Line) -> bool {
        self.tags.set_of(one) == self.tags.set_of(other)
    }

    /// The lines in a line's set.
    pub fn held_with(&self, line: Line) -> impl Iterator<Item = Evicted> + '_ {
        let set = self.tags.set_of(line);
        self.tags.held_in(set).map(move |(way, line)| Evicted { line, flags: self.flags(Place { set, way }) })
    }

    /// The flags of all lines that are held.
    pub fn flags_held(&self) -> impl Iterator<Item = Flags> + '_ {
        let all = (0..self.tags.sets()).flat_map(|set| self.tags.held_in(set).map(move |(way, _)| Place { set, way }));
        all.map(|place| self.flags(place))
    }

    /// All lines that are held.
    pub fn held(&self) -> impl Iterator<Item = Line> + '_ {
        self.tags.held()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_obey_the_mask_and_hits_do_not() {
        let mut cache = Cache::new(1, 4, Replacement::Lru);
        let mut random = Xorshift::new(1);
        for line in 0..4 {
            assert_eq!(cache.insert(line, 0, cache.all_ways(), &mut random), None);
        }
        // Only way 2 may be filled: each insertion evicts the one before.
        assert_eq!(cache.insert(10, DIRTY, 0b0100, &mut random).unwrap().line, 2);
        assert_eq!(cache.insert(11, 0, 0b0100, &mut random), Some(Evicted { line: 10, flags: DIRTY }));
        for line in [0, 1, 3, 11] {
            assert!(cache.find(line).is_some(), "{line}");
        }
    }

    #[test]
    fn a_locked_line_never_makes_room() {
        let mut cache = Cache::new(1, 2, Replacement::Lru);
        let mut random = Xorshift::new(1);
        cache.insert(1, 0, 0b01, &mut random);
        cache.lock(cache.find(1).unwrap());
        cache.insert(2, 0, 0b11, &mut random);
        // Line 1 is the older one, but only way 1 is left.
        assert_eq!(cache.insert(3, 0, 0b11, &mut random), Some(Evicted { line: 2, flags: 0 }));
        assert_eq!((cache.has_room(9, 0b01), cache.has_room(9, 0b10)), (false, true));
        let refused = Evicted { line: 4, flags: DIRTY };
        assert_eq!(cache.insert(4, DIRTY, 0b01, &mut random), Some(refused), "no way is left");
        // Who takes the line away takes its lock away.
        assert_eq!(cache.remove(1), Some(0));
        assert_eq!(cache.insert(4, 0, 0b01, &mut random), None);
        assert!(!cache.is_locked(cache.find(4).unwrap()));
    }

    #[test]
    fn what_is_removed_makes_room() {
        let mut cache = Cache::new(2, 1, Replacement::Random);
        let mut random = Xorshift::new(1);
        cache.insert(5, DIRTY, 1, &mut random);
        assert_eq!((cache.remove(5), cache.remove(5)), (Some(DIRTY), None));
        assert_eq!(cache.insert(7, 0, 1, &mut random), None);
    }
}
