//! Which line makes room.

mod recency;
mod tree;
mod used_bits;

use waykeeper_platform::Replacement;
use waykeeper_workload::Xorshift;

/// The interval that a re-reference interval prediction of two bits gives to a line that was just filled.
const LONG: u8 = 2;
/// The interval of a line that makes room.
const DISTANT: u8 = 3;

/// The memory of a replacement policy, for all sets of one cache. What each does is described at [`Replacement`].
#[derive(Debug, Clone)]
pub enum Policy {
    /// Ages by place, 0 for the most recent use; ages in a set are distinct.
    Lru(Vec<u8>),
    /// Ages as for `Lru`.
    Mru(Vec<u8>),
    /// One word a set; bit `n` belongs to node `n` of a binary tree whose root is node 1. A set bit points right.
    TreePlru(Vec<u64>),
    /// One word a set: the ways used since all of them were.
    BitPlru(Vec<u32>),
    /// By set, the way at which the search for the next victim begins.
    RoundRobin(Vec<u8>),
    /// By place, the predicted re-reference interval, 0 to 3.
    Biased(Vec<u8>),
    /// No memory.
    Random,
}

// The kind of a policy decides a few instructions, fewer than a call costs: hence `inline(always)`.
impl Policy {
    /// A policy for `sets` of `ways`.
    pub fn new(kind: Replacement, sets: usize, ways: usize) -> Self {
        match kind {
            Replacement::Lru => Self::Lru(recency::ages(sets, ways)),
            Replacement::Mru => Self::Mru(recency::ages(sets, ways)),
            Replacement::TreePlru => Self::TreePlru(vec![0; sets]),
            Replacement::BitPlru => Self::BitPlru(vec![0; sets]),
            Replacement::RoundRobin => Self::RoundRobin(vec![0; sets]),
            Replacement::Biased => Self::Biased(vec![DISTANT; sets * ways]),
            Replacement::Random => Self::Random,
        }
    }

    /// Bytes of memory that the policy takes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Lru(bytes) | Self::Mru(bytes) | Self::RoundRobin(bytes) | Self::Biased(bytes) => bytes.len(),
            Self::TreePlru(words) => size_of_val(&**words),
            Self::BitPlru(words) => size_of_val(&**words),
            Self::Random => 0,
        }
    }

    /// Remembers a use of a line that is there.
    #[inline(always)]
    pub fn touch(&mut self, set: usize, way: usize, ways: usize) {
        match self {
            Self::Random | Self::RoundRobin(_) => {}
            Self::Lru(ages) | Self::Mru(ages) => recency::touch(&mut ages[set * ways..(set + 1) * ways], way),
            Self::TreePlru(trees) => tree::touch(&mut trees[set], way, ways),
            Self::BitPlru(used) => used_bits::touch(&mut used[set], way, u32::MAX >> (32 - ways)),
            Self::Biased(intervals) => intervals[set * ways + way] = 0,
        }
    }

    /// Remembers that a line was put into a way, which was one of those of `mask`.
    #[inline(always)]
    pub fn fill(&mut self, set: usize, way: usize, ways: usize, mask: u32) {
        match self {
            Self::Biased(intervals) => intervals[set * ways + way] = LONG,
            Self::BitPlru(used) => {
                let all = u32::MAX >> (32 - ways);
                used_bits::touch(&mut used[set], way, all);
                used_bits::touch(&mut used[set], way, mask & all);
            }
            _ => self.touch(set, way, ways),
        }
    }

    /// The way that makes room, among those of `mask` (which is not 0).
    #[inline(always)]
    pub fn victim(&mut self, set: usize, ways: usize, mask: u32, random: &mut Xorshift) -> usize {
        match self {
            Self::Random => nth_set_bit(mask, random.below(u64::from(mask.count_ones())) as u32),
            Self::Lru(ages) => recency::oldest(&ages[set * ways..(set + 1) * ways], mask),
            Self::Mru(ages) => recency::youngest(&ages[set * ways..(set + 1) * ways], mask),
            Self::TreePlru(trees) => tree::victim(trees[set], ways, mask),
            Self::BitPlru(used) => used_bits::victim(&mut used[set], mask),
            Self::RoundRobin(next) => {
                let at_or_after = mask & (u32::MAX << next[set]);
                let way = if at_or_after == 0 { mask } else { at_or_after }.trailing_zeros();
                next[set] = ((way as usize + 1) % ways) as u8;
                way as usize
            }
            Self::Biased(intervals) => {
                let intervals = &mut intervals[set * ways..(set + 1) * ways];
                let way = recency::oldest(intervals, mask);
                let passed = DISTANT - intervals[way];
                for (_, interval) in intervals.iter_mut().enumerate().filter(|(way, _)| mask >> way & 1 == 1) {
                    *interval += passed;
                }
                way
            }
        }
    }
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
