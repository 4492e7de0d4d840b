//! Which line makes room.

mod recency;
mod tree;
mod used_bits;

use waykeeper_platform::Replacement;
use waykeeper_workload::Xorshift;

use crate::bits::bits;

/// The interval that a re-reference interval prediction of two bits assigns to a line that was just filled.
const LONG: u8 = 2;
/// The interval of a line that makes room.
const DISTANT: u8 = 3;

// What a policy remembers of a set is a byte for each way that there is room for, at least four of them: ages, intervals,
// or a word in the first four. Its kind decides a few instructions, fewer than a call costs: hence `inline(always)`, for the
// kinds that are met most.

/// What a policy remembers at first, for a way.
pub fn fresh(policy: Replacement, way: usize) -> u8 {
    match policy {
        // All ages differ.
        Replacement::Lru | Replacement::Mru => way as u8,
        Replacement::Biased => DISTANT,
        Replacement::TreePlru | Replacement::BitPlru | Replacement::RoundRobin | Replacement::Random => 0,
    }
}

/// Remembers a use of a line that is there.
#[inline(always)]
pub fn touch(policy: Replacement, order: &mut [u8], way: usize, ways: usize) {
    match policy {
        Replacement::Random | Replacement::RoundRobin => {}
        Replacement::TreePlru => set_word(order, tree::touched(word(order), way, ways)),
        _ => touch_other(policy, order, way, ways),
    }
}

#[cold]
#[inline(never)]
fn touch_other(policy: Replacement, order: &mut [u8], way: usize, ways: usize) {
    match policy {
        Replacement::Lru | Replacement::Mru => recency::touch(order, way),
        Replacement::BitPlru => set_word(order, used_bits::touched(word(order), way, u32::MAX >> (32 - ways))),
        Replacement::Biased => order[way] = 0,
        Replacement::Random | Replacement::RoundRobin | Replacement::TreePlru => {}
    }
}

/// Remembers that a line was put into a way, which was one of those of `mask`.
#[inline(always)]
pub fn fill(policy: Replacement, order: &mut [u8], way: usize, ways: usize, mask: u32) {
    match policy {
        Replacement::Random | Replacement::RoundRobin | Replacement::TreePlru => touch(policy, order, way, ways),
        _ => fill_other(policy, order, way, ways, mask),
    }
}

#[cold]
#[inline(never)]
fn fill_other(policy: Replacement, order: &mut [u8], way: usize, ways: usize, mask: u32) {
    match policy {
        Replacement::Biased => order[way] = LONG,
        Replacement::BitPlru => {
            let all = u32::MAX >> (32 - ways);
            let used = used_bits::touched(word(order), way, all);
            set_word(order, used_bits::touched(used, way, mask & all));
        }
        _ => touch(policy, order, way, ways),
    }
}

/// The way that makes room, among those of `mask` (which is not 0).
#[inline(always)]
pub fn victim(policy: Replacement, order: &mut [u8], ways: usize, mask: u32, random: &mut Xorshift) -> usize {
    match policy {
        Replacement::Random => nth_set_bit(mask, random.below(u64::from(mask.count_ones())) as u32),
        Replacement::TreePlru => tree::victim(word(order), ways, mask),
        _ => other_victim(policy, order, ways, mask),
    }
}

#[cold]
#[inline(never)]
fn other_victim(policy: Replacement, order: &mut [u8], ways: usize, mask: u32) -> usize {
    let mask = mask & u32::MAX >> (32 - order.len());
    match policy {
        Replacement::Lru => recency::oldest(order, mask),
        Replacement::Mru => recency::youngest(order, mask),
        Replacement::TreePlru => tree::victim(word(order), ways, mask),
        Replacement::BitPlru => {
            let used = used_bits::asked(word(order), mask);
            set_word(order, used);
            used_bits::victim(used, mask)
        }
        Replacement::RoundRobin => {
            let at_or_after = mask & (u32::MAX << order[0]);
            let way = if at_or_after == 0 { mask } else { at_or_after }.trailing_zeros();
            order[0] = ((way as usize + 1) % ways) as u8;
            way as usize
        }
        Replacement::Biased => {
            let of_age = |age: u8| recency::of_age(order, age) & mask;
            let oldest = (0..=DISTANT).rev().find(|age| of_age(*age) != 0).expect("the mask allows a way");
            let way = of_age(oldest).trailing_zeros() as usize;
            if oldest != DISTANT {
                bits(mask).for_each(|way| order[way] += DISTANT - oldest);
            }
            way
        }
        Replacement::Random => unreachable!("it needs a random number"),
    }
}

#[inline(always)]
fn word(order: &[u8]) -> u32 {
    u32::from_le_bytes(*order.first_chunk().expect("a set has room for four ways"))
}

#[inline(always)]
fn set_word(order: &mut [u8], word: u32) {
    *order.first_chunk_mut().expect("a set has room for four ways") = word.to_le_bytes();
}

/// The position of the `n`-th set bit, counted from 0.
#[inline]
pub fn nth_set_bit(mut mask: u32, n: u32) -> usize {
    // Most masks are one run of ways.
    let low = mask.trailing_zeros();
    if n < (mask >> low).trailing_ones() {
        return (low + n) as usize;
    }
    for _ in 0..n {
        mask &= mask - 1;
    }
    mask.trailing_zeros() as usize
}

#[cfg(test)]
mod tests;
