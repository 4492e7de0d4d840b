//! Maximally stable extremal regions (Matas et al., "Robust wide baseline stereo from maximally stable extremal regions",
//! BMVC 2002), as in SD-VBS: the pixels are sorted by shade, then joined in that order into a forest whose trees are the
//! connected dark regions; a region is stable where its area hardly changes with the threshold.
//!
//! A region here is a connected set (8 neighbours) of pixels that are at most as light as its value, as large as it can
//! be, with at least one pixel of that value.

mod flood;
mod regions;
mod sort;

use crate::image::Image;
use crate::memory::{Array, Layout};
use crate::probe::Probe;

/// The suite's setting: a region's change is computed from the thresholds that are this much darker and lighter.
const DELTA: u32 = 2;

const SHADES: usize = 256;
const HANDLE_WORDS: usize = 2;

/// No pixel, no node.
const VOID: u32 = u32::MAX;

/// Elements in a step.
const STEP: usize = 64;

/// Instructions without memory access. Those of the forest, nine tenths of all, are such that they come to what callgrind
/// counts in the compiled program, to 2 % (x86-64, without its checks of bounds: 172 million for VGA); the others, assumed as
/// those of a scalar loop on a load-store machine, come to within a tenth of it together.
mod instructions {
    /// Count, compare, branch.
    pub const LOOP: u32 = 3;
    /// And an address from an index.
    pub const INDEXED: u32 = 5;
    /// A neighbour: two coordinates, four comparisons with the borders, a place, the loop over the neighbours, the call.
    pub const NEIGHBOUR: u32 = 34;
    /// A link of a path: address, compare, branch, and where it is remembered.
    pub const LINK: u32 = 7;
    /// Two subtractions, a division (as one instruction), a compare.
    pub const VARIATION: u32 = 8;
}

/// The branches that decide on what the image is like.
mod branches {
    /// A neighbour had its turn.
    pub const HAD_ITS_TURN: u32 = 0;
    /// A node is the root.
    pub const ROOT: u32 = 1;
    /// The first node of the way to the root is reached.
    pub const WAY_BACK: u32 = 2;
    /// A neighbour's tree is the pixel's already.
    pub const JOINED: u32 = 3;
    /// A pixel is its own root, or lighter than it.
    pub const REGION: u32 = 4;
    /// A node has a region.
    pub const HAS_REGION: u32 = 5;
    /// The region around a region is too light, or the last one.
    pub const TOP: u32 = 6;
    /// A region is dark enough.
    pub const BOTTOM: u32 = 7;
    /// The area reported to a region is the largest so far.
    pub const LARGER: u32 = 8;
    /// The outermost region.
    pub const OUTERMOST: u32 = 9;
    /// Of two regions the outer one is less stable.
    pub const LOSER: u32 = 10;
    /// A region is stable.
    pub const STABLE: u32 = 11;
}

/// Words of a node of the forest, 16 bytes.
mod node {
    pub const WORDS: usize = 4;
    /// The pixel that it was joined to; itself for a root; [`VOID`](super::VOID) before its turn.
    pub const PARENT: usize = 0;
    /// The pixel nearest to the root that is known.
    pub const SHORTCUT: usize = 1;
    /// The smallest region that holds the pixel.
    pub const REGION: usize = 2;
    /// Pixels in the tree below.
    pub const AREA: usize = 3;
}

/// Words of a pixel in the order of shades, 8 bytes.
mod pair {
    pub const WORDS: usize = 2;
    pub const VALUE: usize = 0;
    pub const INDEX: usize = 1;
}

/// Words of a region, 32 bytes.
mod region {
    pub const WORDS: usize = 8;
    /// The region around it; itself where there is none.
    pub const PARENT: usize = 0;
    /// One of its pixels.
    pub const INDEX: usize = 1;
    pub const VALUE: usize = 2;
    pub const AREA: usize = 3;
    /// The area of the region around it at `VALUE + DELTA`.
    pub const AREA_TOP: usize = 4;
    /// The area of the largest region in it at `VALUE - DELTA`.
    pub const AREA_BOTTOM: usize = 5;
    pub const VARIATION: usize = 6;
    pub const IS_STABLE: usize = 7;
}

/// A region, as a pass found it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExtremalRegion {
    /// Number of the region around it; its own where there is none.
    pub parent: usize,
    /// One of its pixels, counted row after row.
    pub pixel: usize,
    /// The lightest shade in it.
    pub value: u8,
    /// Its pixels.
    pub area: u32,
    /// (Area at `value + 2` minus area at `value - 2`) over its area.
    pub variation: f32,
    /// Its variation is less than that of the region around it, and at most that of each region just in it.
    pub is_stable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    ClearBuckets,
    Count,
    AddUp,
    Sort,
    ClearForest,
    Flood,
    FindRegions,
    Connect,
    Tops,
    Bottoms,
    Variations,
    Stability,
    Collect,
}

/// The program, somewhere in a pass.
#[derive(Debug, Clone)]
pub struct Mser {
    width: usize,
    height: usize,
    arrays: Arrays,
    words: usize,
    stage: Stage,
    at: usize,
    joins: usize,
    regions: usize,
    stable: usize,
}

#[derive(Debug, Clone, Copy)]
struct Arrays {
    image: Array,
    buckets: Array,
    pairs: Array,
    forest: Array,
    joins: Array,
    visited: Array,
    regions: Array,
}

impl Mser {
    /// A program for images of this size.
    pub fn new(width: usize, height: usize) -> Self {
        let (mut layout, pixels) = (Layout::default(), width * height);
        let arrays = Arrays {
            image: layout.array(HANDLE_WORDS, pixels),
            // On the stack, in truth.
            buckets: layout.array(0, SHADES),
            pairs: layout.array(0, pair::WORDS * pixels),
            forest: layout.array(0, node::WORDS * pixels),
            joins: layout.array(0, pixels),
            visited: layout.array(0, pixels),
            regions: layout.array(0, region::WORDS * pixels),
        };
        let words = layout.words();
        Self { width, height, arrays, words, stage: Stage::ClearBuckets, at: 0, joins: 0, regions: 0, stable: 0 }
    }

    /// Words of 4 bytes of the memory.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The arrays by name.
    pub fn arrays(&self) -> Vec<(&'static str, Array)> {
        let a = &self.arrays;
        vec![
            ("image", a.image),
            ("buckets", a.buckets),
            ("pairs", a.pairs),
            ("forest", a.forest),
            ("joins", a.joins),
            ("visited", a.visited),
            ("regions", a.regions),
        ]
    }

    /// Writes the image into the memory.
    pub fn lay_out(&self, image: &Image, memory: &mut [u32]) {
        assert_eq!((image.width, image.height), (self.width, self.height), "the image has the size of the program");
        let words = &mut memory[self.arrays.image.all()];
        words.iter_mut().zip(&image.pixels).for_each(|(word, pixel)| *word = u32::from(*pixel));
    }

    /// All regions that the last pass found, each before the one around it.
    pub fn regions(&self, memory: &[u32]) -> Vec<ExtremalRegion> {
        let words = &memory[self.arrays.regions.all()];
        let region = |words: &[u32]| ExtremalRegion {
            parent: words[region::PARENT] as usize,
            pixel: words[region::INDEX] as usize,
            value: words[region::VALUE] as u8,
            area: words[region::AREA],
            variation: f32::from_bits(words[region::VARIATION]),
            is_stable: words[region::IS_STABLE] != 0,
        };
        words.chunks_exact(region::WORDS).take(self.regions).map(region).collect()
    }

    fn pixels(&self) -> usize {
        self.width * self.height
    }

    /// Works on some pixels or regions. True where that ended the pass.
    #[inline]
    pub fn step<P: Probe>(&mut self, memory: &mut [u32], probe: &mut P) -> bool {
        match self.stage {
            Stage::ClearBuckets => self.clear_buckets(memory, probe),
            Stage::Count => self.count(memory, probe),
            Stage::AddUp => self.add_up(memory, probe),
            Stage::Sort => self.sort(memory, probe),
            Stage::ClearForest => self.clear_forest(memory, probe),
            Stage::Flood => self.flood(memory, probe),
            Stage::FindRegions => self.find_regions(memory, probe),
            Stage::Connect => self.connect(memory, probe),
            Stage::Tops => self.tops(memory, probe),
            Stage::Bottoms => self.bottoms(memory, probe),
            Stage::Variations => self.variations(memory, probe),
            Stage::Stability => self.stability(memory, probe),
            Stage::Collect => self.collect(memory, probe),
        }
        self.go_on()
    }

    /// The places of this step.
    fn places(&self) -> std::ops::Range<usize> {
        self.at..(self.at + STEP).min(self.length())
    }

    /// Places in the current stage.
    fn length(&self) -> usize {
        match self.stage {
            Stage::ClearBuckets | Stage::AddUp => SHADES,
            Stage::Count | Stage::Sort | Stage::ClearForest | Stage::Flood | Stage::FindRegions => self.pixels(),
            Stage::Connect => self.joins,
            Stage::Tops | Stage::Bottoms | Stage::Variations | Stage::Stability | Stage::Collect => self.regions,
        }
    }

    /// Goes to the next places, stage or pass. True where a pass ended.
    fn go_on(&mut self) -> bool {
        self.at += STEP;
        if self.at < self.length() {
            return false;
        }
        self.at = 0;
        self.stage = match self.stage {
            Stage::ClearBuckets => {
                (self.joins, self.regions, self.stable) = (0, 0, 0);
                Stage::Count
            }
            Stage::Count => Stage::AddUp,
            Stage::AddUp => Stage::Sort,
            Stage::Sort => Stage::ClearForest,
            Stage::ClearForest => Stage::Flood,
            Stage::Flood => Stage::FindRegions,
            Stage::FindRegions => Stage::Connect,
            Stage::Connect => Stage::Tops,
            Stage::Tops => Stage::Bottoms,
            Stage::Bottoms => Stage::Variations,
            Stage::Variations => Stage::Stability,
            Stage::Stability => Stage::Collect,
            Stage::Collect => Stage::ClearBuckets,
        };
        self.stage == Stage::ClearBuckets
    }
}
