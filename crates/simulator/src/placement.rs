//! Where workloads lie in physical memory.

use waykeeper_platform::{Colouring, Placement};
use waykeeper_workload::Xorshift;

use crate::tags::Line;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// Arenas are multiples of this, so that each colour has half of every arena.
const ARENA_GRAIN: u64 = 2 << 20;

/// A piece of memory that a program uses: from offsets to lines.
#[derive(Debug, Clone)]
pub struct Region {
    base: u64,
    frames: Option<Vec<u32>>,
    colour: Option<Colour>,
    line_shift: u32,
}

/// One of two colours of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour {
    bit: u8,
    set: bool,
}

impl Colour {
    /// The target's or the others' colour.
    pub fn new(colouring: Colouring, target: bool) -> Self {
        Self { bit: colouring.address_bit, set: target }
    }

    /// Spreads addresses over the half of memory that has this colour.
    #[inline]
    fn spread(self, address: u64) -> u64 {
        let low = address & ((1 << self.bit) - 1);
        (address >> self.bit << (self.bit + 1)) | u64::from(self.set) << self.bit | low
    }
}

/// Hands out memory: each region lies in an arena of its own, at a place that the seed decides.
#[derive(Debug, Clone)]
pub struct Allocator {
    arena: u64,
    next: u64,
    placement: Placement,
    line_shift: u32,
}

impl Allocator {
    /// An allocator that divides `bytes` of memory into `arenas`.
    pub fn new(bytes: u64, arenas: u64, placement: Placement, line_bytes: u64) -> Self {
        let arena = bytes / arenas / ARENA_GRAIN * ARENA_GRAIN;
        Self { arena, next: 0, placement, line_shift: line_bytes.trailing_zeros() }
    }

    /// Bytes that the largest region of a colour (or of none) can have.
    pub fn largest(&self, colour: Option<Colour>) -> u64 {
        if colour.is_some() { self.arena / 2 } else { self.arena }
    }

    /// A region of `bytes`, or None if it does not fit into an arena.
    pub fn region(&mut self, bytes: u64, colour: Option<Colour>, random: &mut Xorshift) -> Option<Region> {
        let room = self.largest(colour);
        let pages = bytes.div_ceil(PAGE).max(1);
        let start = if colour.is_some() { self.next / 2 } else { self.next };
        let spare = (room / PAGE).checked_sub(pages)?;
        self.next += self.arena;
        let (first, line_shift) = (start / PAGE, self.line_shift);
        match self.placement {
            Placement::Contiguous => {
                let base = (first + random.below(spare + 1)) * PAGE;
                Some(Region { base, frames: None, colour, line_shift })
            }
            Placement::RandomPages => {
                // A partial Fisher-Yates shuffle of the arena's pages.
                let mut frames: Vec<u32> = (0..(spare + pages) as u32).map(|page| first as u32 + page).collect();
                for at in 0..pages as usize {
                    let other = at + random.below((frames.len() - at) as u64) as usize;
                    frames.swap(at, other);
                }
                frames.truncate(pages as usize);
                Some(Region { base: 0, frames: Some(frames), colour, line_shift })
            }
        }
    }
}

impl Region {
    /// The line at an offset.
    #[inline]
    pub fn line(&self, offset: u64) -> Line {
        let address = match &self.frames {
            None => self.base + offset,
            Some(frames) => u64::from(frames[(offset / PAGE) as usize]) * PAGE + offset % PAGE,
        };
        let address = match self.colour {
            None => address,
            Some(colour) => colour.spread(address),
        };
        (address >> self.line_shift) as Line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coloured_address_has_its_bit_and_keeps_the_others_in_order() {
        let colour = Colour { bit: 14, set: true };
        // 0b01_11 above the 12 bits of a page: bits 12 and 13 stay, the rest moves up by one, bit 14 is set.
        assert_eq!(colour.spread(0x7abc), 0xfabc);
        assert_eq!(Colour { bit: 14, set: false }.spread(0x7abc), 0xbabc);
    }

    #[test]
    fn regions_stay_in_their_arenas_and_every_page_is_used_once() {
        for placement in [Placement::Contiguous, Placement::RandomPages] {
            for colour in [None, Some(Colour { bit: 14, set: true }), Some(Colour { bit: 14, set: false })] {
                let mut random = Xorshift::new(5);
                let mut allocator = Allocator::new(64 << 20, 4, placement, 64);
                let mut pages: Vec<u32> = Vec::new();
                for _ in 0..4 {
                    let region = allocator.region(2 << 20, colour, &mut random).unwrap();
                    pages.extend((0..512).map(|page| region.line(page * PAGE) / 64));
                }
                let count = pages.len();
                pages.sort_unstable();
                pages.dedup();
                assert_eq!(pages.len(), count);
                assert!(*pages.last().unwrap() < (64 << 20) / 4096);
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_not_given() {
        let mut allocator = Allocator::new(64 << 20, 4, Placement::Contiguous, 64);
        let mut random = Xorshift::new(5);
        assert!(allocator.region((16 << 20) + 1, None, &mut random).is_none());
        assert!(allocator.region(16 << 20, None, &mut random).is_some());
    }
}
