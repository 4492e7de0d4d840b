//! From pages to frames: the TLBs of a core, and what a walk through the page tables reads.

use crate::core::front::tlb::{NONE, Page, Tlb};
use crate::core::placement::MemoryRegion;
use crate::line::Line;

/// What accesses a lookup is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Loads and stores.
    Data,
    /// Instructions.
    Instructions,
}

/// The page tables of a program: one array of descriptors for each read of a walk, the innermost one last. An array of
/// descriptors of a whole address space covers one more page with each descriptor; the descriptors of the arrays before
/// it cover as many as fit into 4 KiB of the next one.
#[derive(Debug, Clone)]
pub struct PageTables {
    memory: MemoryRegion,
    /// First byte of each array in that memory.
    starts: Vec<u64>,
    /// log2 of the pages that a descriptor of each array covers.
    covers_log2: Vec<u32>,
    descriptor_bytes: u64,
}

/// The shape of page tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableShape {
    /// Pages in the address space.
    pub pages: u64,
    /// Descriptors that a walk reads.
    pub reads: u32,
    /// Bytes of a descriptor, a power of two.
    pub descriptor_bytes: u64,
}

/// Bytes of a table of one array; arrays begin at multiples of it.
const TABLE: u64 = 4096;

impl TableShape {
    /// log2 of the pages that a descriptor of each array covers.
    fn covers_log2(&self) -> Vec<u32> {
        let fan_out_log2 = (TABLE / self.descriptor_bytes).trailing_zeros();
        (0..self.reads).rev().map(|array| array * fan_out_log2).collect()
    }

    fn bytes_of(&self, covers_log2: u32) -> u64 {
        (self.pages.div_ceil(1 << covers_log2.min(63)) * self.descriptor_bytes).next_multiple_of(TABLE)
    }

    /// Bytes of memory that the tables take.
    pub fn bytes(&self) -> u64 {
        self.covers_log2().into_iter().map(|covers| self.bytes_of(covers)).sum()
    }
}

impl PageTables {
    /// Tables of a shape in their memory.
    pub fn new(shape: TableShape, memory: MemoryRegion) -> Self {
        let covers_log2 = shape.covers_log2();
        let mut end = 0;
        let starts = covers_log2.iter().map(|covers| {
            let start = end;
            end += shape.bytes_of(*covers);
            start
        });
        Self { starts: starts.collect(), memory, covers_log2, descriptor_bytes: shape.descriptor_bytes }
    }

    /// Descriptors that a walk reads.
    pub fn reads(&self) -> usize {
        self.starts.len()
    }

    /// The line of a page's descriptor in an array.
    pub fn descriptor(&self, page: Page, array: usize) -> Line {
        let number = u64::from(page) >> self.covers_log2[array].min(63);
        self.memory.line(self.starts[array] + number * self.descriptor_bytes)
    }
}

/// The translation of one core.
#[derive(Debug, Clone)]
pub struct Translation {
    tlbs: Vec<Tlb>,
    /// The TLBs of each side, inner ones first.
    sides: [Vec<usize>; 2],
    /// The page that each side asked for last: the first TLB of the side has it. `NONE` if it may not.
    last: [Page; 2],
    /// What walks read.
    pub tables: PageTables,
    page_log2: u32,
}

/// What the TLBs of a side tell of a page, and after how many core cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    /// One of them has it.
    Found(u64),
    /// None of them has it: a walk can begin when the last of them has been asked.
    Missed(u64),
}

/// The sides that a TLB serves, data first.
pub type Serves = [bool; 2];

impl Translation {
    /// TLBs with the sides that each serves, and tables of pages of so many bytes.
    pub fn new(tlbs: Vec<(Tlb, Serves)>, tables: PageTables, page_bytes: u64) -> Self {
        let serving = |side: usize| tlbs.iter().enumerate().filter(|(_, tlb)| tlb.1[side]).map(|(at, _)| at).collect();
        let sides = [serving(0), serving(1)];
        let tlbs = tlbs.into_iter().map(|(tlb, _)| tlb).collect();
        Self { tlbs, sides, last: [NONE; 2], tables, page_log2: page_bytes.trailing_zeros() }
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        1 << self.page_log2
    }

    /// The page of an address.
    #[inline]
    pub fn page(&self, address: u64) -> Page {
        (address >> self.page_log2) as Page
    }

    /// Looks for a translation, in inner TLBs first. A side without a TLB translates for free.
    #[inline]
    pub fn look_up(&mut self, side: Side, page: Page) -> Looked {
        if self.last[side as usize] == page { Looked::Found(0) } else { self.look_deeper(side, page) }
    }

    fn look_deeper(&mut self, side: Side, page: Page) -> Looked {
        self.use_last();
        let levels = &self.sides[side as usize];
        let Some(found) = levels.iter().position(|tlb| self.tlbs[*tlb].look_up(page)) else {
            return levels.last().map_or(Looked::Found(0), |last| Looked::Missed(self.tlbs[*last].hit_cycles));
        };
        let cycles = self.tlbs[levels[found]].hit_cycles;
        self.fill_first(side, page, found);
        self.last[side as usize] = page;
        Looked::Found(cycles)
    }

    /// The pages that were asked for last were used since the TLBs heard of them.
    fn use_last(&mut self) {
        for (side, page) in self.last.into_iter().enumerate() {
            if page != NONE {
                self.tlbs[self.sides[side][0]].look_up(page);
            }
        }
    }

    /// Fills the first so many TLBs of a side.
    fn fill_first(&mut self, side: Side, page: Page, levels: usize) {
        for tlb in &self.sides[side as usize][..levels] {
            self.tlbs[*tlb].fill(page);
            // What made room may be the page that the other side asked for last.
            self.last = [NONE; 2];
        }
    }

    /// A walk has found a translation.
    pub fn fill(&mut self, side: Side, page: Page) {
        self.use_last();
        let levels = &self.sides[side as usize];
        let found = levels.iter().position(|tlb| self.tlbs[*tlb].look_up(page)).unwrap_or(levels.len());
        self.fill_first(side, page, found);
    }

    /// Puts translations into lockable entries, of every TLB that has such; false if they do not fit.
    pub fn lock(&mut self, pages: &[(Side, Page)]) -> bool {
        pages.iter().all(|(side, page)| {
            let lockable = self.sides[*side as usize].iter().filter(|tlb| self.tlbs[**tlb].has_lockable());
            let tlbs: Vec<_> = lockable.copied().collect();
            !tlbs.is_empty() && tlbs.into_iter().all(|tlb| self.tlbs[tlb].lock(*page))
        })
    }
}

#[cfg(test)]
mod tests {
    use waykeeper_platform::Placement;
    use waykeeper_workload::Xorshift;

    use super::*;
    use crate::core::placement::{Allocator, Wanted};

    fn tables(shape: TableShape) -> PageTables {
        let mut allocator = Allocator::new(64 << 20, 1, 1, Placement::Contiguous, 64);
        PageTables::new(shape, allocator.region(Wanted::bytes(shape.bytes()), 0, &mut Xorshift::new(1)).unwrap())
    }

    #[test]
    fn a_walk_reads_one_descriptor_of_each_array() {
        // 2^20 pages of 8-byte descriptors: 8 MiB of them; 512 a table, so 2048 in the array before, 4 and 1 before that.
        let shape = TableShape { pages: 1 << 20, reads: 4, descriptor_bytes: 8 };
        assert_eq!(shape.bytes(), 4096 + 4096 + (2048 * 8) + (8 << 20));
        let tables = tables(shape);
        let first = tables.descriptor(0, 0);
        // Page 1,000,000: descriptor 1,000,000 of the last array, 1953 of the third, 3 of the second, 0 of the first.
        let bytes = [0, 4096 + 3 * 8, 8192 + 1953 * 8, 8192 + 16_384 + 8_000_000];
        let lines: Vec<_> = (0..4).map(|array| tables.descriptor(1_000_000, array).lines_after(first)).collect();
        assert_eq!(lines, bytes.map(|byte| byte / 64));
    }

    #[test]
    fn hits_cost_what_their_tlb_says_and_fill_those_before_it() {
        let tlbs = vec![
            (Tlb::new(2, 2, 0, 0), [true, false]),
            (Tlb::new(2, 2, 0, 0), [false, true]),
            (Tlb::new(4, 4, 1, 5), [true, true]),
        ];
        let shape = TableShape { pages: 64, reads: 1, descriptor_bytes: 4 };
        let mut translation = Translation::new(tlbs, tables(shape), 4096);
        assert_eq!(translation.page(0x3fff), 3);
        let mut look = |side, page| {
            let found = translation.look_up(side, page);
            if matches!(found, Looked::Missed(_)) {
                translation.fill(side, page);
            }
            found
        };
        use Looked::{Found, Missed};
        use Side::{Data, Instructions};
        // The common TLB decides on a TLB miss, after the 5 cycles that a hit there takes.
        for (side, page, cycles) in [
            (Data, 1, Missed(5)),
            (Data, 1, Found(0)),
            (Data, 2, Missed(5)),
            (Data, 3, Missed(5)),
            // 1 has left the first TLB of the data side, not the common one; the code side's first has nothing.
            (Data, 1, Found(5)),
            (Instructions, 1, Found(5)),
            (Instructions, 1, Found(0)),
            (Instructions, 4, Missed(5)),
            // The common one is full: 2 is its oldest and makes room.
            (Instructions, 5, Missed(5)),
            (Data, 2, Missed(5)),
        ] {
            assert_eq!(look(side, page), cycles, "{side:?} {page}");
        }
        assert!(translation.lock(&[(Data, 9), (Instructions, 9)]) && !translation.lock(&[(Data, 10)]));
        assert_eq!(translation.look_up(Data, 9), Found(5));
    }
}
