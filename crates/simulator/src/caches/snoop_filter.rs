//! A snoop filter: a finite directory of the lines that are cached on its inner side.

use waykeeper_platform::Replacement;
use waykeeper_workload::Xorshift;

use crate::caches::array::rows::{CacheSet, Rows, SetWay, with_rows};
use crate::caches::array::set_index::SetIndex;
use crate::caches::replacement;
use crate::line::Line;

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
pub enum EntryAllocation {
    /// It is there; another one may have made room for it.
    Taken(Option<Displaced>),
    /// Every entry of the set waits for a fill; nothing was changed.
    AllBusy,
}

/// Why there is no new entry for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEntry {
    /// It is known, here or elsewhere.
    Known,
    /// Every entry of its set waits for a fill.
    NoRoom,
}

/// What a filter knows of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// It is in flight.
    InFlight,
    /// Who holds it, one bit each.
    Held(u32),
    /// Nothing, and an entry is available for it.
    Nothing,
    /// Nothing, and every entry of its set waits for a fill.
    NoRoom,
}

/// A set-associative filter with up to 32 owners a line.
#[derive(Debug, Clone)]
pub struct SnoopFilter {
    /// Lines, their owners, and as barred ways those that wait for a fill and cannot make room.
    rows: Rows<u32>,
}

impl SnoopFilter {
    /// An empty filter of `sets` (over all directories) and at most 32 `ways`.
    pub fn new(sets: usize, ways: usize, victim: Replacement) -> Self {
        Self { rows: Rows::new(sets, ways, victim, SetIndex::new(sets, 1, false)) }
    }

    /// Number of sets, if the lowest bits of a line's number alone decide on its set.
    pub fn linear_sets(&self) -> Option<usize> {
        self.rows.linear_sets()
    }

    /// Bytes of memory that the filter takes.
    pub fn bytes(&self) -> usize {
        self.rows.bytes()
    }

    /// The place of a line.
    #[inline(always)]
    pub fn find(&self, line: Line) -> Option<SetWay> {
        self.rows.find(line)
    }

    /// Who holds the line at a place.
    #[inline]
    pub fn owners(&self, place: SetWay) -> u32 {
        self.rows.known(place)
    }

    /// Whether the line at a place is still in flight.
    #[inline]
    pub fn is_busy(&self, place: SetWay) -> bool {
        self.rows.is_barred(place)
    }

    /// What is known of a line.
    #[inline(always)]
    pub fn look(&self, line: Line) -> Known {
        let (set, all) = (self.rows.set_of(line), self.rows.all_ways());
        with_rows!(&self.rows.sets, rows => {
            let row = &rows[set];
            match row.way_of(line) {
                Some(way) if row.barred >> way & 1 == 1 => Known::InFlight,
                Some(way) => Known::Held(row.known(way)),
                None if row.barred != all => Known::Nothing,
                None => Known::NoRoom,
            }
        })
    }

    /// Whether two lines compete for the same entries.
    #[inline]
    pub fn same_set(&self, one: Line, other: Line) -> bool {
        self.rows.same_set(one, other)
    }

    /// Takes an entry for a line that is to be fetched, if nothing is known of it, there is room, and `unless` does not
    /// object; returns its way, and whose place it was. Otherwise returns what prevented it, and changes nothing.
    #[inline(always)]
    pub fn take_for(
        &mut self,
        line: Line,
        owners: u32,
        random: &mut Xorshift,
        unless: impl FnOnce() -> bool,
    ) -> Result<(u8, Option<Displaced>), NoEntry> {
        let (set, all) = (self.rows.set_of(line), self.rows.all_ways());
        let Rows { sets, ways, policy, .. } = &mut self.rows;
        with_rows!(sets, rows => {
            let row = &mut rows[set];
            if row.way_of(line).is_some() {
                return Err(NoEntry::Known);
            }
            if row.barred == all {
                return Err(NoEntry::NoRoom);
            }
            if unless() {
                return Err(NoEntry::Known);
            }
            enter(row, (*policy, *ways, all), (line, owners, true), random).ok_or(NoEntry::NoRoom)
        })
    }

    /// Takes an entry for a line that has none.
    #[inline(always)]
    pub fn take(&mut self, line: Line, owners: u32, busy: bool, random: &mut Xorshift) -> EntryAllocation {
        debug_assert!(self.find(line).is_none(), "line {:#x} has an entry", line.number());
        let (set, all) = (self.rows.set_of(line), self.rows.all_ways());
        let Rows { sets, ways, policy, .. } = &mut self.rows;
        with_rows!(sets, rows => {
            let entry = enter(&mut rows[set], (*policy, *ways, all), (line, owners, busy), random);
            entry.map_or(EntryAllocation::AllBusy, |(_, displaced)| EntryAllocation::Taken(displaced))
        })
    }

    /// The fill of a line has come; false if it has no entry.
    #[inline(always)]
    pub fn settle(&mut self, line: Line) -> bool {
        let set = self.rows.set_of(line);
        with_rows!(&mut self.rows.sets, rows => {
            let row = &mut rows[set];
            let way = row.way_of(line);
            if let Some(way) = way {
                row.barred &= !(1 << way);
            }
            way.is_some()
        })
    }

    /// The same where the way of its entry is known: it cannot have gone while it waited.
    #[inline(always)]
    pub fn settle_in(&mut self, line: Line, way: u8) -> bool {
        let (set, way) = (self.rows.set_of(line), usize::from(way));
        with_rows!(&mut self.rows.sets, rows => {
            let row = &mut rows[set];
            let is_there = row.line(way) == line && row.barred >> way & 1 == 1;
            if is_there {
                row.barred &= !(1 << way);
            }
            is_there
        })
    }

    /// Adds an owner to the entry of a line.
    pub fn add_owner(&mut self, line: Line, owner: u32) {
        if let Some(place) = self.find(line) {
            *self.rows.known_mut(place) |= owner;
        }
    }

    /// Removes an owner, and the entry if it was the last one; returns who is left.
    #[inline(always)]
    pub fn drop_owner(&mut self, line: Line, owner: u32) -> u32 {
        let set = self.rows.set_of(line);
        with_rows!(&mut self.rows.sets, rows => {
            let row = &mut rows[set];
            let Some(way) = row.way_of(line) else { return 0 };
            let left = row.known(way) & !owner;
            *row.known_mut(way) = left;
            if left == 0 {
                row.take(way);
            }
            left
        })
    }

    /// Removes the entry of a line, if it has one, and returns who held it.
    #[inline]
    pub fn release(&mut self, line: Line) -> Option<u32> {
        self.rows.remove(line)
    }

    /// All lines that have an entry.
    pub fn held(&self) -> impl Iterator<Item = Line> + '_ {
        self.rows.held().map(|(line, _)| line)
    }
}

/// A set takes an entry for a line that has none: an empty one, or one that waits for no fill; returns its way and whose place
/// it was, or nothing if all wait.
#[inline(always)]
fn enter<const W: usize>(
    row: &mut CacheSet<W, u32>,
    (policy, ways, all): (Replacement, usize, u32),
    (line, owners, busy): (Line, u32, bool),
    random: &mut Xorshift,
) -> Option<(u8, Option<Displaced>)> {
    let empty = all & !row.used;
    let (way, displaced) = if empty != 0 {
        (empty.trailing_zeros() as usize, None)
    } else {
        let idle = all & !row.barred;
        if idle == 0 {
            return None;
        }
        let way = replacement::victim(policy, &mut row.order, ways, idle, random);
        (way, Some(Displaced { line: row.line(way), owners: row.known(way) }))
    };
    row.put(way, line, owners);
    row.barred = row.barred & !(1 << way) | u32::from(busy) << way;
    replacement::fill(policy, &mut row.order, way, ways, all);
    Some((way as u8, displaced))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_entry_without_a_fill_in_flight_makes_room() {
        let mut filter = SnoopFilter::new(1, 3, Replacement::Random);
        let mut random = Xorshift::new(3);
        assert_eq!(filter.take(Line::new(1), 0b01, true, &mut random), EntryAllocation::Taken(None));
        assert_eq!(filter.take(Line::new(2), 0b10, false, &mut random), EntryAllocation::Taken(None));
        assert_eq!(filter.take(Line::new(3), 0b01, true, &mut random), EntryAllocation::Taken(None));
        let displaced = Displaced { line: Line::new(2), owners: 0b10 };
        assert_eq!(filter.take(Line::new(4), 0b01, true, &mut random), EntryAllocation::Taken(Some(displaced)));
        assert_eq!([1, 5].map(|line| filter.look(Line::new(line))), [Known::InFlight, Known::NoRoom]);
        assert_eq!(filter.take(Line::new(5), 0b01, true, &mut random), EntryAllocation::AllBusy);
        filter.settle(Line::new(3));
        assert_eq!([3, 5].map(|line| filter.look(Line::new(line))), [Known::Held(0b01), Known::Nothing]);
        let displaced = Displaced { line: Line::new(3), owners: 0b01 };
        assert_eq!(filter.take(Line::new(5), 0b01, true, &mut random), EntryAllocation::Taken(Some(displaced)));
    }

    #[test]
    fn the_entry_goes_with_its_last_owner() {
        let mut filter = SnoopFilter::new(1, 1, Replacement::Random);
        filter.take(Line::new(9), 0b11, false, &mut Xorshift::new(0));
        assert_eq!(filter.drop_owner(Line::new(9), 0b01), 0b10);
        assert!(filter.find(Line::new(9)).is_some());
        assert_eq!(filter.drop_owner(Line::new(9), 0b10), 0);
        assert_eq!(filter.find(Line::new(9)), None);
    }
}
