//! Numbers of lines.

/// The number of a line: its physical address divided by the line size. Inside a channel, its number among the channel's
/// lines. The default, line 0, only fills places of queues that nobody reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Line(u32);

impl Line {
    /// What stands in an empty way. No memory reaches so far: lines are checked against it when memory is laid out.
    pub const EMPTY: Self = Self(u32::MAX);

    /// The line with this number.
    #[inline(always)]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The line that holds a physical address, where lines have `1 << line_shift` bytes.
    #[inline(always)]
    pub const fn at_address(address: u64, line_shift: u32) -> Self {
        Self((address >> line_shift) as u32)
    }

    /// Its number, counted in lines.
    #[inline(always)]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The bits of its number that a mask selects: its set where the lowest bits choose one.
    #[inline(always)]
    pub const fn bits(self, mask: u32) -> u32 {
        self.0 & mask
    }

    /// The number of its aligned block of `1 << lines_log2` lines: a row, a region, a piece of a channel.
    #[inline(always)]
    pub const fn block(self, lines_log2: u32) -> u32 {
        self.0 >> lines_log2
    }

    /// Its index in a table of so many entries, where lines that are as many apart share one.
    #[inline(always)]
    pub const fn index(self, entries: usize) -> usize {
        self.0 as usize % entries
    }

    /// Whether the numbers of two lines agree in the bits of a mask.
    #[inline(always)]
    pub const fn agrees(self, other: Self, mask: u32) -> bool {
        (self.0 ^ other.0) & mask == 0
    }

    /// The line a signed number of lines further on; none below line 0.
    #[inline(always)]
    pub fn offset(self, lines: i64) -> Option<Self> {
        let number = i64::from(self.0) + lines;
        (number >= 0).then_some(Self(number as u32))
    }

    /// Lines from an earlier line to this one; negative if the other one is later.
    #[inline(always)]
    pub fn lines_after(self, earlier: Self) -> i64 {
        i64::from(self.0) - i64::from(earlier.0)
    }
}
