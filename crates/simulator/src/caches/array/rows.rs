//! Sets of an array, each with all that is known of its lines in one place: a lookup, a fill or a removal looks for its set
//! once.

use waykeeper_platform::Replacement;

use crate::caches::array::set_index::SetIndex;
use crate::caches::array::tags::equal;
use crate::caches::replacement::fresh;
use crate::line::Line;

/// A set and one of its ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetWay {
    set: u32,
    /// Number of the way.
    pub way: u32,
}

impl SetWay {
    /// Number of the set.
    #[inline(always)]
    pub fn set(self) -> usize {
        self.set as usize
    }
}

/// A set of up to `W` ways, a power of two and eight at least: a smaller one takes no less memory. Surplus ways stay empty. Numbers of ways are below `W`; that they
/// are cut to it saves a look at the bound.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct CacheSet<const W: usize, T> {
    lines: [Line; W],
    /// What is known of each line.
    of_line: [T; W],
    /// What the replacement policy remembers.
    pub order: [u8; W],
    /// The ways that hold a line, one bit each.
    pub used: u32,
    /// The ways whose lines must not make room.
    pub barred: u32,
}

impl<const W: usize, T: Copy + Default> CacheSet<W, T> {
    fn new(policy: Replacement) -> Self {
        let order = std::array::from_fn(|way| fresh(policy, way));
        Self { lines: [Line::EMPTY; W], of_line: [T::default(); W], order, used: 0, barred: 0 }
    }

    /// The way of a line.
    #[inline(always)]
    pub fn way_of(&self, line: Line) -> Option<usize> {
        // Most lookups miss, so no branch leaves early.
        let held_in = equal(&self.lines, line);
        (held_in != 0).then(|| held_in.trailing_zeros() as usize)
    }

    /// The line in a way, or [`Line::EMPTY`].
    #[inline(always)]
    pub fn line(&self, way: usize) -> Line {
        self.lines[way & (W - 1)]
    }

    /// What is known of the line in a way.
    #[inline(always)]
    pub fn known(&self, way: usize) -> T {
        self.of_line[way & (W - 1)]
    }

    /// The same to be changed.
    #[inline(always)]
    pub fn known_mut(&mut self, way: usize) -> &mut T {
        &mut self.of_line[way & (W - 1)]
    }

    /// Puts a line into a way.
    #[inline(always)]
    pub fn put(&mut self, way: usize, line: Line, known: T) {
        self.lines[way & (W - 1)] = line;
        self.of_line[way & (W - 1)] = known;
        self.used |= 1 << way;
    }

    /// Empties a way, whose line no longer is one that must not make room; returns what was known of it.
    #[inline(always)]
    pub fn take(&mut self, way: usize) -> T {
        self.lines[way & (W - 1)] = Line::EMPTY;
        self.used &= !(1 << way);
        self.barred &= !(1 << way);
        self.of_line[way & (W - 1)]
    }
}

/// The sets of an array, by the room that each has.
#[derive(Debug, Clone)]
pub enum Sets<T> {
    /// Up to 8 ways.
    Eight(Box<[CacheSet<8, T>]>),
    /// Up to 16 ways.
    Sixteen(Box<[CacheSet<16, T>]>),
    /// Up to 32 ways.
    ThirtyTwo(Box<[CacheSet<32, T>]>),
}

/// Does the same with the sets of an array, whatever room each has.
macro_rules! with_rows {
    ($sets:expr, $name:ident => $done:expr) => {
        match $sets {
            $crate::caches::array::rows::Sets::Eight($name) => $done,
            $crate::caches::array::rows::Sets::Sixteen($name) => $done,
            $crate::caches::array::rows::Sets::ThirtyTwo($name) => $done,
        }
    };
}
pub(crate) use with_rows;

/// A set-associative array of lines.
#[derive(Debug, Clone)]
pub struct Rows<T> {
    /// The sets.
    pub sets: Sets<T>,
    /// Associativity.
    pub ways: usize,
    /// Which line makes room.
    pub policy: Replacement,
    /// A mask of all ways.
    all: u32,
    index: SetIndex,
}

impl<T: Copy + Default> Rows<T> {
    /// Empty sets of 1 to 32 ways, chosen by `index`.
    pub fn new(sets: usize, ways: usize, policy: Replacement, index: SetIndex) -> Self {
        assert!(sets > 0 && (1..=32).contains(&ways), "{sets} sets of {ways} ways");
        let sets = match ways {
            0..=8 => Sets::Eight(vec![CacheSet::new(policy); sets].into()),
            9..=16 => Sets::Sixteen(vec![CacheSet::new(policy); sets].into()),
            _ => Sets::ThirtyTwo(vec![CacheSet::new(policy); sets].into()),
        };
        Self { sets, ways, policy, all: u32::MAX >> (32 - ways), index }
    }

    /// Bytes of memory that they take.
    pub fn bytes(&self) -> usize {
        with_rows!(&self.sets, rows => size_of_val(&**rows))
    }

    /// Number of sets.
    pub fn count(&self) -> usize {
        with_rows!(&self.sets, rows => rows.len())
    }

    /// Number of sets, if the lowest bits of a line's number alone decide on its set.
    pub fn linear_sets(&self) -> Option<usize> {
        self.index.linear_sets()
    }

    /// A mask of all ways.
    #[inline(always)]
    pub fn all_ways(&self) -> u32 {
        self.all
    }

    /// The set of a line.
    #[inline(always)]
    pub fn set_of(&self, line: Line) -> usize {
        self.index.of(line)
    }

    /// Whether two lines share a set.
    #[inline]
    pub fn same_set(&self, one: Line, other: Line) -> bool {
        self.set_of(one) == self.set_of(other)
    }

    /// The place of a line.
    #[inline(always)]
    pub fn find(&self, line: Line) -> Option<SetWay> {
        let set = self.set_of(line);
        let way = with_rows!(&self.sets, rows => rows[set].way_of(line));
        way.map(|way| SetWay { set: set as u32, way: way as u32 })
    }

    /// Takes a line out and returns what was known of it.
    #[inline(always)]
    pub fn remove(&mut self, line: Line) -> Option<T> {
        let set = self.set_of(line);
        with_rows!(&mut self.sets, rows => {
            let row = &mut rows[set];
            row.way_of(line).map(|way| row.take(way))
        })
    }

    /// What is known of the line at a place.
    #[inline(always)]
    pub fn known(&self, place: SetWay) -> T {
        with_rows!(&self.sets, rows => rows[place.set()].known(place.way as usize))
    }

    /// The same to be changed.
    #[inline(always)]
    pub fn known_mut(&mut self, place: SetWay) -> &mut T {
        with_rows!(&mut self.sets, rows => rows[place.set()].known_mut(place.way as usize))
    }

    /// The ways of a set whose lines must not make room.
    #[inline(always)]
    pub fn barred(&self, set: usize) -> u32 {
        with_rows!(&self.sets, rows => rows[set].barred)
    }

    /// Whether the line at a place must not make room.
    #[inline(always)]
    pub fn is_barred(&self, place: SetWay) -> bool {
        self.barred(place.set()) >> place.way & 1 == 1
    }

    /// Keeps the line at a place from making room.
    pub fn bar(&mut self, place: SetWay) {
        with_rows!(&mut self.sets, rows => rows[place.set()].barred |= 1 << place.way);
    }

    /// The lines in a line's set and what is known of them.
    pub fn held_with(&self, line: Line) -> impl Iterator<Item = (Line, T)> + '_ {
        self.held_in(self.set_of(line))
    }

    fn held_in(&self, set: usize) -> impl Iterator<Item = (Line, T)> + '_ {
        let (lines, of_line) = with_rows!(&self.sets, rows => (&rows[set].lines[..], &rows[set].of_line[..]));
        lines.iter().copied().zip(of_line.iter().copied()).filter(|(line, _)| *line != Line::EMPTY)
    }

    /// All lines that are held, set by set, and what is known of them.
    pub fn held(&self) -> impl Iterator<Item = (Line, T)> + '_ {
        (0..self.count()).flat_map(|set| self.held_in(set))
    }
}
