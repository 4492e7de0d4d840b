//! How the lines of a set are compared with one.

use crate::line::Line;

/// Lines are compared four at a time.
const TOGETHER: usize = 4;

/// Which of some lines are this one, one bit each; so many as a set has room for: a multiple of 4, up to 32.
#[inline(always)]
pub fn equal<const N: usize>(lines: &[Line; N], line: Line) -> u32 {
    let (quads, _) = lines.as_chunks::<TOGETHER>();
    let at = |quad: usize| quads.get(quad).map_or(0, |quad| quad_equal(quad, line));
    match N / TOGETHER {
        1 => at(0),
        2 => at(0) | at(1) << 4,
        4 => sixteen_equal(quads, line),
        _ => quads.iter().rev().fold(0, |mask, quad| mask << TOGETHER | quad_equal(quad, line)),
    }
}

/// The place of a line among any number of lines of which no two are equal.
#[inline]
pub fn position(lines: &[Line], line: Line) -> Option<usize> {
    let (sixteens, rest) = lines.as_chunks::<16>();
    for (at, sixteen) in sixteens.iter().enumerate() {
        let equal = equal(sixteen, line);
        if equal != 0 {
            return Some(16 * at + equal.trailing_zeros() as usize);
        }
    }
    let at = rest.iter().position(|held| *held == line)?;
    Some(16 * sixteens.len() + at)
}

/// [`equal`] of sixteen lines.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn sixteen_equal(quads: &[[Line; TOGETHER]], line: Line) -> u32 {
    use std::arch::x86_64::{_mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32};
    let [a, b, c, d] = quads else { return 0 };
    // SAFETY: every x86-64 has SSE2.
    unsafe {
        let ab = _mm_packs_epi32(compared(a, line), compared(b, line));
        let cd = _mm_packs_epi32(compared(c, line), compared(d, line));
        _mm_movemask_epi8(_mm_packs_epi16(ab, cd)) as u32
    }
}

/// [`equal`] of sixteen lines.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn sixteen_equal(quads: &[[Line; TOGETHER]], line: Line) -> u32 {
    quads.iter().rev().fold(0, |mask, quad| mask << TOGETHER | quad_equal(quad, line))
}

/// All bits of each of four lines that is this one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn compared(lines: &[Line; TOGETHER], line: Line) -> std::arch::x86_64::__m128i {
    use std::arch::x86_64::{_mm_cmpeq_epi32, _mm_loadu_si128, _mm_set1_epi32};
    // SAFETY: every x86-64 has SSE2, and the 16 bytes that are loaded are those of `lines`.
    unsafe { _mm_cmpeq_epi32(_mm_loadu_si128(lines.as_ptr().cast()), _mm_set1_epi32(line.cast_signed())) }
}

/// Which of four lines are this one, one bit each.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn quad_equal(lines: &[Line; TOGETHER], line: Line) -> u32 {
    use std::arch::x86_64::{_mm_castsi128_ps, _mm_movemask_ps};
    // The compiler finds the comparison on its own, but not the instruction that gathers its bits.
    // SAFETY: every x86-64 has SSE2.
    unsafe { _mm_movemask_ps(_mm_castsi128_ps(compared(lines, line))) as u32 }
}

/// Which of four lines are this one, one bit each.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn quad_equal(lines: &[Line; TOGETHER], line: Line) -> u32 {
    let [a, b, c, d] = lines.map(|held| u32::from(held == line));
    a | b << 1 | c << 2 | d << 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::EMPTY;

    #[test]
    fn every_way_that_holds_the_line_has_its_bit() {
        fn check<const N: usize>() {
            for mask in [0, 1, 0b1010, 0x8001, 0x8000_0001, u32::MAX, 0x0f0f_1234] {
                let mask = mask & (u32::MAX >> (32 - N));
                // Lines that differ from the one in the lowest or the highest bit only.
                let lines = std::array::from_fn(|at| match mask >> at & 1 {
                    1 => 0x8000_0001,
                    _ => [0x8000_0000, 1, EMPTY][at % 3],
                });
                assert_eq!(equal::<N>(&lines, 0x8000_0001), mask);
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
            let lines: Vec<Line> = (0..count).map(|at| at * 7).collect();
            let found: Vec<_> = lines.iter().filter_map(|line| position(&lines, *line)).collect();
            assert_eq!((found, position(&lines, 3)), ((0..count as usize).collect(), None));
        }
    }
}
