//! Time that was skipped, as seen from the engine's own time, which stands still meanwhile.

use std::collections::VecDeque;

/// Skips that are remembered: whoever looks back does not look far.
const KEPT: usize = 4096;

/// When time was skipped, and how much in all by then. Times are picoseconds.
#[derive(Debug, Clone, Default)]
pub struct Skipped {
    /// Engine time of a skip, and what was skipped up to its end.
    skips: VecDeque<(u64, u64)>,
    /// What was skipped before those.
    before: u64,
}

impl Skipped {
    /// At an engine time, time was skipped; it is now so much in all.
    pub fn add(&mut self, at: u64, total: u64) {
        if self.skips.len() == KEPT
            && let Some((_, total)) = self.skips.pop_front()
        {
            self.before = total;
        }
        self.skips.push_back((at, total));
    }

    /// An engine time on the clock that counts skipped time too. A time at which there was a skip lies after it.
    pub fn with(&self, at: u64) -> u64 {
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
        assert_eq!(skipped.with(7), 7);
        skipped.add(100, 1000);
        skipped.add(200, 1500);
        assert_eq!([99, 100, 199, 200, 300].map(|at| skipped.with(at)), [99, 1100, 1199, 1700, 1800]);
        // Those that are forgotten count in full.
        (1..=KEPT as u64).for_each(|skip| skipped.add(200 + skip, 1500 + skip));
        assert_eq!(skipped.with(150), 1650);
    }
}
