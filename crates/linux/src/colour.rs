//! Memory by colour: 4 KiB pages chosen by the bits of their physical address that index a cache.
//!
//! A physically indexed cache puts a line into the set that some bits of its address name. Those above the page offset are
//! the same for all lines of a page: its *colour*. Pages of different colours never meet in the cache.
//!
//! Physical addresses come from `/proc/self/pagemap`, which only root (CAP_SYS_ADMIN) sees them in. Without it, a
//! transparent huge page determines the lowest 21 bits: it begins at a multiple of 2 MiB. In a virtual machine both are the guest's
//! idea of an address; it is true as far as the host backs the guest with huge pages, which only a measurement shows.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::memory::{HUGE, Mapping, Pages};

/// The page that is coloured. Kernels with other base pages are refused.
pub const PAGE: usize = 4096;

/// How many pages more than the expected number are looked through: frames are spread unevenly.
const SPARE: usize = 2;

/// The colours of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheColours {
    count: u32,
}

impl CacheColours {
    /// The colours of a cache whose index is the plain address: bytes of a way over bytes of a page. `None` where there is
    /// one colour only, or the number of sets is no power of two, so that the index is no plain choice of bits.
    pub fn of_cache(bytes: u64, ways: u64) -> Option<Self> {
        let way = bytes.checked_div(ways).filter(|way| way * ways == bytes && way.is_power_of_two())?;
        let count = u32::try_from(way / PAGE as u64).ok()?;
        (count > 1).then_some(Self { count })
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.count
    }

    /// The colour of a page frame, by its number (the physical address over 4096).
    pub fn of_frame(self, frame: u64) -> u32 {
        (frame % u64::from(self.count)) as u32
    }

    /// The lower and the upper half of the colours.
    pub fn halves(self) -> [Vec<u32>; 2] {
        [(0..self.count / 2).collect(), (self.count / 2..self.count).collect()]
    }
}

/// Too few pages of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooFew {
    /// The colour.
    pub colour: u32,
    /// How many pages of it there are.
    pub found: usize,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "only {} pages of the colour {} were found", self.found, self.colour)
    }
}

/// Chooses `pages` pages with the wanted colours, each colour as often as the others (or once more or less), in turn. `frames`
/// has the frame number of each page, `None` where it is not known; the result are places in it.
///
/// # Errors
/// A colour of which there are too few.
pub fn choose(
    frames: &[Option<u64>],
    colouring: CacheColours,
    wanted: &[u32],
    pages: usize,
) -> Result<Vec<usize>, TooFew> {
    let coloured = |colour: u32| {
        let frames = frames.iter().enumerate();
        frames
            .filter(move |(_, frame)| frame.is_some_and(|frame| colouring.of_frame(frame) == colour))
            .map(|(at, _)| at)
    };
    let mut stocks: Vec<_> = wanted.iter().map(|colour| coloured(*colour)).collect();
    let too_few = |colour: u32| TooFew { colour, found: coloured(colour).count() };
    (0..pages)
        .map(|page| {
            let turn = page % wanted.len().max(1);
            stocks.get_mut(turn).and_then(Iterator::next).ok_or_else(|| too_few(wanted.get(turn).copied().unwrap_or(0)))
        })
        .collect()
}

/// Bit 63: the page is in memory. Bits 0 to 54: its frame (Documentation/admin-guide/mm/pagemap.rst).
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;

/// The frame of an entry; `None` where the page is not in memory, or its frame is hidden, which reads as 0.
fn frame(entry: u64) -> Option<u64> {
    Some(entry & FRAME).filter(|frame| entry & PRESENT != 0 && *frame != 0)
}

/// Reads the frames of `pages` pages from an address on, from a file such as `/proc/self/pagemap`.
fn read_frames(pagemap: &Path, start: usize, pages: usize) -> io::Result<Vec<Option<u64>>> {
    let mut entries = vec![0; 8 * pages];
    File::open(pagemap)?.read_exact_at(&mut entries, (start / PAGE * 8) as u64)?;
    let entry = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("chunks of 8"));
    Ok(entries.chunks_exact(8).map(|bytes| frame(entry(bytes))).collect())
}

/// The frames of a mapping's pages.
fn frames_of(mapping: &Mapping) -> Vec<Option<u64>> {
    let (start, pages) = (mapping.start() as usize, mapping.length() / PAGE);
    let told = read_frames(Path::new("/proc/self/pagemap"), start, pages).unwrap_or_else(|_| vec![None; pages]);
    if told.iter().any(Option::is_some) || mapping.huge_bytes() != Some(mapping.length() as u64) {
        return told;
    }
    // All in huge pages: the lowest bits are those of the place in the page.
    (0..pages).map(|page| Some((page % (HUGE / PAGE)) as u64)).collect()
}

/// Memory whose pages have chosen colours, side by side.
#[derive(Debug)]
pub struct Coloured {
    mapping: Mapping,
    /// Pages whose colour was read back after they were put side by side, and was one of the wanted ones; `None` where
    /// physical addresses are hidden.
    pub confirmed: Option<usize>,
}

impl Coloured {
    /// Maps at least `bytes` bytes in pages of the wanted colours, and writes to each.
    ///
    /// # Errors
    /// Colours that the cache does not have; hidden physical addresses without huge pages; too little memory.
    pub fn new(bytes: usize, colouring: CacheColours, wanted: &[u32]) -> io::Result<Self> {
        let refuse = |why: String| Err(io::Error::other(why));
        if wanted.is_empty() || wanted.iter().any(|colour| *colour >= colouring.count()) {
            return refuse(format!("the cache has the colours 0 to {}", colouring.count() - 1));
        }
        if rustix::param::page_size() != PAGE {
            return refuse(format!("pages of {} bytes cannot be coloured; 4096 would do", rustix::param::page_size()));
        }
        let pages = bytes.div_ceil(PAGE).max(1);
        let pool = Mapping::unpooled(SPARE * pages * colouring.count() as usize / wanted.len() * PAGE, Pages::Huge)?;
        let frames = frames_of(&pool);
        if frames.iter().all(Option::is_none) {
            return refuse(
                "physical addresses are hidden from this user, and the kernel gave no huge pages; root, or transparent huge pages \
                 set to `madvise`, would do"
                    .into(),
            );
        }
        let chosen = choose(&frames, colouring, wanted, pages).map_err(|few| io::Error::other(few.to_string()))?;
        let mapping = pool.side_by_side(&chosen)?;
        let confirmed = read_frames(Path::new("/proc/self/pagemap"), mapping.start() as usize, pages).ok();
        let confirmed = confirmed.filter(|frames| frames.iter().any(Option::is_some)).map(|frames| {
            let colours = frames.into_iter().flatten().map(|frame| colouring.of_frame(frame));
            colours.filter(|colour| wanted.contains(colour)).count()
        });
        Ok(Self { mapping, confirmed })
    }

    /// The memory.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// The memory, for good.
    pub fn into_mapping(self) -> Mapping {
        self.mapping
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn colours_are_bytes_of_a_way_over_bytes_of_a_page() {
        // 512 KiB in 8 ways: 64 KiB a way, 16 pages. 1 MiB in 16 ways: the same. 1.25 MiB in 20 ways: the same again.
        for (kib, ways) in [(512, 8), (1024, 16), (1280, 20)] {
            assert_eq!(CacheColours::of_cache(kib << 10, ways).map(CacheColours::count), Some(16));
        }
        // 32 KiB in 8 ways: a way is a page. 96 KiB in 1 way: no power of two. No ways at all.
        for (kib, ways) in [(32, 8), (96, 1), (512, 0)] {
            assert_eq!(CacheColours::of_cache(kib << 10, ways), None);
        }
    }

    #[test]
    fn entries_of_the_pagemap() {
        assert_eq!(frame(1 << 63 | 0x1234), Some(0x1234));
        // Soft-dirty (55) and exclusive (56) are no part of it.
        assert_eq!(frame(1 << 63 | 3 << 55 | 0x1234), Some(0x1234));
        assert_eq!(frame(1 << 63), None, "hidden");
        assert_eq!(frame(1 << 62 | 0x1234), None, "swapped out");
    }

    #[test]
    fn frames_are_read_from_the_place_of_the_address() {
        let folder = tempfile::tempdir().unwrap();
        let pagemap = folder.path().join("pagemap");
        let entries: Vec<u8> = [7, 1 << 63 | 5, 1 << 63, 1 << 63 | 9].into_iter().flat_map(u64::to_ne_bytes).collect();
        std::fs::write(&pagemap, entries).unwrap();
        assert_eq!(read_frames(&pagemap, 0x1000, 3).unwrap(), [Some(5), None, Some(9)]);
        assert!(read_frames(&pagemap, 0x3000, 2).is_err(), "the file ends before");
    }

    #[test]
    fn a_shortage_names_the_colour() {
        // Colours 0, 1, 1, 0 of 4; the third page of the colour 1 is not there.
        let frames = [Some(4), Some(1), Some(5), Some(8)];
        let colouring = CacheColours::of_cache(64 << 10, 4).unwrap();
        assert_eq!(choose(&frames, colouring, &[1], 2), Ok(vec![1, 2]));
        assert_eq!(choose(&frames, colouring, &[1], 3), Err(TooFew { colour: 1, found: 2 }));
        assert_eq!(choose(&frames, colouring, &[], 1).map_err(|few| few.found), Err(2));
    }

    proptest! {
        #[test]
        fn chosen_pages_have_the_wanted_colours_and_are_spread_evenly(
            frames in prop::collection::vec(prop::option::weighted(0.9, 0_u64..1 << 40), 0..600),
            log_colours in 1_u32..6,
            wanted in prop::collection::btree_set(0_u32..64, 1..8),
            pages in 0_usize..100,
        ) {
            let colouring = CacheColours::of_cache((PAGE as u64) << log_colours, 1).unwrap();
            let wanted: Vec<u32> = wanted.into_iter().filter(|colour| *colour < colouring.count()).collect();
            prop_assume!(!wanted.is_empty());
            // Counted apart from the code: how often each colour is there, and how often it is needed.
            let stock = |colour: u32| frames.iter().flatten().filter(|frame| *frame % u64::from(colouring.count()) == u64::from(colour)).count();
            let needed = |turn: usize| (pages + wanted.len() - 1 - turn) / wanted.len();
            let enough = wanted.iter().enumerate().all(|(turn, colour)| stock(*colour) >= needed(turn));
            match choose(&frames, colouring, &wanted, pages) {
                Ok(chosen) => {
                    prop_assert!(enough);
                    prop_assert_eq!(chosen.len(), pages);
                    let colour = |at: &usize| colouring.of_frame(frames[*at].unwrap());
                    for (turn, one) in wanted.iter().enumerate() {
                        prop_assert_eq!(chosen.iter().filter(|at| colour(at) == *one).count(), needed(turn));
                    }
                    let mut distinct = chosen.clone();
                    distinct.sort_unstable();
                    distinct.dedup();
                    prop_assert_eq!(distinct.len(), pages);
                }
                Err(few) => {
                    prop_assert!(!enough);
                    prop_assert_eq!(few.found, stock(few.colour));
                }
            }
        }
    }

    #[test]
    fn coloured_memory_lies_side_by_side_and_keeps_its_colours() {
        let colouring = CacheColours::of_cache(512 << 10, 8).unwrap();
        let [lower, upper] = colouring.halves();
        for wanted in [&lower, &upper] {
            // Root sees frames; a user has huge pages, or a message that says what would do.
            let coloured = match Coloured::new(300_000, colouring, wanted) {
                Ok(coloured) => coloured,
                Err(error) => {
                    assert!(error.to_string().contains("physical addresses are hidden"), "{error}");
                    return;
                }
            };
            // 300000 bytes are 73.2 pages.
            assert_eq!(coloured.mapping().length(), 74 * PAGE);
            assert!(coloured.confirmed.is_none_or(|confirmed| confirmed == 74), "{coloured:?}");
            for offset in (0..74 * PAGE).step_by(PAGE) {
                // SAFETY: the offset lies within the mapping.
                unsafe {
                    assert_eq!(coloured.mapping().start().add(offset).read_volatile(), 0);
                    coloured.mapping().start().add(offset).write_volatile(1);
                }
            }
        }
        assert!(Coloured::new(4096, colouring, &[16]).unwrap_err().to_string().contains("0 to 15"));
    }
}
