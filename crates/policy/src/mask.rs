//! Masks of cache ways: which parts of a cache a class fills.

use std::fmt;

use serde::{Serialize, Serializer};

/// A mask of at most 32 bits; bit 0 is the lowest way, or group of ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mask(pub u32);

/// Consecutive bits of a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContiguousBits {
    /// The lowest bit.
    pub low: u32,
    /// How many bits.
    pub bits: u32,
}

impl ContiguousBits {
    /// The run as a mask.
    pub fn mask(self) -> Mask {
        Mask(Mask::full(self.bits).0.checked_shl(self.low).unwrap_or(0))
    }
}

/// The end of a cache that a share is taken from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum End {
    /// The lowest ways.
    #[default]
    Low,
    /// The highest ways.
    High,
}

impl Mask {
    /// The lowest `bits` bits; at most 32.
    pub fn full(bits: u32) -> Self {
        Self(u32::MAX.checked_shr(32 - bits.min(32)).unwrap_or(0))
    }

    /// How many bits are set.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether no bit is set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether both have a bit.
    pub fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The bits that the other does not have.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The bits of either.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The bits of both.
    pub fn within(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Runs of consecutive bits, the lowest first.
    pub fn runs(self) -> Vec<ContiguousBits> {
        let (mut rest, mut runs) = (self.0, Vec::new());
        while rest != 0 {
            let low = rest.trailing_zeros();
            let bits = (rest >> low).trailing_ones();
            let run = ContiguousBits { low, bits };
            rest &= !run.mask().0;
            runs.push(run);
        }
        runs
    }

    /// Whether the bits follow each other; an empty mask has none that do not.
    pub fn is_contiguous(self) -> bool {
        self.runs().len() <= 1
    }

    /// The longest run; of two equal ones the lower.
    pub fn longest_run(self) -> Self {
        let runs = self.runs();
        let longest = runs.iter().map(|run| run.bits).max();
        runs.iter().find(|run| Some(run.bits) == longest).map_or(Self(0), |run| run.mask())
    }

    /// The bits of the lowest run: all that the kernel counts of a mask against its least.
    pub fn first_run(self) -> u32 {
        self.runs().first().map_or(0, |run| run.bits)
    }

    /// This mask without the runs below its first one of `least` bits.
    pub fn from_run_of(self, least: u32) -> Self {
        let short = self.runs().into_iter().take_while(|run| run.bits < least);
        short.fold(self, |rest, run| rest.without(run.mask()))
    }

    /// `bits` consecutive bits of this mask, nearest to one end; `None` where it has no such run.
    pub fn take(self, bits: u32, end: End) -> Option<Self> {
        let runs = self.runs();
        let mut fitting = runs.iter().filter(|run| run.bits >= bits);
        match end {
            End::Low => fitting.next().map(|run| ContiguousBits { low: run.low, bits }.mask()),
            End::High => fitting.next_back().map(|run| ContiguousBits { low: run.low + run.bits - bits, bits }.mask()),
        }
    }

    /// `bits` bits of this mask, nearest to one end, with holes where it has them; `None` where it has too few.
    pub fn take_any(self, bits: u32, end: End) -> Option<Self> {
        let mut set: Vec<u32> = (0..32).filter(|bit| self.0 >> bit & 1 == 1).collect();
        if end == End::High {
            set.reverse();
        }
        let taken = set.get(..bits as usize)?;
        Some(Self(taken.iter().fold(0, |mask, bit| mask | 1 << bit)))
    }

    /// The bits as people count ways: `0-5`, `0-5,7`.
    pub fn ways(self) -> String {
        let set: Vec<u32> = (0..32).filter(|bit| self.0 >> bit & 1 == 1).collect();
        waykeeper_platform::format_cpulist(&set)
    }

    /// The bits with what they are: `way 7`, `ways 0-5`.
    pub fn named(self, what: &str) -> String {
        format!("{what}{} {}", if self.count() == 1 { "" } else { "s" }, self.ways())
    }

    /// A picture, the highest of `bits` bits first: `######......`.
    pub fn picture(self, bits: u32) -> String {
        (0..bits).rev().map(|bit| if self.0 >> bit & 1 == 1 { '#' } else { '.' }).collect()
    }
}

impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::LowerHex for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

impl Serialize for Mask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_from_both_ends() {
        // 1110 0110: runs of two at 1 and of three at 5.
        let mask = Mask(0b1110_0110);
        assert_eq!(mask.runs(), [ContiguousBits { low: 1, bits: 2 }, ContiguousBits { low: 5, bits: 3 }]);
        assert_eq!(mask.longest_run(), Mask(0b1110_0000));
        assert_eq!(mask.take(2, End::Low), Some(Mask(0b110)));
        assert_eq!(mask.take(2, End::High), Some(Mask(0b1100_0000)));
        assert_eq!(mask.take(3, End::Low), Some(Mask(0b1110_0000)));
        assert_eq!(mask.take(4, End::Low), None);
        assert_eq!(mask.take_any(4, End::Low), Some(Mask(0b0110_0110)));
        assert_eq!(mask.take_any(6, End::High), None);
    }

    #[test]
    fn the_edges_of_a_word_are_ordinary() {
        assert_eq!(Mask::full(0), Mask(0));
        assert_eq!(Mask::full(32), Mask(u32::MAX));
        assert_eq!(Mask(u32::MAX).runs(), [ContiguousBits { low: 0, bits: 32 }]);
        assert_eq!(Mask(1 << 31).take(1, End::High), Some(Mask(1 << 31)));
        assert!(Mask(0).is_contiguous() && Mask(0).runs().is_empty());
    }

    #[test]
    fn a_mask_is_written_for_people() {
        let mask = Mask(0xfc0);
        assert_eq!((mask.to_string().as_str(), mask.ways().as_str()), ("0xfc0", "6-11"));
        assert_eq!(mask.picture(12), "######......");
    }
}
