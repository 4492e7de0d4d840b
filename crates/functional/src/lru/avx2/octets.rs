//! Rows of registers of eight words.

use std::arch::x86_64::*;

use super::{first, raised};
use crate::access::{EMPTY, Word};
use crate::lru::row::RecencyRow;

const RAISED_OF_EIGHT: [[u32; 8]; 8] = raised();

/// `N` times eight words.
#[derive(Clone, Copy)]
pub struct Octets<const N: usize>([__m256i; N]);

impl<const N: usize> Octets<N> {
    /// Eight bits for eight words each, from their highest bits.
    #[inline(always)]
    fn highest(words: [__m256i; N]) -> u32 {
        let mut bits = 0;
        for (at, words) in words.into_iter().enumerate() {
            // SAFETY: AVX2 (see the module above).
            bits |= unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(words)) as u32 } << (8 * at);
        }
        bits
    }
}

impl<const N: usize> RecencyRow for Octets<N> {
    const LENGTH: usize = 8 * N;

    type Words = [[Word; 8]; N];
    type Beside = __m256i;

    #[inline(always)]
    fn rows(words: &mut [Word]) -> &mut [[[Word; 8]; N]] {
        words.as_chunks_mut().0.as_chunks_mut().0
    }

    #[inline(always)]
    fn words(row: &mut [[Word; 8]; N]) -> &mut [Word] {
        row.as_flattened_mut()
    }

    #[inline(always)]
    fn read(words: &[[Word; 8]; N]) -> Self {
        let mut row = Self([Self::beside(0); N]);
        for (held, words) in row.0.iter_mut().zip(words) {
            // SAFETY: AVX2 (see the module above), and 32 bytes are read from eight words.
            *held = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        }
        row
    }

    #[inline(always)]
    fn write(self, words: &mut [[Word; 8]; N]) {
        for (words, held) in words.iter_mut().zip(self.0) {
            // SAFETY: AVX2 (see the module above), and 32 bytes are written to eight words.
            unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), held) }
        }
    }

    #[inline(always)]
    fn beside(word: Word) -> __m256i {
        // SAFETY: AVX2 (see the module above).
        unsafe { _mm256_set1_epi32(word.cast_signed()) }
    }

    #[inline(always)]
    fn find<const CLEAN: bool>(self, word: __m256i) -> u32 {
        let mut equal = self.0;
        for held in &mut equal {
            // SAFETY: AVX2 (see the module above).
            *held = unsafe {
                let line = _mm256_set1_epi32(EMPTY.cast_signed());
                if CLEAN {
                    _mm256_cmpeq_epi32(*held, word)
                } else {
                    _mm256_cmpeq_epi32(_mm256_and_si256(*held, line), _mm256_and_si256(word, line))
                }
            };
        }
        Self::highest(equal)
    }

    #[inline(always)]
    fn dirty(self) -> u32 {
        Self::highest(self.0)
    }

    #[inline(always)]
    fn word(self, at: usize) -> Word {
        let mut words = [[0; 8]; N];
        self.write(&mut words);
        words[at / 8][at % 8]
    }

    #[inline(always)]
    fn push(mut self, mut word: __m256i) -> Self {
        for held in &mut self.0 {
            // Round by one: the last word comes to the front of the next eight.
            // SAFETY: AVX2 (see the module above).
            unsafe {
                let round = _mm256_permutevar8x32_epi32(*held, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
                *held = _mm256_blend_epi32::<1>(round, word);
                word = round;
            }
        }
        self
    }

    #[inline(always)]
    fn push_within(self, count: u32, word: __m256i) -> Self {
        let first = first::<32>(count);
        let mut pushed = self.push(word).0;
        for (eight, (pushed, held)) in pushed.iter_mut().zip(self.0).enumerate() {
            // SAFETY: AVX2 (see the module above), and 32 bytes are read from eight words.
            *pushed = unsafe {
                let first = _mm256_loadu_si256(first[8 * eight..][..8].as_ptr().cast());
                _mm256_blendv_epi8(held, *pushed, first)
            };
        }
        Self(pushed)
    }

    #[inline(always)]
    fn raise<const CLEAN: bool>(self, at: u32, word: __m256i) -> Self {
        if N == 1 {
            let order = &RAISED_OF_EIGHT[at as usize % 8];
            // SAFETY: AVX2 (see the module above), and 32 bytes are read from eight words.
            return unsafe {
                let order = _mm256_loadu_si256(order.as_ptr().cast());
                let raised = _mm256_permutevar8x32_epi32(self.0[0], order);
                let first = _mm256_blend_epi32::<1>(_mm256_setzero_si256(), word);
                // The word that comes first has the same line: only its bit for stores can be new.
                Self([if CLEAN { raised } else { _mm256_or_si256(raised, first) }; N])
            };
        }
        if CLEAN {
            return self.push_within(at + 1, word);
        }
        let dirty = (self.dirty() >> at) << 31;
        // SAFETY: AVX2 (see the module above).
        self.push_within(at + 1, unsafe { _mm256_or_si256(word, Self::beside(dirty)) })
    }
}
