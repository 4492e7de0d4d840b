//! The loops over a block of words. All give the same rows, counts and words; they differ in what they are fast at.
//!
//! `CLEAN` promises that no word is a store and no line is dirty; `FULL` that rows are no longer than sets.

use super::row::RecencyRow;
use crate::access::{EMPTY, STORE, Word};
use crate::counts::BlockMisses;

/// The sets of a cache.
pub struct Table<'a, R: RecencyRow, const FULL: bool> {
    rows: &'a mut [R::Words],
    ways: u32,
}

impl<'a, R: RecencyRow, const FULL: bool> Table<'a, R, FULL> {
    /// A table of `words`, a power of two of rows, of each of which `ways` are in use.
    pub fn new(words: &'a mut [Word], ways: usize) -> Self {
        let rows = R::rows(words);
        assert!(rows.len().is_power_of_two() && (1..=R::LENGTH).contains(&ways) && (!FULL || ways == R::LENGTH));
        Self { rows, ways: ways as u32 }
    }

    #[inline(always)]
    fn ways(&self) -> u32 {
        if FULL { R::LENGTH as u32 } else { self.ways }
    }

    #[inline(always)]
    fn in_use(&self) -> u32 {
        u32::MAX >> (32 - self.ways())
    }

    #[inline(always)]
    fn row(&mut self, set: usize) -> &mut R::Words {
        // SAFETY: the rows are a power of two, and so their number minus one is a mask of the numbers below it.
        unsafe { self.rows.get_unchecked_mut(set & (self.rows.len() - 1)) }
    }
}

/// A loop.
pub trait TableLoop {
    /// Takes a block of words through a table.
    fn walk<R: RecencyRow, const FULL: bool>(table: &mut Table<R, FULL>, words: &[Word], out: &mut Out) -> BlockMisses;
}

/// Nearly all words hit, or nearly all miss: a branch decides which, and the host predicts it. With `MARK_ONLY`, stores that
/// hit are no use.
pub struct Steady<const CLEAN: bool, const MARK_ONLY: bool>;

/// As [`Steady`], but for blocks in which neighbours often fall into one set: its row stays in registers.
pub struct SameSet<const CLEAN: bool>;

/// Some words hit and some miss, and the host could not guess: there is no branch. With `MARK_ONLY` as [`Steady`].
pub struct Mixed<const CLEAN: bool, const MARK_ONLY: bool>;

/// Words for the next level.
pub struct Out<'a> {
    words: &'a mut [std::mem::MaybeUninit<Word>],
    length: usize,
}

/// Makes room for what `words` words can pass on, lets `walk` pass it on, and completes the counts.
#[inline(always)]
pub fn pass<const CLEAN: bool>(
    words: usize,
    out: &mut Vec<Word>,
    walk: impl FnOnce(&mut Out) -> BlockMisses,
) -> BlockMisses {
    out.clear();
    out.reserve(2 * words);
    let mut end = Out { words: out.spare_capacity_mut(), length: 0 };
    let mut passed = walk(&mut end);
    let length = end.length;
    // SAFETY: each word up to the length was written, by the `push` that kept it.
    unsafe { out.set_len(length) };
    if CLEAN {
        passed.misses = length as u64;
    }
    passed.evicts = length as u64 - passed.misses;
    passed
}

impl Out<'_> {
    /// Writes a word, and keeps it or not: `keep` is 0 or 1.
    ///
    /// # Safety
    /// Each word of the block may call one of the two once.
    #[inline(always)]
    unsafe fn push_clean(&mut self, word: Word, keep: u32) {
        // SAFETY: there is room for two words of each call, and so for this one.
        unsafe { self.words.get_unchecked_mut(self.length) }.write(word);
        self.length += keep as usize;
    }

    /// Writes two words, and keeps `keep` of them: up to 2.
    ///
    /// # Safety
    /// As for `push_clean`.
    #[inline(always)]
    unsafe fn push(&mut self, words: [Word; 2], keep: u32) {
        for (after, word) in words.into_iter().enumerate() {
            // SAFETY: there is room for two words of each call, and so for these.
            unsafe { self.words.get_unchecked_mut(self.length + after) }.write(word);
        }
        self.length += keep as usize;
    }
}

/// A miss: passes on the load and the victim, counts, and returns the new row.
///
/// # Safety
/// As for [`Out::push`].
#[inline(always)]
unsafe fn miss<R: RecencyRow, const CLEAN: bool>(
    row: R,
    last: Word,
    word: Word,
    passed: &mut BlockMisses,
    out: &mut Out,
) -> R {
    if CLEAN {
        // SAFETY: as the caller promises.
        unsafe { out.push_clean(word, 1) };
    } else {
        passed.misses += 1;
        passed.store_misses += u64::from(word >> 31);
        // A dirty word is a store already.
        // SAFETY: as the caller promises.
        unsafe { out.push([word & EMPTY, last], 1 + (last >> 31)) };
    }
    row.push(R::beside(word))
}

impl<const CLEAN: bool, const MARK_ONLY: bool> TableLoop for Steady<CLEAN, MARK_ONLY> {
    #[inline(always)]
    fn walk<R: RecencyRow, const FULL: bool>(table: &mut Table<R, FULL>, words: &[Word], out: &mut Out) -> BlockMisses {
        let (in_use, last) = (table.in_use(), table.ways() as usize - 1);
        let mut passed = BlockMisses::default();
        for word in words {
            let place = table.row(*word as usize);
            let row = R::read(place);
            let beside = R::beside(*word);
            let found = row.find::<CLEAN>(beside) & in_use;
            if found != 0 {
                let at = found.trailing_zeros();
                if MARK_ONLY && word & STORE != 0 {
                    R::words(place)[at as usize] |= STORE;
                } else {
                    row.raise::<CLEAN>(at, beside).write(place);
                }
            } else {
                let last = if CLEAN { EMPTY } else { R::words(place)[last] };
                // SAFETY: one call for a word.
                unsafe { miss::<R, CLEAN>(row, last, *word, &mut passed, out) }.write(place);
            }
        }
        passed
    }
}

impl<const CLEAN: bool> TableLoop for SameSet<CLEAN> {
    #[inline(always)]
    fn walk<R: RecencyRow, const FULL: bool>(table: &mut Table<R, FULL>, words: &[Word], out: &mut Out) -> BlockMisses {
        let (in_use, last) = (table.in_use(), table.ways() as usize - 1);
        let sets = table.rows.len() - 1;
        let mut passed = BlockMisses::default();
        let mut at = 0;
        while at < words.len() {
            let set = words[at] as usize & sets;
            let place = table.row(set);
            let mut row = R::read(place);
            while at < words.len() && words[at] as usize & sets == set {
                let word = words[at];
                let beside = R::beside(word);
                let found = row.find::<CLEAN>(beside) & in_use;
                if found != 0 {
                    row = row.raise::<CLEAN>(found.trailing_zeros(), beside);
                } else {
                    let last = if CLEAN { EMPTY } else { row.word(last) };
                    // SAFETY: one call for a word.
                    row = unsafe { miss::<R, CLEAN>(row, last, word, &mut passed, out) };
                }
                at += 1;
            }
            row.write(place);
        }
        passed
    }
}

impl<const CLEAN: bool, const MARK_ONLY: bool> TableLoop for Mixed<CLEAN, MARK_ONLY> {
    #[inline(always)]
    fn walk<R: RecencyRow, const FULL: bool>(table: &mut Table<R, FULL>, words: &[Word], out: &mut Out) -> BlockMisses {
        let (in_use, last) = (table.in_use(), table.ways() - 1);
        let mut passed = BlockMisses::default();
        for word in words {
            let place = table.row(*word as usize);
            let row = R::read(place);
            let found = row.find::<CLEAN>(R::beside(*word)) & in_use;
            let missed = u32::from(found == 0);
            let at = (found | 1 << last).trailing_zeros();
            if CLEAN {
                // SAFETY: one call for a word.
                unsafe { out.push_clean(*word, missed) };
                row.push_within(at + 1, R::beside(*word)).write(place);
                continue;
            }
            let victim = R::words(place)[last as usize];
            let dirty = u32::from(row.dirty() & found != 0) << 31;
            passed.misses += u64::from(missed);
            passed.store_misses += u64::from(word >> 31 & missed);
            // SAFETY: one call for a word.
            unsafe { out.push([word & EMPTY, victim], missed + (victim >> 31 & missed)) };
            let marks = if MARK_ONLY { word >> 31 & !missed } else { 0 };
            row.push_within((at + 1) * (1 - marks), R::beside(word | dirty)).write(place);
            if MARK_ONLY {
                R::words(place)[at as usize] |= marks << 31;
            }
        }
        passed
    }
}
