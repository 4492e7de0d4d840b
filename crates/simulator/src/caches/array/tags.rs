//! How the lines or pages of a set are compared with one.

use crate::line::Line;

/// What a set compares: the number of a line or of a page.
pub trait Tag: Copy + PartialEq {
    /// The number itself: two tags are equal if their words are.
    fn word(self) -> u32;
}

impl Tag for Line {
    #[inline(always)]
    fn word(self) -> u32 {
        self.number()
    }
}

/// Tags are compared four at a time.
const TOGETHER: usize = 4;

/// Which of some tags are this one, one bit each; so many as a set has room for: a multiple of 4, up to 32.
#[inline(always)]
pub fn equal<const N: usize, T: Tag>(tags: &[T; N], tag: T) -> u32 {
    let (quads, _) = tags.as_chunks::<TOGETHER>();
    let at = |quad: usize| quads.get(quad).map_or(0, |quad| quad_equal(quad, tag));
    match N / TOGETHER {
        1 => at(0),
        2 => at(0) | at(1) << 4,
        4 => sixteen_equal(quads, tag),
        _ => quads.iter().rev().fold(0, |mask, quad| mask << TOGETHER | quad_equal(quad, tag)),
    }
}

/// The place of a tag among any number of tags of which no two are equal.
#[inline]
pub fn position<T: Tag>(tags: &[T], tag: T) -> Option<usize> {
    let (sixteens, rest) = tags.as_chunks::<16>();
    for (at, sixteen) in sixteens.iter().enumerate() {
        let equal = equal(sixteen, tag);
        if equal != 0 {
            return Some(16 * at + equal.trailing_zeros() as usize);
        }
    }
    let at = rest.iter().position(|held| *held == tag)?;
    Some(16 * sixteens.len() + at)
}

/// [`equal`] of sixteen tags.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn sixteen_equal<T: Tag>(quads: &[[T; TOGETHER]], tag: T) -> u32 {
    use std::arch::x86_64::{_mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32};
    let [a, b, c, d] = quads else { return 0 };
    // SAFETY: every x86-64 has SSE2.
    unsafe {
        let ab = _mm_packs_epi32(compared(a, tag), compared(b, tag));
        let cd = _mm_packs_epi32(compared(c, tag), compared(d, tag));
        _mm_movemask_epi8(_mm_packs_epi16(ab, cd)) as u32
    }
}

/// [`equal`] of sixteen tags.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn sixteen_equal<T: Tag>(quads: &[[T; TOGETHER]], tag: T) -> u32 {
    quads.iter().rev().fold(0, |mask, quad| mask << TOGETHER | quad_equal(quad, tag))
}

/// All bits of each of four tags that is this one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn compared<T: Tag>(tags: &[T; TOGETHER], tag: T) -> std::arch::x86_64::__m128i {
    use std::arch::x86_64::{_mm_cmpeq_epi32, _mm_loadu_si128, _mm_set1_epi32};
    let words: [u32; TOGETHER] = tags.map(Tag::word);
    // SAFETY: every x86-64 has SSE2, and the 16 bytes that are loaded are those of `words`.
    unsafe { _mm_cmpeq_epi32(_mm_loadu_si128(words.as_ptr().cast()), _mm_set1_epi32(tag.word().cast_signed())) }
}

/// Which of four tags are this one, one bit each.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn quad_equal<T: Tag>(tags: &[T; TOGETHER], tag: T) -> u32 {
    use std::arch::x86_64::{_mm_castsi128_ps, _mm_movemask_ps};
    // The compiler finds the comparison on its own, but not the instruction that gathers its bits.
    // SAFETY: every x86-64 has SSE2.
    unsafe { _mm_movemask_ps(_mm_castsi128_ps(compared(tags, tag))) as u32 }
}

/// Which of four tags are this one, one bit each.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn quad_equal<T: Tag>(tags: &[T; TOGETHER], tag: T) -> u32 {
    let [a, b, c, d] = tags.map(|held| u32::from(held.word() == tag.word()));
    a | b << 1 | c << 2 | d << 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_that_holds_the_line_has_its_bit() {
        fn check<const N: usize>() {
            for mask in [0, 1, 0b1010, 0x8001, 0x8000_0001, u32::MAX, 0x0f0f_1234] {
                let mask = mask & (u32::MAX >> (32 - N));
                // Lines that differ from the one in the lowest or the highest bit only.
                let lines = std::array::from_fn(|at| match mask >> at & 1 {
                    1 => Line::new(0x8000_0001),
                    _ => [Line::new(0x8000_0000), Line::new(1), Line::EMPTY][at % 3],
                });
                assert_eq!(equal::<N, Line>(&lines, Line::new(0x8000_0001)), mask);
            }
        }
        check::<4>();
        check::<8>();
        check::<16>();
        check::<32>();
    }

    #[test]
    fn a_line_is_found_wherever_it_is() {
        for count in [0, 1, 4, 16, 17, 48] {
            let lines: Vec<Line> = (0..count).map(|at| Line::new(at * 7)).collect();
            let found: Vec<_> = lines.iter().filter_map(|line| position(&lines, *line)).collect();
            assert_eq!((found, position(&lines, Line::new(3))), ((0..count as usize).collect(), None));
        }
    }
}
