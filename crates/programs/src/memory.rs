//! The memory of a program: arrays of words of 4 bytes, where `malloc` would put them.

use std::ops::Range;

use crate::probe::Probe;

const PAGE_WORDS: usize = 1024;
/// glibc's `malloc` maps a large block on pages of its own and keeps 16 bytes at its beginning for itself (malloc.c,
/// "chunk"). Small images have arrays below its threshold, which would share pages; here they do not.
const MALLOC_WORDS: usize = 4;

/// A place in a program's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Array {
    /// Number of its first word.
    pub start: usize,
    /// Words in it.
    pub words: usize,
}

impl Array {
    /// All of it.
    pub fn all(self) -> Range<usize> {
        self.start..self.start + self.words
    }

    /// A row, where each row has so many words.
    pub(crate) fn row(self, row: usize, width: usize) -> Range<usize> {
        let start = self.start + row * width;
        start..start + width
    }
}

/// Lays out arrays one after the other.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    next: usize,
}

impl Layout {
    /// An array of so many words after a header of `header` words.
    pub fn array(&mut self, header: usize, words: usize) -> Array {
        let start = self.next + MALLOC_WORDS + header;
        self.next = (start + words).next_multiple_of(PAGE_WORDS);
        Array { start, words }
    }

    /// Words of all arrays, in whole pages.
    pub fn words(&self) -> usize {
        self.next
    }
}

/// A piece of the memory: places in it count from its beginning.
pub(crate) struct Span<'m> {
    words: &'m mut [u32],
    start: usize,
}

/// Pieces that do not overlap.
pub(crate) fn spans<const N: usize>(memory: &mut [u32], ranges: [Range<usize>; N]) -> [Span<'_>; N] {
    let starts = ranges.clone().map(|range| range.start);
    let pieces = memory.get_disjoint_mut(ranges).expect("arrays lie apart, within the memory");
    let mut starts = starts.into_iter();
    pieces.map(|words| Span { words, start: starts.next().unwrap_or_default() })
}

impl Span<'_> {
    /// How many words there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Number of the first word.
    #[inline(always)]
    pub fn start(&self) -> usize {
        self.start
    }

    /// The words, untold.
    #[inline(always)]
    pub fn words(&self) -> &[u32] {
        self.words
    }

    #[inline(always)]
    pub fn load(&self, probe: &mut impl Probe, at: usize) -> u32 {
        probe.load(self.start + at);
        self.words[at]
    }

    /// A load whose value is a place.
    #[inline(always)]
    pub fn follow(&self, probe: &mut impl Probe, at: usize) -> u32 {
        probe.follow(self.start + at);
        self.words[at]
    }

    #[inline(always)]
    pub fn store(&mut self, probe: &mut impl Probe, at: usize, value: u32) {
        probe.store(self.start + at);
        self.words[at] = value;
    }

    #[inline(always)]
    pub fn load_f32(&self, probe: &mut impl Probe, at: usize) -> f32 {
        f32::from_bits(self.load(probe, at))
    }

    #[inline(always)]
    pub fn store_f32(&mut self, probe: &mut impl Probe, at: usize, value: f32) {
        self.store(probe, at, value.to_bits());
    }

    /// The words at these places.
    #[inline(always)]
    pub fn load_run(&self, probe: &mut impl Probe, run: Range<usize>) -> &[u32] {
        probe.load_run(self.start + run.start, run.len());
        &self.words[run]
    }

    /// The words at these places, to be written.
    #[inline(always)]
    pub fn store_run(&mut self, probe: &mut impl Probe, run: Range<usize>) -> &mut [u32] {
        probe.store_run(self.start + run.start, run.len());
        &mut self.words[run]
    }
}

/// Words of a usual line.
const RUN: usize = 16;

/// The words of a row that begins at `start`, in runs as long as a line that end where a line does.
pub(crate) fn runs(start: usize, words: usize) -> impl Iterator<Item = Range<usize>> {
    let within = start % RUN;
    let ends = (RUN - within..).step_by(RUN).map(move |end| end.min(words));
    let starts = std::iter::once(0).chain((RUN - within..).step_by(RUN));
    starts.zip(ends).take_while(move |(start, _)| *start < words).map(|(start, end)| start..end)
}
