//! Which line makes room.

use waykeeper_platform::Replacement;
use waykeeper_workload::Xorshift;

/// The memory of a replacement policy, for all sets of one cache.
#[derive(Debug, Clone)]
pub enum Policy {
    /// Ages by place, 0 for the most recent use; ages in a set are distinct.
    Lru(Vec<u8>),
    /// One word a set; bit `n` belongs to node `n` of a binary tree whose root is node 1. A set bit points right.
    TreePlru(Vec<u64>),
    /// No memory.
    Random,
}

// The kind of a policy decides a few instructions, fewer than a call costs: hence `inline(always)`.
impl Policy {
    /// A policy for `sets` of `ways`.
    pub fn new(kind: Replacement, sets: usize, ways: usize) -> Self {
        match kind {
            Replacement::Lru => Self::Lru((0..sets * ways).map(|place| (place % ways) as u8).collect()),
            Replacement::TreePlru => Self::TreePlru(vec![0; sets]),
            Replacement::Random => Self::Random,
        }
    }

    /// Remembers a use.
    #[inline(always)]
    pub fn touch(&mut self, set: usize, way: usize, ways: usize) {
        match self {
            Self::Random => {}
            Self::Lru(ages) => {
                let ages = &mut ages[set * ways..(set + 1) * ways];
                let before = ages[way];
                for age in ages.iter_mut() {
                    *age += u8::from(*age < before);
                }
                ages[way] = 0;
            }
            Self::TreePlru(trees) => {
                let path = PATHS[ways.trailing_zeros() as usize][way];
                trees[set] = trees[set] & !path.nodes | path.right;
            }
        }
    }

    /// The way that makes room, among those of `mask` (which is not 0).
    #[inline(always)]
    pub fn victim(&self, set: usize, ways: usize, mask: u32, random: &mut Xorshift) -> usize {
        match self {
            Self::Random => nth_set_bit(mask, random.below(u64::from(mask.count_ones())) as u32),
            Self::Lru(ages) => {
                let ages = &ages[set * ways..(set + 1) * ways];
                let allowed = (0..ways).filter(|way| mask >> way & 1 == 1);
                allowed.max_by_key(|way| ages[*way]).expect("the mask allows a way")
            }
            Self::TreePlru(trees) => plru_victim(trees[set], ways, mask),
        }
    }
}

/// The nodes between the root and a way, and those of them that point right after a use of that way.
#[derive(Debug, Clone, Copy)]
struct Path {
    nodes: u64,
    right: u64,
}

/// By the log2 of the ways, the path of each way.
static PATHS: [[Path; 32]; 6] = paths();

const fn paths() -> [[Path; 32]; 6] {
    let mut paths = [[Path { nodes: 0, right: 0 }; 32]; 6];
    let mut log2 = 0;
    while log2 < paths.len() {
        let ways = 1 << log2;
        let mut way = 0;
        while way < ways {
            let mut node = way + ways;
            while node > 1 {
                let parent = node / 2;
                paths[log2][way].nodes |= 1 << parent;
                // Away from the way just used: right if it was the left child.
                paths[log2][way].right |= ((node + 1) as u64 % 2) << parent;
                node = parent;
            }
            way += 1;
        }
        log2 += 1;
    }
    paths
}

/// Follows the bits from the root, but never into a half of which the mask allows nothing.
fn plru_victim(tree: u64, ways: usize, mask: u32) -> usize {
    let (mut node, mut low, mut width) = (1, 0, ways);
    while width > 1 {
        width /= 2;
        let half = ((1u64 << width) - 1) as u32;
        let (left, right) = (mask >> low & half, mask >> (low + width) & half);
        let go_right = left == 0 || (right != 0 && tree >> node & 1 == 1);
        node = 2 * node + usize::from(go_right);
        low += if go_right { width } else { 0 };
    }
    low
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
mod tests {
    use super::*;

    #[test]
    fn lru_evicts_the_oldest_that_the_mask_allows() {
        let mut lru = Policy::new(Replacement::Lru, 1, 4);
        let mut random = Xorshift::new(0);
        for way in [2, 0, 3, 1] {
            lru.touch(0, way, 4);
        }
        assert_eq!(lru.victim(0, 4, 0b1111, &mut random), 2);
        assert_eq!(lru.victim(0, 4, 0b1011, &mut random), 0);
        lru.touch(0, 2, 4);
        assert_eq!(lru.victim(0, 4, 0b1111, &mut random), 0);
    }

    #[test]
    fn tree_plru_points_away_from_recent_use() {
        let mut plru = Policy::new(Replacement::TreePlru, 1, 4);
        let mut random = Xorshift::new(0);
        // Nodes: 1 is the root, 2 its left half (ways 0, 1), 3 its right half (ways 2, 3).
        for (way, victim) in [(0, 2), (2, 1), (1, 3), (3, 0)] {
            plru.touch(0, way, 4);
            assert_eq!(plru.victim(0, 4, 0b1111, &mut random), victim, "after a use of way {way}");
        }
        assert_eq!(plru.victim(0, 4, 0b0100, &mut random), 2);
    }

    #[test]
    fn set_bits_are_counted_from_the_lowest() {
        // 0b1011_0110 has its bits at 1, 2, 4, 5 and 7.
        assert_eq!([0, 1, 2, 3, 4].map(|n| nth_set_bit(0b1011_0110, n)), [1, 2, 4, 5, 7]);
        assert_eq!([0, 31].map(|n| nth_set_bit(u32::MAX, n)), [0, 31]);
    }

    #[test]
    fn random_reaches_every_allowed_way_and_no_other() {
        let policy = Policy::new(Replacement::Random, 1, 8);
        let mut random = Xorshift::new(7);
        let mut seen = 0u32;
        for _ in 0..1000 {
            seen |= 1 << policy.victim(0, 8, 0b1010_0110, &mut random);
        }
        assert_eq!(seen, 0b1010_0110);
    }
}
