//! Lines that memory owes, where no filter on the way knows them.

use crate::caches::hierarchy::MOST_CORES;
use crate::line::Line;

/// Lines in flight: a table of places in which a line stands at the place of its hash, or in the first free one behind it.
#[derive(Debug, Clone)]
pub struct InFlight {
    places: Box<[Line; PLACES]>,
    count: usize,
}

/// The most lines in flight: a core waits for 64 at most.
const MOST: usize = 64 * MOST_CORES;

/// Twice as many places keep the ways from hash to line short.
const PLACES: usize = (2 * MOST).next_power_of_two();

impl InFlight {
    /// No line is in flight.
    pub fn new() -> Self {
        Self { places: Box::new([Line::EMPTY; PLACES]), count: 0 }
    }

    /// Whether a line is in flight.
    #[inline(always)]
    pub fn contains(&self, line: Line) -> bool {
        self.count > 0 && self.places[self.place(line)] == line
    }

    /// A line has been asked for.
    #[inline]
    pub fn add(&mut self, line: Line) {
        debug_assert!(!self.contains(line), "line {:#x} is asked for twice", line.number());
        assert!(self.count < MOST, "more lines are in flight than all cores wait for");
        let place = self.place(line);
        self.places[place] = line;
        self.count += 1;
    }

    /// A line has come; it may be one that a filter knew.
    #[inline]
    pub fn remove(&mut self, line: Line) {
        if self.contains(line) {
            self.count -= 1;
            self.close(self.place(line));
        }
    }

    /// The place of a line, or the free one that it would take.
    #[inline(always)]
    fn place(&self, line: Line) -> usize {
        let mut place = home(line);
        while self.places[place % PLACES] != line && self.places[place % PLACES] != Line::EMPTY {
            place += 1;
        }
        place % PLACES
    }

    /// Frees a place; lines behind it that would no longer be found move there.
    #[inline]
    fn close(&mut self, mut free: usize) {
        let mut at = free;
        loop {
            at = (at + 1) % PLACES;
            let line = self.places[at];
            if line == Line::EMPTY {
                break;
            }
            let from_home = at.wrapping_sub(home(line)) % PLACES;
            if from_home >= at.wrapping_sub(free) % PLACES {
                self.places[free] = line;
                free = at;
            }
        }
        self.places[free] = Line::EMPTY;
    }

    /// Bytes of memory that this takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.places)
    }
}

/// Lines that are a large power of two apart are usual, so their upper bits count too.
#[inline(always)]
fn home(line: Line) -> usize {
    (line.number().wrapping_mul(0x9e37_79b1) >> (u32::BITS - PLACES.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use waykeeper_workload::Xorshift;

    use super::*;

    #[test]
    fn a_line_is_in_flight_until_it_has_come() {
        let mut in_flight = InFlight::new();
        (0..1000).for_each(|i| in_flight.add(Line::new(i * 2048)));
        in_flight.remove(Line::new(2048));
        in_flight.remove(Line::new(5));
        let there: Vec<_> = [0, 2048, 4096, 5].into_iter().map(|line| in_flight.contains(Line::new(line))).collect();
        assert_eq!(there, [true, false, true, false]);
    }

    #[test]
    fn it_does_what_a_hash_set_does() {
        let (mut in_flight, mut golden, mut random) = (InFlight::new(), HashSet::new(), Xorshift::new(1));
        for turn in 0..200_000u64 {
            // Up to the most lines that can be in flight, and down to none, again and again.
            let line = Line::new((random.below(6000) << 6) as u32);
            let adds = turn / 20_000 % 2 == 0;
            match golden.contains(&line) {
                false if adds && golden.len() < MOST => {
                    in_flight.add(line);
                    golden.insert(line);
                }
                _ if !adds => {
                    in_flight.remove(line);
                    golden.remove(&line);
                }
                _ => {}
            }
            let other = Line::new((random.below(6000) << 6) as u32);
            assert_eq!(in_flight.contains(other), golden.contains(&other));
        }
        assert!((0..6000).map(|at| Line::new(at << 6)).all(|line| in_flight.contains(line) == golden.contains(&line)));
    }
}
