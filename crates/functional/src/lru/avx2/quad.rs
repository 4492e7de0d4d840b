//! Rows of one register of four words.

use std::arch::x86_64::*;

use super::{first, raised};
use crate::access::{EMPTY, Word};
use crate::lru::row::RecencyRow;

const RAISED_OF_FOUR: [[u32; 4]; 4] = raised();

/// Four words.
#[derive(Clone, Copy)]
pub struct Quad(__m128i);

impl RecencyRow for Quad {
    const LENGTH: usize = 4;

    type Words = [Word; 4];
    type Beside = __m128i;

    #[inline(always)]
    fn rows(words: &mut [Word]) -> &mut [[Word; 4]] {
        words.as_chunks_mut().0
    }

    #[inline(always)]
    fn words(row: &mut [Word; 4]) -> &mut [Word] {
        row
    }

    #[inline(always)]
    fn read(words: &[Word; 4]) -> Self {
        // SAFETY: AVX2 (see the module above), and 16 bytes are read from 16 bytes.
        unsafe { Self(_mm_loadu_si128(words.as_ptr().cast())) }
    }

    #[inline(always)]
    fn write(self, words: &mut [Word; 4]) {
        // SAFETY: AVX2 (see the module above), and 16 bytes are written to 16 bytes.
        unsafe { _mm_storeu_si128(words.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn beside(word: Word) -> __m128i {
        // SAFETY: AVX2 (see the module above).
        unsafe { _mm_set1_epi32(word.cast_signed()) }
    }

    #[inline(always)]
    fn find<const CLEAN: bool>(self, word: __m128i) -> u32 {
        // SAFETY: AVX2 (see the module above).
        unsafe {
            let line = _mm_set1_epi32(EMPTY.cast_signed());
            let equal = if CLEAN {
                _mm_cmpeq_epi32(self.0, word)
            } else {
                _mm_cmpeq_epi32(_mm_and_si128(self.0, line), _mm_and_si128(word, line))
            };
            _mm_movemask_ps(_mm_castsi128_ps(equal)) as u32
        }
    }

    #[inline(always)]
    fn dirty(self) -> u32 {
        // SAFETY: AVX2 (see the module above).
        unsafe { _mm_movemask_ps(_mm_castsi128_ps(self.0)) as u32 }
    }

    #[inline(always)]
    fn word(self, at: usize) -> Word {
        let mut words = [0; 4];
        self.write(&mut words);
        words[at]
    }

    #[inline(always)]
    fn push(self, word: __m128i) -> Self {
        // SAFETY: AVX2 (see the module above).
        unsafe { Self(_mm_alignr_epi8::<12>(self.0, word)) }
    }

    #[inline(always)]
    fn push_within(self, count: u32, word: __m128i) -> Self {
        let first = first::<4>(count);
        // SAFETY: AVX2 (see the module above), and 16 bytes are read from four words.
        unsafe {
            let first = _mm_loadu_si128(first.as_ptr().cast());
            Self(_mm_blendv_epi8(self.0, self.push(word).0, first))
        }
    }

    #[inline(always)]
    fn raise<const CLEAN: bool>(self, at: u32, word: __m128i) -> Self {
        let order = &RAISED_OF_FOUR[at as usize % 4];
        // SAFETY: AVX2 (see the module above), and 16 bytes are read from four words.
        unsafe {
            let order = _mm_loadu_si128(order.as_ptr().cast());
            let raised = _mm_castps_si128(_mm_permutevar_ps(_mm_castsi128_ps(self.0), order));
            // The word that comes first has the same line: only its bit for stores can be new.
            Self(if CLEAN { raised } else { _mm_or_si128(raised, _mm_srli_si128::<12>(word)) })
        }
    }
}
