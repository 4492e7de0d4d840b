//! Where workloads lie in physical memory.

use waykeeper_platform::{Colouring, Placement};
use waykeeper_workload::Xorshift;

use crate::line::Line;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// Arenas are multiples of this, so that each colour has half of every arena.
const ARENA_GRAIN: u64 = 2 << 20;

/// A piece of memory that a program uses: from offsets to lines.
#[derive(Debug, Clone)]
pub struct MemoryRegion {
    /// Where it begins in the program's address space; physical memory begins there too if it is contiguous and has no
    /// colour.
    start: u64,
    frames: Option<Frames>,
    colour: Option<Colour>,
    line_shift: u32,
    /// Offsets from here on lie elsewhere, from this address on.
    moved: (u64, u64),
}

/// Nothing lies elsewhere.
const NOT_MOVED: (u64, u64) = (u64::MAX, 0);

/// Physical pages of a region that is not contiguous.
#[derive(Debug, Clone)]
struct Frames {
    numbers: Vec<u32>,
    page_log2: u32,
}

/// What a region should be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Bytes.
    pub bytes: u64,
    /// Its colour, or any address.
    pub colour: Option<Colour>,
    /// Bytes of a page, at least [`PAGE`]: each page is one contiguous piece.
    pub page: u64,
    /// Whether it is one contiguous piece whatever the platform's placement.
    pub contiguous: bool,
    /// Whether it comes from its owner's large arena, even if it is small.
    pub large: bool,
}

#[cfg(test)]
impl Wanted {
    /// A region of so many bytes and nothing else.
    pub fn bytes(bytes: u64) -> Self {
        Self { bytes, colour: None, page: PAGE, contiguous: false, large: false }
    }
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

/// Hands out memory: each region lies in an arena of its own, at a place that the seed decides. Every owner has a large
/// arena and some small ones, which others get only where theirs do not suffice.
#[derive(Debug, Clone)]
pub struct Allocator {
    owners: u64,
    /// Bytes of the small arenas, which are the lowest, and how many each owner has of them.
    small: (u64, u64),
    /// Bytes of the large ones.
    large: u64,
    /// Where free arenas begin, in order.
    free: Vec<u64>,
    /// Those that were given since this was last asked for.
    given: Vec<u64>,
    placement: Placement,
    line_shift: u32,
}

impl Allocator {
    /// An allocator that divides `bytes` of memory among so many owners, into a large arena and `small` ones for each.
    pub fn new(bytes: u64, owners: u64, small: u64, placement: Placement, line_bytes: u64) -> Self {
        let grains = |bytes: u64| bytes / ARENA_GRAIN * ARENA_GRAIN;
        // Powers of two, so that a large page lies in them wherever they are.
        let of_small = (bytes / owners / 16).next_power_of_two().max(ARENA_GRAIN);
        let large = grains(bytes.saturating_sub(owners * small * of_small) / owners);
        let (of_small, large) = match large >= of_small {
            true => (of_small, large),
            false => (grains(bytes / owners / (small + 1)), grains(bytes / owners / (small + 1))),
        };
        let all_small = (0..owners * small).map(|number| number * of_small);
        let all_large = (0..owners).map(|owner| owners * small * of_small + owner * large);
        Self {
            owners,
            small: (of_small, small),
            large,
            free: all_small.chain(all_large).collect(),
            given: Vec::new(),
            placement,
            line_shift: line_bytes.trailing_zeros(),
        }
    }

    /// Where the arenas begin that were given since the last call.
    pub fn take_given(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.given)
    }

    /// Takes arenas back.
    pub fn take_back(&mut self, arenas: Vec<u64>) {
        self.free.extend(arenas);
        self.free.sort_unstable();
    }

    /// The owner of the arena that begins there, and its bytes.
    fn arena(&self, begin: u64) -> (u64, u64) {
        let (of_small, small) = self.small;
        match begin.checked_sub(self.owners * small * of_small) {
            None => (begin / of_small.max(1) / small, of_small),
            Some(above) => (above / self.large.max(1), self.large),
        }
    }

    /// Takes an arena that has room for so much: the smallest that its owner has left, or its large one, or, where that is
    /// gone, the highest of anybody's.
    fn take(&mut self, bytes: u64, owner: u64, large: bool) -> Option<u64> {
        let fits = |begin: &u64| self.arena(*begin).1 >= bytes;
        let own = |begin: &u64| self.arena(*begin).0 == owner && fits(begin);
        let free = &self.free;
        let own = if large { free.iter().rposition(own) } else { free.iter().position(own) };
        let at = own.or_else(|| free.iter().rposition(fits))?;
        Some(self.free.remove(at))
    }

    /// Whether an arena is left.
    pub fn has_arena(&self) -> bool {
        !self.free.is_empty()
    }

    /// Bytes that the largest region of a colour (or of none) can have.
    pub fn largest(&self, colour: Option<Colour>) -> u64 {
        let largest = self.free.iter().map(|begin| self.arena(*begin).1).max().unwrap_or(0);
        if colour.is_some() { largest / 2 } else { largest }
    }

    /// A region of an owner, or None if it does not fit into an arena or none is left.
    pub fn region(&mut self, wanted: Wanted, owner: u64, random: &mut Xorshift) -> Option<MemoryRegion> {
        let halves = if wanted.colour.is_some() { 2 } else { 1 };
        let room = wanted.bytes.checked_next_multiple_of(wanted.page)?.checked_mul(halves)?;
        let arena = self.take(room, owner, wanted.large)?;
        let start = arena / halves;
        let region = self.region_between(start, start + self.arena(arena).1 / halves, wanted, random);
        let now_has = if region.is_some() { &mut self.given } else { &mut self.free };
        now_has.push(arena);
        self.free.sort_unstable();
        region
    }

    /// A region between two addresses, or None if it does not fit.
    fn region_between(&self, start: u64, end: u64, wanted: Wanted, random: &mut Xorshift) -> Option<MemoryRegion> {
        let Wanted { bytes, colour, page, contiguous, .. } = wanted;
        let line_shift = self.line_shift;
        if contiguous || self.placement == Placement::Contiguous {
            // Whoever asks for contiguous pages gets them as kernels give them: aligned to their size, where there is room.
            let size = bytes.next_multiple_of(PAGE).max(PAGE);
            let natural = if contiguous { size.next_power_of_two() } else { PAGE };
            let aligned = |to: u64| end.checked_sub(start.next_multiple_of(to) + size).map(|spare| (to, spare / to));
            let (to, spare) = aligned(natural).or_else(|| aligned(PAGE))?;
            let start = start.next_multiple_of(to) + random.below(spare + 1) * to;
            return Some(MemoryRegion { start, frames: None, colour, line_shift, moved: NOT_MOVED });
        }
        let (first, pages) = (start.div_ceil(page), bytes.div_ceil(page).max(1));
        let mut numbers: Vec<u32> = (first..end / page).map(|number| number as u32).collect();
        (numbers.len() as u64).checked_sub(pages)?;
        // A partial Fisher-Yates shuffle of the arena's pages.
        for at in 0..pages as usize {
            let other = at + random.below((numbers.len() - at) as u64) as usize;
            numbers.swap(at, other);
        }
        numbers.truncate(pages as usize);
        let frames = Some(Frames { numbers, page_log2: page.trailing_zeros() });
        Some(MemoryRegion { start: first * page, frames, colour, line_shift, moved: NOT_MOVED })
    }
}

/// How the sets of a region's lines follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// As the lines from here on.
    From(Line),
    /// Unlike those of any line of the other colour.
    Apart,
}

impl MemoryRegion {
    /// The course of its lines through `sets` sets that the lowest bits of the line decide; none if it is in pieces.
    pub fn course(&self, sets: u64) -> Option<Course> {
        if self.frames.is_some() || self.moved != NOT_MOVED {
            return None;
        }
        match self.colour {
            Some(colour) if sets << self.line_shift > 1 << colour.bit => Some(Course::Apart),
            _ => Some(Course::From(self.line(0))),
        }
    }

    /// The line at an offset.
    #[inline(always)]
    pub fn line(&self, offset: u64) -> Line {
        match self.frames.is_none() && self.colour.is_none() && offset < self.moved.0 {
            true => Line::at_address(self.start + offset, self.line_shift),
            false => self.line_in_pieces(offset),
        }
    }

    #[inline(never)]
    fn line_in_pieces(&self, offset: u64) -> Line {
        if offset >= self.moved.0 {
            return Line::at_address(self.address(offset), self.line_shift);
        }
        let address = match &self.frames {
            None => self.start + offset,
            Some(Frames { numbers, page_log2 }) => {
                let within = offset & ((1 << page_log2) - 1);
                u64::from(numbers[(offset >> page_log2) as usize]) << page_log2 | within
            }
        };
        let address = match self.colour {
            None => address,
            Some(colour) => colour.spread(address),
        };
        Line::at_address(address, self.line_shift)
    }

    /// The address of an offset in the program's address space.
    #[inline]
    pub fn address(&self, offset: u64) -> u64 {
        match offset.checked_sub(self.moved.0) {
            None => self.start + offset,
            Some(within) => self.moved.1 + within,
        }
    }

    /// Lets everything from an offset on lie at an address outside of the memory.
    pub fn move_from(&mut self, offset: u64, address: u64) {
        self.moved = (offset, address);
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
                let mut allocator = Allocator::new(64 << 20, 1, 4, placement, 64);
                let mut pages: Vec<u32> = Vec::new();
                for _ in 0..4 {
                    let region = allocator.region(Wanted { colour, ..Wanted::bytes(2 << 20) }, 0, &mut random).unwrap();
                    pages.extend((0..512).map(|page| region.line(page * PAGE).block(6)));
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
    fn owners_have_arenas_of_their_own_and_what_others_leave_where_those_do_not_suffice() {
        // Two small ones of 2 MiB, and two of 30.
        let allocator = Allocator::new(64 << 20, 2, 1, Placement::Contiguous, 64);
        let arenas = |wanted: [(u64, bool); 5]| {
            let (mut allocator, mut random) = (allocator.clone(), Xorshift::new(5));
            wanted.map(|(owner, large)| {
                let region = allocator.region(Wanted { large, ..Wanted::bytes(1 << 20) }, owner, &mut random)?;
                [0, 2, 4, 34].iter().rposition(|mib| region.address(0) >= mib << 20)
            })
        };
        let small = [1, 0, 0, 0, 1].map(|owner| (owner, false));
        assert_eq!(arenas(small), [Some(1), Some(0), Some(2), Some(3), None]);
        let large = [(0, true), (1, true), (1, false), (1, false), (0, true)];
        assert_eq!(arenas(large), [Some(2), Some(3), Some(1), Some(0), None]);
    }

    #[test]
    fn what_does_not_fit_is_not_given() {
        let mut allocator = Allocator::new(64 << 20, 1, 4, Placement::Contiguous, 64);
        let mut random = Xorshift::new(5);
        assert!(allocator.region(Wanted::bytes((48 << 20) + 1), 0, &mut random).is_none());
        assert!(allocator.region(Wanted::bytes(48 << 20), 0, &mut random).is_some());
    }

    #[test]
    fn a_page_is_one_contiguous_piece_wherever_it_lies() {
        let (page, mut random) = (64 << 10, Xorshift::new(5));
        let mut allocator = Allocator::new(64 << 20, 1, 4, Placement::RandomPages, 64);
        let region = allocator.region(Wanted { page, ..Wanted::bytes(1 << 20) }, 0, &mut random).unwrap();
        for number in 0..16 {
            let first = region.line(number * page);
            assert!(u64::from(first.number()).is_multiple_of(page / 64));
            assert!(
                (0..page / 64).all(|line| region.line(number * page + line * 64).lines_after(first) == line as i64)
            );
        }
        // Neighbouring addresses lie on pages that are not neighbours.
        assert!(
            (1..16).any(|number| region.line(number * page).lines_after(region.line(0)) != (number * page / 64) as i64)
        );
        assert_eq!(region.address(page) - region.address(0), page);
        let whole = Wanted { contiguous: true, ..Wanted::bytes(1 << 20) };
        let whole = allocator.region(whole, 0, &mut random).unwrap();
        assert!((0..1 << 14).all(|line| whole.line(line * 64).lines_after(whole.line(0)) == line as i64));
    }

    #[test]
    fn contiguous_pages_are_aligned_to_their_size_where_there_is_room() {
        let mut random = Xorshift::new(5);
        let mut begins = |kib: u64| -> Vec<u64> {
            let mut allocator = Allocator::new(64 << 20, 1, 16, Placement::RandomPages, 64);
            let whole = Wanted { contiguous: true, ..Wanted::bytes(kib << 10) };
            (0..16).map(|_| allocator.region(whole, 0, &mut random).unwrap().address(0) >> 10).collect()
        };
        for (kib, aligned_to) in [(4, 4), (640, 1024), (1024, 1024), (2048, 2048)] {
            let begins = begins(kib);
            assert!(begins.iter().all(|begin| begin.is_multiple_of(aligned_to)), "{kib}: {begins:?}");
            assert!(kib == 2048 || begins.iter().any(|begin| !begin.is_multiple_of(2 * aligned_to)), "{begins:?}");
        }
        // Between 6 and 12 MiB there is no room for 5 MiB at a multiple of 8 MiB.
        let mut allocator = Allocator::new(12 << 20, 2, 0, Placement::RandomPages, 64);
        let whole = Wanted { contiguous: true, ..Wanted::bytes(5 << 20) };
        let [low, high] = [0, 1].map(|owner| allocator.region(whole, owner, &mut random).unwrap().address(0));
        assert!(low == 0 && (6 << 20..=7 << 20).contains(&high), "{low:#x}, {high:#x}");
    }

    #[test]
    fn a_part_can_lie_elsewhere() {
        let mut allocator = Allocator::new(64 << 20, 1, 4, Placement::Contiguous, 64);
        let mut region = allocator.region(Wanted::bytes(8192), 0, &mut Xorshift::new(5)).unwrap();
        let before = (region.line(4095), region.address(4095));
        region.move_from(4096, 64 << 20);
        assert_eq!((region.line(4095), region.address(4095)), before);
        assert_eq!(
            (region.line(4096), region.line(4096 + 130), region.address(4097)),
            (Line::new(1 << 20), Line::new((1 << 20) + 2), (64 << 20) + 1)
        );
    }
}
