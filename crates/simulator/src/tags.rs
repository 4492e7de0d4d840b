//! Set-associative arrays of line numbers: the part that caches and filters have in common.

use crate::set_index::SetIndex;

/// The number of a line: its physical address divided by the line size.
pub type Line = u32;

/// What stands in an empty way. No memory reaches so far: lines are checked against it when memory is laid out.
pub const EMPTY: Line = Line::MAX;

/// Ways are compared four at a time, so each set has a multiple of four places. The surplus ones stay empty.
const TOGETHER: usize = 4;

/// A set and one of its ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of the set.
    pub set: usize,
    /// Number of the way.
    pub way: usize,
}

/// Line numbers by set and way.
#[derive(Debug, Clone)]
pub struct Tags {
    lines: Vec<Line>,
    used: Vec<u32>,
    ways: usize,
    stride: usize,
    index: SetIndex,
}

impl Tags {
    /// An empty array whose sets are chosen by the lowest bits of the line number, or its remainder; `ways` is 1 to 32.
    pub fn new(sets: usize, ways: usize) -> Self {
        Self::with_index(sets, ways, SetIndex::new(sets, 1, false))
    }

    /// An empty array whose sets are chosen by `index`.
    pub fn with_index(sets: usize, ways: usize, index: SetIndex) -> Self {
        assert!(sets > 0 && (1..=32).contains(&ways), "{sets} sets of {ways} ways");
        let stride = ways.next_multiple_of(TOGETHER);
        Self { lines: vec![EMPTY; sets * stride], used: vec![0; sets], ways, stride, index }
    }

    /// Bytes of memory that the array takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.lines) + size_of_val(&*self.used)
    }

    /// Number of sets, if the lowest bits of a line's number alone decide on its set.
    pub fn linear_sets(&self) -> Option<usize> {
        self.index.linear_sets()
    }

    /// Number of sets.
    pub fn sets(&self) -> usize {
        self.used.len()
    }

    /// Number of places, surplus ones included.
    pub fn places(&self) -> usize {
        self.lines.len()
    }

    /// Associativity.
    #[inline]
    pub fn ways(&self) -> usize {
        self.ways
    }

    /// A mask of all ways.
    #[inline]
    pub fn all_ways(&self) -> u32 {
        u32::MAX >> (32 - self.ways)
    }

    /// The set of a line.
    #[inline]
    pub fn set_of(&self, line: Line) -> usize {
        self.index.of(line)
    }

    /// The number of a place, for arrays that run beside this one.
    #[inline]
    pub fn index(&self, place: Place) -> usize {
        place.set * self.stride + place.way
    }

    /// The place of a line.
    #[inline]
    pub fn find(&self, line: Line) -> Option<Place> {
        let set = self.set_of(line);
        let start = set * self.stride;
        let (quads, _) = self.lines[start..start + self.stride].as_chunks::<TOGETHER>();
        // Most lookups miss, so no branch leaves early. The lengths that caches and filters have are unrolled.
        let held_in = match quads {
            [a] => equal(a, line),
            [a, b] => equal(a, line) | equal(b, line) << 4,
            [a, b, c, d] => equal(a, line) | equal(b, line) << 4 | equal(c, line) << 8 | equal(d, line) << 12,
            [a, b, c] => equal(a, line) | equal(b, line) << 4 | equal(c, line) << 8,
            more => more.iter().rev().fold(0, |mask, quad| mask << TOGETHER | equal(quad, line)),
        };
        (held_in != 0).then(|| Place { set, way: held_in.trailing_zeros() as usize })
    }

    /// The lines of a set with their ways.
    pub fn held_in(&self, set: usize) -> impl Iterator<Item = (usize, Line)> + '_ {
        let start = set * self.stride;
        self.lines[start..start + self.ways].iter().copied().enumerate().filter(|(_, line)| *line != EMPTY)
    }

    /// The first empty way, among those of `mask`, of a set.
    #[inline]
    pub fn empty_way(&self, set: usize, mask: u32) -> Option<usize> {
        let empty = !self.used[set] & mask & self.all_ways();
        (empty != 0).then(|| empty.trailing_zeros() as usize)
    }

    /// The line at a place, or [`EMPTY`].
    #[inline]
    pub fn line_at(&self, place: Place) -> Line {
        self.lines[self.index(place)]
    }

    /// Puts a line into a place.
    #[inline]
    pub fn put(&mut self, place: Place, line: Line) {
        let index = self.index(place);
        self.lines[index] = line;
        self.used[place.set] |= 1 << place.way;
    }

    /// Empties a place.
    #[inline]
    pub fn take(&mut self, place: Place) {
        let index = self.index(place);
        self.lines[index] = EMPTY;
        self.used[place.set] &= !(1 << place.way);
    }

    /// All lines that are held.
    pub fn held(&self) -> impl Iterator<Item = Line> + '_ {
        self.lines.iter().copied().filter(|line| *line != EMPTY)
    }
}

/// Which of four lines are this one, one bit each.
#[cfg(target_arch = "x86_64")]
#[inline]
fn equal(lines: &[Line; TOGETHER], line: Line) -> u32 {
    use std::arch::x86_64::{_mm_castsi128_ps, _mm_cmpeq_epi32, _mm_loadu_si128, _mm_movemask_ps, _mm_set1_epi32};
    // The compiler finds the comparison on its own, but not the instruction that gathers its bits.
    // SAFETY: every x86-64 has SSE2, and the 16 bytes that are loaded are those of `lines`.
    unsafe {
        let equal = _mm_cmpeq_epi32(_mm_loadu_si128(lines.as_ptr().cast()), _mm_set1_epi32(line.cast_signed()));
        _mm_movemask_ps(_mm_castsi128_ps(equal)) as u32
    }
}

/// Which of four lines are this one, one bit each.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn equal(lines: &[Line; TOGETHER], line: Line) -> u32 {
    let [a, b, c, d] = lines.map(|held| u32::from(held == line));
    a | b << 1 | c << 2 | d << 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_in_its_own_set_only() {
        let mut tags = Tags::new(4, 2);
        // Line 6 is 0b110: set 2, as is line 10, 0b1010.
        let place = Place { set: 2, way: 1 };
        tags.put(place, 6);
        assert_eq!((tags.find(6), tags.find(10)), (Some(place), None));
        assert_eq!((tags.empty_way(2, 0b11), tags.empty_way(2, 0b10)), (Some(0), None));
        tags.take(place);
        assert_eq!((tags.find(6), tags.empty_way(2, 0b10)), (None, Some(1)));
    }

    #[test]
    fn surplus_places_are_never_used() {
        let mut tags = Tags::new(1, 5);
        for line in 0..5 {
            let way = tags.empty_way(0, u32::MAX).unwrap();
            tags.put(Place { set: 0, way }, line);
        }
        assert_eq!(tags.empty_way(0, u32::MAX), None);
        assert_eq!(tags.find(4), Some(Place { set: 0, way: 4 }));
        assert_eq!(tags.held().count(), 5);
    }
}
