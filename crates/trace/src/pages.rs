//! The pages that a trace touches, and their numbers when the gaps between them are left out.

use std::collections::BTreeMap;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// A trace may touch this many pages (64 GiB).
pub(crate) const MOST_PAGES: u64 = 1 << 24;

/// Pages in one piece of the set: 128 MiB of addresses.
const PIECE_SHIFT: u32 = 15;
const WORDS: usize = (1 << PIECE_SHIFT) / 64;

/// A growing set of pages.
#[derive(Debug, Clone, Default)]
pub struct PageSet {
    pieces: Vec<[u64; WORDS]>,
    of_piece: BTreeMap<u64, usize>,
    last: Option<(u64, usize)>,
    count: u64,
}

impl PageSet {
    /// Adds the pages that `bytes` at `address` lie on.
    #[inline]
    pub fn add(&mut self, address: u64, bytes: u32) {
        let (first, last) = (address / PAGE, address.saturating_add(u64::from(bytes.max(1)) - 1) / PAGE);
        for page in first..=last {
            self.add_page(page);
        }
    }

    #[inline]
    fn add_page(&mut self, page: u64) {
        let number = page >> PIECE_SHIFT;
        let piece = match self.last {
            Some((last, index)) if last == number => index,
            _ => self.piece(number),
        };
        let (word, bit) = ((page as usize & ((1 << PIECE_SHIFT) - 1)) / 64, 1 << (page % 64));
        let word = &mut self.pieces[piece][word];
        self.count += u64::from(*word & bit == 0);
        *word |= bit;
    }

    fn piece(&mut self, number: u64) -> usize {
        let next = self.pieces.len();
        let index = *self.of_piece.entry(number).or_insert(next);
        if index == next {
            self.pieces.push([0; WORDS]);
        }
        self.last = Some((number, index));
        index
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The pages in ascending order, as runs of neighbours: first page and number of pages.
    pub fn runs(&self) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for (number, index) in &self.of_piece {
            for (at, word) in self.pieces[*index].iter().enumerate() {
                let mut left = *word;
                while left != 0 {
                    let page = (number << PIECE_SHIFT) + at as u64 * 64 + u64::from(left.trailing_zeros());
                    left &= left - 1;
                    match runs.last_mut() {
                        Some((first, length)) if *first + *length == page => *length += 1,
                        _ => runs.push((page, 1)),
                    }
                }
            }
        }
        runs
    }
}

/// Where each page lies when those that are never touched are left out: neighbours stay neighbours, and the order stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageMap {
    /// First page of a run, and the number of its first page without gaps.
    runs: Vec<(u64, u64)>,
    pages: u64,
}

impl PageMap {
    /// A map from runs of neighbouring pages in ascending order.
    pub fn new(runs: &[(u64, u64)]) -> Self {
        let mut map = Self::default();
        for (first, length) in runs {
            map.runs.push((*first, map.pages));
            map.pages += length;
        }
        map
    }

    /// How many pages there are.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Runs of neighbouring pages.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The offset of an address in the memory without gaps. An address on no known page goes to the page modulo the
    /// number of pages, so that no file can lead outside.
    #[inline]
    pub fn offset(&self, address: u64) -> u64 {
        let page = address / PAGE;
        let run = self.runs.partition_point(|(first, _)| *first <= page);
        let Some((first, number)) = run.checked_sub(1).map(|run| self.runs[run]) else { return address % PAGE };
        (number + (page - first)) % self.pages * PAGE + address % PAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_vanish_and_neighbours_stay() {
        let mut set = PageSet::default();
        // Pages 5, 6 (an access across the border), 0x7fff_0000 and, again, 5.
        set.add(5 * PAGE + 4090, 16);
        set.add(0x7fff_0000 * PAGE, 8);
        set.add(5 * PAGE, 1);
        assert_eq!((set.count(), set.runs()), (3, vec![(5, 2), (0x7fff_0000, 1)]));
        let map = PageMap::new(&set.runs());
        assert_eq!(map.pages(), 3);
        assert_eq!(map.offset(5 * PAGE + 17), 17);
        assert_eq!(map.offset(6 * PAGE + 3), PAGE + 3);
        assert_eq!(map.offset(0x7fff_0000 * PAGE + 9), 2 * PAGE + 9);
    }

    #[test]
    fn pages_at_the_borders_of_pieces_are_neighbours() {
        let mut set = PageSet::default();
        let border = 3 << PIECE_SHIFT;
        for page in [border, border - 1, u64::MAX / PAGE] {
            set.add(page * PAGE + 4095, 1);
        }
        assert_eq!(set.runs(), vec![(border - 1, 2), (u64::MAX / PAGE, 1)]);
        assert_eq!(set.count(), 3);
        set.add(u64::MAX, 8);
        assert_eq!(set.count(), 3);
    }
}
