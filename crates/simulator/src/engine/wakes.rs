//! When programs act next.

use crate::time::NEVER;

/// Times that are compared at once.
const TOGETHER: usize = 4;

/// When each program acts next, and the first of these times.
#[derive(Debug, Clone)]
pub struct Wakes {
    /// By program, and nobody up to a multiple of [`TOGETHER`].
    times: Vec<u64>,
    first: u64,
}

impl Wakes {
    /// These times, by program.
    pub fn new(times: impl Iterator<Item = u64>) -> Self {
        let mut times: Vec<u64> = times.collect();
        times.resize(times.len().next_multiple_of(TOGETHER), NEVER);
        let mut wakes = Self { times, first: NEVER };
        wakes.first = wakes.earliest();
        wakes
    }

    /// When the first of them acts.
    #[inline(always)]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// A program acts at another time from now on.
    #[inline]
    pub fn change(&mut self, program: usize, at: u64) {
        let before = std::mem::replace(&mut self.times[program], at);
        if at <= self.first {
            self.first = at;
        } else if before == self.first {
            self.first = self.earliest();
        }
    }

    /// A program acts at this time, which is not later than the one before.
    #[inline(always)]
    pub fn bring_forward(&mut self, program: usize, at: u64) {
        debug_assert!(at <= self.times[program]);
        self.times[program] = at;
        self.first = self.first.min(at);
    }

    /// The program that acts first (the one with the lowest number, if there are several), which is to be told when it acts
    /// again, and when one of the others acts; there is one that acts at some time.
    #[inline(always)]
    pub fn take_first(&mut self) -> (usize, u64) {
        let program = self.times.iter().position(|at| *at == self.first).expect("somebody acts first");
        self.times[program] = NEVER;
        self.first = self.earliest();
        (program, self.first)
    }

    #[inline(always)]
    fn earliest(&self) -> u64 {
        let (together, _) = self.times.as_chunks::<TOGETHER>();
        together.iter().fold(NEVER, |first, [a, b, c, d]| first.min((*a).min(*b).min((*c).min(*d))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_known_whatever_changes() {
        let mut wakes = Wakes::new([30, 10, 20, 10, NEVER].into_iter());
        assert_eq!((wakes.first(), wakes.take_first()), (10, (1, 10)));
        wakes.bring_forward(1, 40);
        assert_eq!((wakes.take_first(), wakes.first()), ((3, 20), 20));
        wakes.bring_forward(3, 15);
        wakes.bring_forward(4, 12);
        assert_eq!(wakes.first(), 12);
        wakes.change(4, 50);
        assert_eq!((wakes.take_first(), wakes.take_first(), wakes.take_first()), ((3, 20), (2, 30), (0, 40)));
        assert_eq!((wakes.take_first(), wakes.take_first(), wakes.first()), ((1, 50), (4, NEVER), NEVER));
    }
}
