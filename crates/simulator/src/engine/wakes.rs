//! When programs act next.

use crate::time::Ps;

/// Times that are compared at once.
const TOGETHER: usize = 4;

/// When each program acts next, and the first of these times.
#[derive(Debug, Clone)]
pub struct Wakes {
    /// By program, and nobody up to a multiple of [`TOGETHER`].
    times: Vec<Ps>,
    first: Ps,
}

impl Wakes {
    /// These times, by program.
    pub fn new(times: impl Iterator<Item = Ps>) -> Self {
        let mut times: Vec<Ps> = times.collect();
        times.resize(times.len().next_multiple_of(TOGETHER), Ps::NEVER);
        let mut wakes = Self { times, first: Ps::NEVER };
        wakes.first = wakes.earliest();
        wakes
    }

    /// When the first of them acts.
    #[inline(always)]
    pub fn first(&self) -> Ps {
        self.first
    }

    /// A program acts at another time from now on.
    #[inline]
    pub fn change(&mut self, program: usize, at: Ps) {
        let before = std::mem::replace(&mut self.times[program], at);
        if at <= self.first {
            self.first = at;
        } else if before == self.first {
            self.first = self.earliest();
        }
    }

    /// A program acts at this time, which is not later than the one before.
    #[inline(always)]
    pub fn bring_forward(&mut self, program: usize, at: Ps) {
        debug_assert!(at <= self.times[program]);
        self.times[program] = at;
        self.first = self.first.min(at);
    }

    /// The program that acts first (the one with the lowest number, if there are several), which has to know when it acts
    /// again, and when one of the others acts; there is one that acts at some time.
    #[inline(always)]
    pub fn take_first(&mut self) -> (usize, Ps) {
        let program = self.times.iter().position(|at| *at == self.first).expect("somebody acts first");
        self.times[program] = Ps::NEVER;
        self.first = self.earliest();
        (program, self.first)
    }

    #[inline(always)]
    fn earliest(&self) -> Ps {
        let (together, _) = self.times.as_chunks::<TOGETHER>();
        together.iter().fold(Ps::NEVER, |first, [a, b, c, d]| first.min((*a).min(*b).min((*c).min(*d))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_known_whatever_changes() {
        let mut wakes = Wakes::new([30, 10, 20, 10].map(Ps::new).into_iter().chain([Ps::NEVER]));
        assert_eq!((wakes.first(), wakes.take_first()), (Ps::new(10), (1, Ps::new(10))));
        wakes.bring_forward(1, Ps::new(40));
        assert_eq!((wakes.take_first(), wakes.first()), ((3, Ps::new(20)), Ps::new(20)));
        wakes.bring_forward(3, Ps::new(15));
        wakes.bring_forward(4, Ps::new(12));
        assert_eq!(wakes.first(), Ps::new(12));
        wakes.change(4, Ps::new(50));
        assert_eq!(
            (wakes.take_first(), wakes.take_first(), wakes.take_first()),
            ((3, Ps::new(20)), (2, Ps::new(30)), (0, Ps::new(40)))
        );
        assert_eq!(
            (wakes.take_first(), wakes.take_first(), wakes.first()),
            ((1, Ps::new(50)), (4, Ps::NEVER), Ps::NEVER)
        );
    }
}
