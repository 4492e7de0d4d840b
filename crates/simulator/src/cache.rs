//! A cache: an array of lines, flags and a replacement policy.

use waykeeper_platform::Replacement;
use waykeeper_workload::Xorshift;

use crate::replacement::Policy;
use crate::tags::{EMPTY, Line, Place, Tags};

/// What is known of a cached line, as bits.
pub type Flags = u8;
/// It differs from the copy further out.
pub const DIRTY: Flags = 1;
/// More than one core, or a core and the shared cache, may hold it.
pub const SHARED: Flags = 2;

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
}

impl Cache {
    /// An empty cache of `sets` (a power of two) and at most 32 `ways`.
    pub fn new(sets: usize, ways: usize, replacement: Replacement) -> Self {
        let tags = Tags::new(sets, ways);
        Self { flags: vec![0; tags.places()], policy: Policy::new(replacement, sets, ways), tags }
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

    /// Puts a line that is not there into one of the ways of `mask`, an empty one if there is any.
    #[inline]
    pub fn insert(&mut self, line: Line, flags: Flags, mask: u32, random: &mut Xorshift) -> Option<Evicted> {
        debug_assert!(self.find(line).is_none(), "line {line:#x} is inserted twice");
        let (set, ways) = (self.tags.set_of(line), self.tags.ways());
        let way = match self.tags.empty_way(set, mask) {
            Some(way) => way,
            None => self.policy.victim(set, ways, mask, random),
        };
        let place = Place { set, way };
        let out = self.tags.line_at(place);
        let evicted = (out != EMPTY).then(|| Evicted { line: out, flags: self.flags(place) });
        self.tags.put(place, line);
        self.flags[self.tags.index(place)] = flags;
        self.policy.fill(set, way, ways);
        evicted
    }

    /// Takes a line out and gives its flags.
    #[inline]
    pub fn remove(&mut self, line: Line) -> Option<Flags> {
        let place = self.find(line)?;
        self.tags.take(place);
        Some(self.flags(place))
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
    fn what_is_removed_makes_room() {
        let mut cache = Cache::new(2, 1, Replacement::Random);
        let mut random = Xorshift::new(1);
        cache.insert(5, DIRTY, 1, &mut random);
        assert_eq!((cache.remove(5), cache.remove(5)), (Some(DIRTY), None));
        assert_eq!(cache.insert(7, 0, 1, &mut random), None);
    }
}
