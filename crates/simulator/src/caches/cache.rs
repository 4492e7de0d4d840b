//! A cache: an array of lines, flags and a replacement policy.

use waykeeper_platform::Replacement;
use waykeeper_workload::Xorshift;

use crate::caches::array::rows::{CacheSet, Rows, SetWay, with_rows};
use crate::caches::array::set_index::SetIndex;
use crate::caches::flags::Flags;
use crate::caches::replacement;
use crate::line::Line;

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
    /// Lines, their flags, and as barred ways those that are locked.
    rows: Rows<Flags>,
}

impl Cache {
    /// An empty cache of `sets`, chosen by address bits or remainder, and at most 32 `ways`.
    pub fn new(sets: usize, ways: usize, replacement: Replacement) -> Self {
        Self::with_index(sets, ways, replacement, SetIndex::new(sets, 1, false))
    }

    /// An empty cache whose sets are chosen by `index`.
    pub fn with_index(sets: usize, ways: usize, replacement: Replacement, index: SetIndex) -> Self {
        Self { rows: Rows::new(sets, ways, replacement, index) }
    }

    /// Bytes of memory that the cache takes.
    pub fn bytes(&self) -> usize {
        self.rows.bytes()
    }

    /// A mask of all ways.
    #[inline]
    pub fn all_ways(&self) -> u32 {
        self.rows.all_ways()
    }

    /// The place of a line. Any way hits, whatever mask fills obey.
    #[inline(always)]
    pub fn find(&self, line: Line) -> Option<SetWay> {
        self.rows.find(line)
    }

    /// Remembers a use of a place and adds flags to it; returns its flags.
    #[inline]
    pub fn touch(&mut self, place: SetWay, add: Flags) -> Flags {
        let Rows { sets, ways, policy, .. } = &mut self.rows;
        with_rows!(sets, rows => {
            let row = &mut rows[place.set()];
            replacement::touch(*policy, &mut row.order, place.way as usize, *ways);
            let flags = row.known_mut(place.way as usize);
            *flags |= add;
            *flags
        })
    }

    /// Adds flags to a place without a use.
    #[inline]
    pub fn mark(&mut self, place: SetWay, add: Flags) {
        *self.rows.known_mut(place) |= add;
    }

    /// Takes flags from a place.
    pub fn clear(&mut self, place: SetWay, take: Flags) {
        *self.rows.known_mut(place) &= !take;
    }

    /// The flags of a place.
    #[inline]
    pub fn flags(&self, place: SetWay) -> Flags {
        self.rows.known(place)
    }

    /// Puts a line that is not there into one of the ways of `mask`, an empty one if there is any. Returns what made
    /// room: the line itself if every way of the mask is locked.
    #[inline(always)]
    pub fn insert(&mut self, line: Line, flags: Flags, mask: u32, random: &mut Xorshift) -> Option<Evicted> {
        debug_assert!(self.find(line).is_none(), "line {:#x} is inserted twice", line.number());
        let (set, all) = (self.rows.set_of(line), self.all_ways());
        let Rows { sets, ways, policy, .. } = &mut self.rows;
        with_rows!(sets, rows => {
            let row = &mut rows[set];
            let mask = mask & !row.barred;
            let empty = mask & all & !row.used;
            if empty == 0 {
                return replace(row, (*policy, *ways), Evicted { line, flags }, mask, random);
            }
            let way = empty.trailing_zeros() as usize;
            row.put(way, line, flags);
            replacement::fill(*policy, &mut row.order, way, *ways, mask);
            None
        })
    }

    /// Takes a line out and returns its flags. Its lock goes with it.
    #[inline(always)]
    pub fn remove(&mut self, line: Line) -> Option<Flags> {
        self.rows.remove(line)
    }

    /// Keeps the line at a place from making room.
    pub fn lock(&mut self, place: SetWay) {
        self.rows.bar(place);
    }

    /// Whether the line at a place is locked.
    #[inline]
    pub fn is_locked(&self, place: SetWay) -> bool {
        self.rows.is_barred(place)
    }

    /// Whether one of these ways could be filled with a line: not all are locked.
    pub fn has_room(&self, line: Line, mask: u32) -> bool {
        mask & self.all_ways() & !self.rows.barred(self.rows.set_of(line)) != 0
    }

    /// Opens the locks of these ways. Lines stay.
    pub fn unlock_ways(&mut self, ways: u32) {
        with_rows!(&mut self.rows.sets, rows => rows.iter_mut().for_each(|row| row.barred &= !ways));
    }

    /// Opens all locks. Lines stay.
    pub fn unlock_all(&mut self) {
        self.unlock_ways(u32::MAX);
    }

    /// Number of sets, if the lowest bits of a line's number alone decide on its set.
    pub fn linear_sets(&self) -> Option<usize> {
        self.rows.linear_sets()
    }

    /// Number of sets.
    pub fn sets(&self) -> usize {
        self.rows.count()
    }

    /// Whether two lines share a set.
    pub fn same_set(&self, one: Line, other: Line) -> bool {
        self.rows.same_set(one, other)
    }

    /// The lines in a line's set.
    pub fn held_with(&self, line: Line) -> impl Iterator<Item = Evicted> + '_ {
        self.rows.held_with(line).map(|(line, flags)| Evicted { line, flags })
    }

    /// The flags of all lines that are held.
    pub fn flags_held(&self) -> impl Iterator<Item = Flags> + '_ {
        self.rows.held().map(|(_, flags)| flags)
    }

    /// All lines that are held.
    pub fn held(&self) -> impl Iterator<Item = Line> + '_ {
        self.rows.held().map(|(line, _)| line)
    }
}

/// Puts a line in the place of another in a set whose allowed ways are all taken; returns that one, or the line itself if there
/// is no such way.
#[inline(never)]
fn replace<const W: usize>(
    row: &mut CacheSet<W, Flags>,
    (policy, ways): (Replacement, usize),
    line: Evicted,
    mask: u32,
    random: &mut Xorshift,
) -> Option<Evicted> {
    if mask == 0 {
        return Some(line);
    }
    let way = replacement::victim(policy, &mut row.order, ways, mask, random);
    let out = Evicted { line: row.line(way), flags: row.known(way) };
    row.put(way, line.line, line.flags);
    replacement::fill(policy, &mut row.order, way, ways, mask);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::flags::DIRTY;

    #[test]
    fn fills_obey_the_mask_and_hits_do_not() {
        let mut cache = Cache::new(1, 4, Replacement::Lru);
        let mut random = Xorshift::new(1);
        for line in 0..4 {
            assert_eq!(cache.insert(Line::new(line), 0, cache.all_ways(), &mut random), None);
        }
        // Only way 2 may be filled: each insertion evicts the one before.
        assert_eq!(cache.insert(Line::new(10), DIRTY, 0b0100, &mut random).unwrap().line, Line::new(2));
        assert_eq!(
            cache.insert(Line::new(11), 0, 0b0100, &mut random),
            Some(Evicted { line: Line::new(10), flags: DIRTY })
        );
        for line in [0, 1, 3, 11] {
            assert!(cache.find(Line::new(line)).is_some(), "{line}");
        }
    }

    #[test]
    fn a_locked_line_never_makes_room() {
        let mut cache = Cache::new(1, 2, Replacement::Lru);
        let mut random = Xorshift::new(1);
        cache.insert(Line::new(1), 0, 0b01, &mut random);
        cache.lock(cache.find(Line::new(1)).unwrap());
        cache.insert(Line::new(2), 0, 0b11, &mut random);
        // Line 1 is the older one, but only way 1 is left.
        assert_eq!(cache.insert(Line::new(3), 0, 0b11, &mut random), Some(Evicted { line: Line::new(2), flags: 0 }));
        assert_eq!((cache.has_room(Line::new(9), 0b01), cache.has_room(Line::new(9), 0b10)), (false, true));
        let refused = Evicted { line: Line::new(4), flags: DIRTY };
        assert_eq!(cache.insert(Line::new(4), DIRTY, 0b01, &mut random), Some(refused), "no way is left");
        // Removing the line removes its lock.
        assert_eq!(cache.remove(Line::new(1)), Some(0));
        assert_eq!(cache.insert(Line::new(4), 0, 0b01, &mut random), None);
        assert!(!cache.is_locked(cache.find(Line::new(4)).unwrap()));
    }

    #[test]
    fn what_is_removed_makes_room() {
        let mut cache = Cache::new(2, 1, Replacement::Random);
        let mut random = Xorshift::new(1);
        cache.insert(Line::new(5), DIRTY, 1, &mut random);
        assert_eq!((cache.remove(Line::new(5)), cache.remove(Line::new(5))), (Some(DIRTY), None));
        assert_eq!(cache.insert(Line::new(7), 0, 1, &mut random), None);
    }
}
