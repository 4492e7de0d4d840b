//! Lines that memory owes, where no filter on the way knows them.

use crate::line::Line;

/// Lines under way. There are at most a few hundred, and most questions are about lines that are not among them.
#[derive(Debug, Clone)]
pub struct InFlight {
    /// How many lines under way end in these bits.
    counts: Vec<u16>,
    lines: Vec<Line>,
}

const BITS: u32 = 12;

impl InFlight {
    /// Nothing is under way.
    pub fn new() -> Self {
        Self { counts: vec![0; 1 << BITS], lines: Vec::new() }
    }

    /// Whether a line is under way.
    #[inline(always)]
    pub fn contains(&self, line: Line) -> bool {
        !self.lines.is_empty() && self.is_among(line)
    }

    #[inline(never)]
    fn is_among(&self, line: Line) -> bool {
        self.counts[at(line)] != 0 && self.lines.contains(&line)
    }

    /// A line has been asked for.
    pub fn add(&mut self, line: Line) {
        debug_assert!(!self.contains(line), "line {line:#x} is asked for twice");
        self.counts[at(line)] += 1;
        self.lines.push(line);
    }

    /// A line has come; it may be one that a filter knew.
    #[inline]
    pub fn remove(&mut self, line: Line) {
        if self.lines.is_empty() {
            return;
        }
        if let Some(found) = self.lines.iter().position(|held| *held == line) {
            self.lines.swap_remove(found);
            self.counts[at(line)] -= 1;
        }
    }

    /// Bytes of memory that this takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.counts) + size_of_val(&*self.lines)
    }
}

/// Lines that are a large power of two apart are usual, so their upper bits count too.
#[inline]
fn at(line: Line) -> usize {
    (line.wrapping_mul(0x9e37_79b1) >> (32 - BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_in_flight_until_it_has_come() {
        let mut in_flight = InFlight::new();
        (0..1000).for_each(|i| in_flight.add(i * 2048));
        in_flight.remove(2048);
        in_flight.remove(5);
        let there: Vec<_> = [0, 2048, 4096, 5].into_iter().map(|line| in_flight.contains(line)).collect();
        assert_eq!(there, [true, false, true, false]);
    }
}
