//! The fast path beside the full one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often the target's core read a line from memory, in full for a short time and on the fast path for all of a repeat:
/// what makes a sample of a loop long.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FastCheck {
    /// Time that was simulated in full, seconds.
    pub full_s: f64,
    /// Lines a second, in full.
    pub full_reads_per_s: f64,
    /// Lines a second on the fast path.
    pub fast_reads_per_s: f64,
    /// The standard error of their difference, from the spread of the full path over its parts.
    pub standard_error_per_s: f64,
}

/// Differences of so many standard errors are no chance.
const BEYOND_CHANCE: f64 = 3.0;

/// Smaller differences, as a share, are not worth a word.
const NOTABLE: f64 = 0.1;

impl FastCheck {
    /// From lines in each of some equally long parts in full, `full_s` seconds together, and lines in `fast_s` on the fast
    /// path; none where nothing was read in full, or there are fewer than two parts.
    pub fn new(full: &[u64], full_s: f64, fast: u64, fast_s: f64) -> Option<Self> {
        let parts = full.len() as f64;
        let reads = full.iter().sum::<u64>() as f64;
        if parts < 2.0 || reads == 0.0 || full_s <= 0.0 || fast_s <= 0.0 {
            return None;
        }
        let mean = reads / parts;
        let variance = full.iter().map(|reads| (*reads as f64 - mean).powi(2)).sum::<f64>() / (parts - 1.0);
        // The fast path is as uneven, over its own time.
        let standard_error = (variance / parts * (1.0 + full_s / fast_s)).sqrt() * parts / full_s;
        Some(Self {
            full_s,
            full_reads_per_s: reads / full_s,
            fast_reads_per_s: fast as f64 / fast_s,
            standard_error_per_s: standard_error,
        })
    }

    /// The fast path's figure over the full one's.
    pub fn ratio(&self) -> f64 {
        self.fast_reads_per_s / self.full_reads_per_s
    }

    /// The standard error of that ratio.
    pub fn standard_error(&self) -> f64 {
        self.standard_error_per_s / self.full_reads_per_s
    }

    /// Whether they differ by more than chance does, and by enough for a word.
    pub fn is_off(&self) -> bool {
        let difference = (self.ratio() - 1.0).abs();
        difference > NOTABLE && difference > BEYOND_CHANCE * self.standard_error()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rates_and_their_error_is_that_of_a_mean() {
        // Four parts of 1 s: 8, 12, 10, 10: a variance of 8/3, so an error of the mean of sqrt(2/3).
        let check = FastCheck::new(&[8, 12, 10, 10], 4.0, 1300, 100.0).unwrap();
        assert_eq!((check.full_reads_per_s, check.fast_reads_per_s, check.ratio()), (10.0, 13.0, 1.3));
        let expected = (2.0 / 3.0 * 1.04_f64).sqrt();
        assert!((check.standard_error_per_s - expected).abs() < 1e-12, "{check:?}");
        assert!(check.is_off());
        assert!(!FastCheck::new(&[8, 12, 10, 10], 4.0, 1090, 100.0).unwrap().is_off(), "less than a tenth");
        assert!(!FastCheck::new(&[0, 30, 10, 0], 4.0, 1300, 100.0).unwrap().is_off(), "chance");
        assert_eq!(FastCheck::new(&[0, 0], 1.0, 5, 1.0), None);
        assert_eq!(FastCheck::new(&[5], 1.0, 5, 1.0), None);
    }
}
