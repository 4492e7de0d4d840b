//! Rows in plain Rust, for hosts without a version of their own.

use super::row::RecencyRow;
use crate::access::{EMPTY, STORE, Word};

/// A row of `N` words.
#[derive(Debug, Clone, Copy)]
pub struct Plain<const N: usize>([Word; N]);

fn bits<const N: usize>(words: [Word; N], is: impl Fn(Word) -> bool) -> u32 {
    words.iter().enumerate().fold(0, |bits, (at, word)| bits | u32::from(is(*word)) << at)
}

impl<const N: usize> RecencyRow for Plain<N> {
    const LENGTH: usize = N;

    type Words = [Word; N];
    type Beside = Word;

    #[inline(always)]
    fn rows(words: &mut [Word]) -> &mut [[Word; N]] {
        words.as_chunks_mut().0
    }

    #[inline(always)]
    fn words(row: &mut [Word; N]) -> &mut [Word] {
        row
    }

    #[inline(always)]
    fn read(words: &[Word; N]) -> Self {
        Self(*words)
    }

    #[inline(always)]
    fn write(self, words: &mut [Word; N]) {
        *words = self.0;
    }

    #[inline(always)]
    fn beside(word: Word) -> Word {
        word
    }

    #[inline(always)]
    fn find<const CLEAN: bool>(self, word: Word) -> u32 {
        bits(self.0, |held| (held ^ word) & EMPTY == 0)
    }

    #[inline(always)]
    fn dirty(self) -> u32 {
        bits(self.0, |held| held & STORE != 0)
    }

    #[inline(always)]
    fn word(self, at: usize) -> Word {
        self.0[at]
    }

    #[inline(always)]
    fn push(self, word: Word) -> Self {
        self.push_within(N as u32, word)
    }

    #[inline(always)]
    fn push_within(self, count: u32, word: Word) -> Self {
        let one_on = |to: usize| if to == 0 { word } else { self.0[to - 1] };
        Self(std::array::from_fn(|to| if (to as u32) < count { one_on(to) } else { self.0[to] }))
    }

    #[inline(always)]
    fn raise<const CLEAN: bool>(self, at: u32, word: Word) -> Self {
        self.push_within(at + 1, word | self.0[at as usize] & STORE)
    }
}
