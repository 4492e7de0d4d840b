//! Lines that memory owes, where no filter on the way knows them.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use crate::tags::Line;

/// Lines under way: at most a few hundred.
#[derive(Debug, Clone)]
pub struct UnderWay(HashSet<Line, BuildHasherDefault<Spread>>);

impl UnderWay {
    /// Nothing is under way.
    pub fn new() -> Self {
        Self(HashSet::default())
    }

    /// Whether a line is under way.
    #[inline]
    pub fn contains(&self, line: Line) -> bool {
        self.0.contains(&line)
    }

    /// A line has been asked for.
    #[inline]
    pub fn add(&mut self, line: Line) {
        let new = self.0.insert(line);
        debug_assert!(new, "line {line:#x} is asked for twice");
    }

    /// A line has come; it may be one that a filter knew.
    #[inline]
    pub fn remove(&mut self, line: Line) {
        self.0.remove(&line);
    }

    /// Bytes of memory that this takes: a line and a mark for each place.
    pub fn bytes(&self) -> usize {
        self.0.capacity() * (size_of::<Line>() + 1)
    }
}

/// A hash of one number. Nobody chooses lines to make them collide, and lines that are a large power of two apart are usual:
/// the golden ratio's bits spread them over the upper half of the product.
#[derive(Debug, Clone, Copy, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        let product = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_under_way_until_it_has_come() {
        let mut under_way = UnderWay::new();
        (0..1000).for_each(|i| under_way.add(i * 2048));
        under_way.remove(2048);
        under_way.remove(5);
        let there: Vec<_> = [0, 2048, 4096, 5].into_iter().map(|line| under_way.contains(line)).collect();
        assert_eq!(there, [true, false, true, false]);
    }
}
