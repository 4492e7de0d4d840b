//! The set of a line.

use crate::line::Line;

/// How a cache chooses the set of a line. Sets are numbered through all slices, slice by slice.
///
/// With `n` sets in a slice, let `low` be the line number modulo `n`, `high` the rest, and `run` be `high` divided by the
/// number of slices. The slice is `high`, turned (added to, modulo their number) by a hash of `run` and `low`; the set in
/// it is `low`, turned by a hash of `run` if it is to be hashed. So each aligned run of as many lines as the cache has
/// sets meets every set once, as under the exclusive-or hashes of real caches, while lines at larger distances are
/// spread. The hash is this simulator's own: vendors publish none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetIndex {
    /// The lowest bits of the line number, by this mask.
    Bits(u32),
    /// Everything else.
    Spread(Spread),
}

/// Sets whose number is no power of two, or that are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    sets: u32,
    slices: u32,
    hashed: bool,
}

impl SetIndex {
    /// An index for `sets` over all slices; `slices` divides it.
    pub fn new(sets: usize, slices: usize, hashed: bool) -> Self {
        assert!(slices > 0 && sets.is_multiple_of(slices), "{sets} sets in {slices} slices");
        if sets.is_power_of_two() && slices == 1 && !hashed {
            return Self::Bits(sets as u32 - 1);
        }
        Self::Spread(Spread { sets: (sets / slices) as u32, slices: slices as u32, hashed })
    }

    /// The number of sets, if the lowest bits alone decide: lines that differ in them never share a set.
    pub fn linear_sets(&self) -> Option<usize> {
        match self {
            Self::Bits(mask) => Some(*mask as usize + 1),
            Self::Spread(_) => None,
        }
    }

    /// The set of a line.
    #[inline(always)]
    pub fn of(&self, line: Line) -> usize {
        match self {
            Self::Bits(mask) => line.bits(*mask) as usize,
            Self::Spread(spread) => spread.of(line),
        }
    }
}

impl Spread {
    #[cold]
    #[inline(never)]
    fn of(&self, line: Line) -> usize {
        let (high, low) = (line.number() / self.sets, line.number() % self.sets);
        let turned =
            |value: u32, by: u32, modulus: u32| ((u64::from(value) + u64::from(by)) % u64::from(modulus)) as usize;
        let run = high / self.slices;
        let slice = match self.slices {
            1 => 0,
            // Never the hash of the set, which would leave a part of the sets to lines at some distances.
            slices => turned(high, mix(run ^ (low + 1).rotate_left(16)), slices),
        };
        let set = if self.hashed { turned(low, mix(run), self.sets) } else { low as usize };
        slice * self.sets as usize + set
    }
}

/// The finalizer of MurmurHash3 for 32 bits.
fn mix(mut value: u32) -> u32 {
    value = (value ^ (value >> 16)).wrapping_mul(0x85eb_ca6b);
    value = (value ^ (value >> 13)).wrapping_mul(0xc2b2_ae35);
    value ^ (value >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_of_two_takes_the_lowest_bits_and_other_numbers_the_remainder() {
        assert_eq!(SetIndex::new(2048, 1, false).of(Line::new(5 * 2048 + 17)), 17);
        assert_eq!(SetIndex::new(3072, 1, false).of(Line::new(5 * 3072 + 17)), 17);
        assert_eq!(SetIndex::new(1, 1, false).of(Line::new(77)), 0);
    }

    #[test]
    fn an_aligned_run_as_long_as_the_cache_has_sets_meets_each_once() {
        for (sets, slices, hashed) in [(64, 1, true), (60, 3, false), (60, 3, true), (64, 4, true), (36, 12, false)] {
            let index = SetIndex::new(sets, slices, hashed);
            for run in [0, 1, 1000] {
                let first = run * sets as u32;
                let mut met = vec![0; sets];
                (first..first + sets as u32).for_each(|line| met[index.of(Line::new(line))] += 1);
                assert!(met.iter().all(|times| *times == 1), "{sets} {slices} {hashed}: {met:?}");
            }
        }
    }

    #[test]
    fn hashed_slices_have_sets_for_lines_at_every_power_of_two() {
        for slices in [1, 2, 4, 8] {
            let (sets, index) = (512, SetIndex::new(512, slices, true));
            for distance in (0..20).map(|log2| 1 << log2) {
                for first in [0, 1, 17] {
                    let met: std::collections::BTreeSet<usize> =
                        (0..4 * sets).map(|i| index.of(Line::new(first + i * distance))).collect();
                    // Thrown at random, 4 lines a set leave e^-4 of the sets empty: 9.4, with a deviation of 3.
                    assert!(met.len() > 512 - 25, "{slices} slices, {distance} lines apart: {} sets", met.len());
                }
            }
        }
    }

    #[test]
    fn a_hash_spreads_lines_that_otherwise_share_a_set() {
        let (plain, hashed) = (SetIndex::new(1024, 1, false), SetIndex::new(1024, 1, true));
        let sets = |index: SetIndex| {
            (0..64).map(|i| index.of(Line::new(i * 1024))).collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!(sets(plain), 1);
        assert!(sets(hashed) > 32);
    }
}
