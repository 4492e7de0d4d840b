//! Ages of the ways of a set, a byte each and below 128: eight are compared at once. Where they are an order of uses, 0 is the
//! most recent and all differ.

use crate::bits::bits;

/// Ways that are compared at once.
const TOGETHER: usize = 8;

/// The lowest and the highest bit of each byte of a word.
const LOWEST: u64 = 0x0101_0101_0101_0101;
const HIGHEST: u64 = 0x8080_8080_8080_8080;

/// A use of a way: it becomes the youngest.
#[inline(always)]
pub fn touch(ages: &mut [u8], way: usize) {
    let before = u64::from(ages[way]) * LOWEST;
    let (words, _) = ages.as_chunks_mut::<TOGETHER>();
    for ages in words {
        let word = u64::from_le_bytes(*ages);
        // The highest bit of a byte stays where nothing is borrowed from it: where the age is not below the one before.
        let below = !((word | HIGHEST) - before) & HIGHEST;
        *ages = (word + (below >> 7)).to_le_bytes();
    }
    ages[way] = 0;
}

/// The way of the highest age among those of a mask that is not 0; the first of equals.
#[inline(always)]
pub fn oldest(ages: &[u8], mask: u32) -> usize {
    bits(mask)
        .fold(
            (0, None),
            |(age, way), at| if way.is_none() || ages[at] > age { (ages[at], Some(at)) } else { (age, way) },
        )
        .1
        .expect("the mask allows a way")
}

/// The way of the lowest age among those of a mask that is not 0.
#[inline(always)]
pub fn youngest(ages: &[u8], mask: u32) -> usize {
    bits(mask).min_by_key(|way| ages[*way]).expect("the mask allows a way")
}

/// The ways of an age, one bit each.
#[inline(always)]
pub fn of_age(ages: &[u8], age: u8) -> u32 {
    let (words, _) = ages.as_chunks::<TOGETHER>();
    words.iter().rev().fold(0, |mask, ages| {
        let others = (u64::from_le_bytes(*ages) ^ (u64::from(age) * LOWEST)) + !HIGHEST;
        // The multiplication gathers the lowest bits of all bytes in the highest byte.
        let equal = ((!others & HIGHEST) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask << TOGETHER | equal as u32
    })
}
