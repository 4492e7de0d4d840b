//! What the target's latency was, look by look.

use std::collections::VecDeque;

use super::Look;

/// As many looks as a wide terminal has columns.
const KEPT: usize = 400;

/// The target's figures of the last looks, the oldest first, and the extremes of all.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Mean and maximum of each look that had samples, nanoseconds.
    kept: VecDeque<(f64, f64)>,
    /// The longest sample since the view began.
    pub max_ns: Option<f64>,
    /// Samples since the view began.
    pub samples: u64,
}

impl History {
    /// Takes a look in.
    pub fn add(&mut self, look: &Look) {
        let Some(target) = &look.target else { return };
        self.samples += target.samples;
        let (Some(mean), Some(max)) = (target.mean_ns, target.max_ns) else { return };
        self.max_ns = Some(self.max_ns.map_or(max, |seen| seen.max(max)));
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((mean, max));
    }

    /// The last `most` means, in whole nanoseconds.
    pub fn means(&self, most: usize) -> Vec<u64> {
        self.last(most, |(mean, _)| *mean)
    }

    /// The last `most` maxima, in whole nanoseconds.
    pub fn maxima(&self, most: usize) -> Vec<u64> {
        self.last(most, |(_, max)| *max)
    }

    fn last(&self, most: usize, which: fn(&(f64, f64)) -> f64) -> Vec<u64> {
        let skipped = self.kept.len().saturating_sub(most);
        self.kept.iter().skip(skipped).map(|pair| which(pair).round() as u64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::TargetLook;
    use super::*;

    fn look(mean: f64, max: f64) -> Look {
        let target = TargetLook { samples: 10, mean_ns: Some(mean), max_ns: Some(max), ..TargetLook::default() };
        Look { target: Some(target), ..Look::default() }
    }

    #[test]
    fn the_longest_of_all_looks_stays() {
        let mut history = History::default();
        for (mean, max) in [(10.0, 80.0), (20.0, 900.0), (30.0, 70.0)] {
            history.add(&look(mean, max));
        }
        history.add(&Look::default());
        assert_eq!((history.max_ns, history.samples), (Some(900.0), 30));
        assert_eq!(history.means(2), [20, 30]);
        assert_eq!(history.maxima(10), [80, 900, 70]);
    }
}
