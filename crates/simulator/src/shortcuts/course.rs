//! How a neighbour's steps go through the sets of caches, and how far it can skip ahead without coming to one of some lines.

use crate::line::Line;

/// Whole steps of the outer loop that are simulated before a neighbour comes to a set of the target ...
const BEFORE: u64 = 1;

/// ... and after it has left it: what is outstanding has then come.
const AFTER: u64 = 1;

/// Steps of a skip where the target has no line yet that could be in the way.
const MOST_STEPS: u64 = 512;

/// How a neighbour's steps go through the sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// They never come to a set of the target: the colours of their memory differ.
    Apart,
    /// They pass the sets at regular distances.
    Regular(Regular),
}

/// Steps through sets at regular distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Regular {
    base: Line,
    step: u64,
    /// Sets, a power of two.
    sets: u64,
    /// Steps until the sets repeat, a power of two, and the inverse of the odd part of a step modulo that.
    period: u64,
    inverse: u64,
}

impl Regular {
    /// Steps of `step` lines from a line, seen modulo a power of two of `sets`; none if they stay in one set.
    pub fn new(base: Line, step: u64, sets: u64) -> Option<Self> {
        let even = 1 << step.trailing_zeros().min(63);
        if !sets.is_power_of_two() || even >= sets {
            return None;
        }
        let odd = step / even;
        // Newton's iteration doubles the bits that are right; 3 are from the start.
        let inverse = (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))));
        Some(Self { base, step, sets, period: sets / even, inverse })
    }

    /// The same steps seen among another number of sets.
    pub fn among(self, sets: u64) -> Option<Self> {
        Self::new(self.base, self.step, sets)
    }

    /// Steps from an iteration to the next one that comes to a line's set, 0 if this one does; none if none ever does.
    pub fn ahead(&self, iteration: u64, line: Line) -> Option<u64> {
        let at = u64::from(self.base.number()).wrapping_add(iteration.wrapping_mul(self.step));
        let apart = u64::from(line.number()).wrapping_sub(at) & (self.sets - 1);
        let even = self.sets / self.period;
        apart.is_multiple_of(even).then(|| (apart / even).wrapping_mul(self.inverse) & (self.period - 1))
    }

    /// Steps that can be skipped from an iteration on.
    pub fn free(&self, iteration: u64, lines: &[Line]) -> u64 {
        let free = lines.iter().filter_map(|line| self.ahead(iteration, *line)).map(|ahead| {
            let is_near = ahead == 0 || self.period - ahead <= AFTER;
            if is_near { 0 } else { ahead.saturating_sub(BEFORE) }
        });
        free.min().unwrap_or(MOST_STEPS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regular(base: u32, step: u64, sets: u64) -> Regular {
        Regular::new(Line::new(base), step, sets).unwrap()
    }

    #[test]
    fn steps_to_a_set_by_hand() {
        // From line 100, a line a step, 512 sets: 612 is in the set of 100.
        let walk = regular(100, 1, 512);
        let ahead = |(iteration, line)| walk.ahead(iteration, Line::new(line));
        assert_eq!([(0, 612), (0, 99), (3, 110)].map(ahead), [Some(0), Some(511), Some(7)]);
        // 3 lines a step, 16 sets: 0, 3, 6, 9, 12, 15, 2.
        assert_eq!(regular(0, 3, 16).ahead(0, Line::new(2)), Some(6));
        // 6 lines a step, 16 sets: 0, 6, 12, 2, 8, 14, 4, 10, and never an odd one.
        let walk = regular(0, 6, 16);
        let ahead = |(iteration, line)| walk.ahead(iteration, Line::new(line));
        assert_eq!([(0, 10), (8, 10), (0, 5)].map(ahead), [Some(7), Some(7), None]);
        assert_eq!(Regular::new(Line::new(0), 16, 16), None);
    }

    #[test]
    fn near_is_just_before_and_just_behind() {
        let walk = regular(0, 1, 64);
        let free = |iteration| walk.free(iteration, &[20, 40].map(Line::new));
        assert_eq!([17, 18, 19, 20, 21].map(free), [2, 1, 0, 0, 0]);
        // 22 is 18 steps before 40, one of which is simulated; 43 is 41 before the next 20.
        assert_eq!([22, 37, 43].map(free), [17, 2, 40]);
        assert_eq!(walk.free(0, &[]), MOST_STEPS);
    }
}
