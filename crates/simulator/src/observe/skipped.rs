//! Time that was skipped, as seen from the engine's own time, which stands still meanwhile.

use std::collections::VecDeque;

use crate::time::Ps;

/// Skips that are remembered: whoever looks back does not look far.
const KEPT: usize = 4096;

/// When time was skipped, and how much in all by then.
#[derive(Debug, Clone, Default)]
pub struct Skipped {
    /// Engine time of a skip, and what was skipped up to its end.
    skips: VecDeque<(Ps, Ps)>,
    /// What was skipped before those.
    before: Ps,
}

impl Skipped {
    /// At an engine time, time was skipped; it is now so much in all.
    pub fn add(&mut self, at: Ps, total: Ps) {
        if self.skips.len() == KEPT
            && let Some((_, total)) = self.skips.pop_front()
        {
            self.before = total;
        }
        self.skips.push_back((at, total));
    }

    /// An engine time on the clock that counts skipped time too. A time at which there was a skip lies after it.
    pub fn with(&self, at: Ps) -> Ps {
        let later = self.skips.partition_point(|(skip, _)| *skip <= at);
        at + later.checked_sub(1).map_or(self.before, |last| self.skips[last].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_skipped_until_then_counts() {
        let mut skipped = Skipped::default();
        assert_eq!(skipped.with(Ps::new(7)), Ps::new(7));
        skipped.add(Ps::new(100), Ps::new(1000));
        skipped.add(Ps::new(200), Ps::new(1500));
        assert_eq!([99, 100, 199, 200, 300].map(|at| skipped.with(Ps::new(at)).get()), [99, 1100, 1199, 1700, 1800]);
        // Those that are forgotten count in full.
        (1..=KEPT as u64).for_each(|skip| skipped.add(Ps::new(200 + skip), Ps::new(1500 + skip)));
        assert_eq!(skipped.with(Ps::new(150)), Ps::new(1650));
    }
}
