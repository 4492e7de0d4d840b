//! The rank-sum test of Wilcoxon (Biometrics Bulletin 1, 1945) and of Mann & Whitney (Annals of Mathematical Statistics
//! 18, 1947): is one arm lower than the other, whatever the distribution?
//!
//! Small arms get the exact permutation distribution of the mid-ranks as they are, ties included; the usual tables hold
//! only without ties.

use super::rate::Tails;
use super::tails::normal_below;

/// Arms up to this size are compared exactly: C(50, 25) = 1.26e14 arrangements still fit a 64-bit count. Larger ones by
/// the normal approximation with corrections for ties and continuity (Lehmann, Nonparametrics, 1975, section 1.4).
pub const LARGEST_EXACT_ARM: usize = 25;

/// Compares two arms by ranks. [`Tails::NOTHING`] if an arm is empty or all values are equal.
pub fn rank_sum(first: &[f64], second: &[f64]) -> Tails {
    if first.is_empty() || second.is_empty() {
        return Tails::NOTHING;
    }
    let ranks = DoubledRanks::of(first, second);
    if first.len().max(second.len()) <= LARGEST_EXACT_ARM { ranks.exact() } else { ranks.normal() }
}

/// The smallest two-sided p-value that [`rank_sum`] can return for arms of these sizes: 2 / C(first + second, first), which
/// it returns if every value of one arm lies below every value of the other.
pub fn least_p_of_ranks(first: usize, second: usize) -> f64 {
    let chosen = first.min(second);
    let arrangements: f64 = (1..=chosen).map(|i| (first + second - chosen + i) as f64 / i as f64).product();
    (2.0 / arrangements).min(1.0)
}

/// Twice the mid-ranks of all values, so that ties stay whole numbers.
struct DoubledRanks {
    all: Vec<usize>,
    first_len: usize,
    first_sum: usize,
    /// The sum of t^3 - t over the groups of t equal values.
    ties: f64,
}

impl DoubledRanks {
    fn of(first: &[f64], second: &[f64]) -> Self {
        let mut values: Vec<(f64, bool)> =
            first.iter().map(|v| (*v, true)).chain(second.iter().map(|v| (*v, false))).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut ranks = Self { all: Vec::new(), first_len: first.len(), first_sum: 0, ties: 0.0 };
        for equal in values.chunk_by(|a, b| a.0 == b.0) {
            let before = ranks.all.len();
            let doubled = 2 * before + equal.len() + 1;
            let of_first = equal.iter().filter(|(_, is_first)| *is_first).count();
            ranks.first_sum += doubled * of_first;
            ranks.ties += (equal.len() as f64).powi(3) - equal.len() as f64;
            ranks.all.resize(before + equal.len(), doubled);
        }
        ranks
    }

    /// Counts, by dynamic programming, the ways to choose a first arm of this size for every possible sum of ranks.
    fn exact(&self) -> Tails {
        let largest: usize = self.all.iter().sum();
        let mut ways = vec![vec![0_u64; largest + 1]; self.first_len + 1];
        ways[0][0] = 1;
        let mut so_far = 0;
        for &rank in &self.all {
            so_far += rank;
            for chosen in (1..=self.first_len).rev() {
                let (fewer, more) = ways.split_at_mut(chosen);
                for sum in rank..=so_far {
                    more[0][sum] += fewer[chosen - 1][sum - rank];
                }
            }
        }
        let ways = &ways[self.first_len];
        let total = ways.iter().sum::<u64>() as f64;
        Tails {
            lower: ways[..=self.first_sum].iter().sum::<u64>() as f64 / total,
            higher: ways[self.first_sum..].iter().sum::<u64>() as f64 / total,
        }
    }

    fn normal(&self) -> Tails {
        let all = self.all.len() as f64;
        let first = self.first_len as f64;
        let second = all - first;
        let variance = first * second / 12.0 * (all + 1.0 - self.ties / (all * (all - 1.0)));
        if variance <= 0.0 {
            return Tails::NOTHING;
        }
        let above_expected = self.first_sum as f64 / 2.0 - first * (all + 1.0) / 2.0;
        let deviation = variance.sqrt();
        Tails {
            lower: normal_below((above_expected + 0.5) / deviation),
            higher: normal_below((0.5 - above_expected) / deviation),
        }
    }
}
