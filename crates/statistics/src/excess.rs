//! How much more one neighbour slows a target than another one does.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The ratio of two mean excess slowdowns, `mean(s - 1)` of `a` over that of `b`, with the limits of its interval by Fieller (*Journal of
/// the Royal Statistical Society B* 16, 1954): the values are slowdowns, paired by turn, and each limit is one-sided at `confidence`.
///
/// `None` for fewer than two turns, for as many values as the other has not, and where the excess of `b` is not shown to be above 0: its
/// ratio to anything has no bounds then.
pub fn excess_ratio(a: &[f64], b: &[f64], confidence: f64) -> Option<[f64; 3]> {
    let count = a.len();
    if count < 2 || b.len() != count {
        return None;
    }
    let freedom = count as f64 - 1.0;
    let mean = |values: &[f64]| values.iter().map(|value| value - 1.0).sum::<f64>() / count as f64;
    let (above, below) = (mean(a), mean(b));
    // The variance of a mean, or the covariance of two.
    let spread = |one: &[f64], of_one: f64, other: &[f64], of_other: f64| {
        let products = one.iter().zip(other).map(|(x, y)| (x - 1.0 - of_one) * (y - 1.0 - of_other));
        products.sum::<f64>() / freedom / count as f64
    };
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(confidence).powi(2);
    let first = below * below - t * spread(b, below, b, below);
    let middle = above * below - t * spread(a, above, b, below);
    let last = above * above - t * spread(a, above, a, above);
    let root = (middle * middle - first * last).sqrt();
    let limits = [above / below, (middle - root) / first, (middle + root) / first];
    (below > 0.0 && first > 0.0 && limits.iter().all(|limit| limit.is_finite())).then_some(limits)
}

#[cfg(test)]
mod tests {
    use super::excess_ratio;
    use crate::half_width;

    #[test]
    fn beside_a_constant_the_interval_is_students() {
        // Excesses 1 to 5 over 2: the mean 3 +- 1.9632 (t(0.975, 4) x 1.5811 / sqrt 5), halved.
        let [ratio, low, high] = excess_ratio(&[2.0, 3.0, 4.0, 5.0, 6.0], &[3.0; 5], 0.975).unwrap();
        assert!((ratio - 1.5).abs() < 1e-12);
        assert!((low - (3.0 - 1.9632) / 2.0).abs() < 1e-3 && (high - (3.0 + 1.9632) / 2.0).abs() < 1e-3);
    }

    #[test]
    fn at_a_limit_the_differences_are_just_not_told_from_zero() {
        let (a, b) = ([1.9, 2.4, 2.2, 2.0, 2.6, 2.1], [1.5, 1.6, 1.4, 1.7, 1.6, 1.45]);
        let [ratio, low, high] = excess_ratio(&a, &b, 0.975).unwrap();
        assert!(low < ratio && ratio < high);
        for limit in [low, high] {
            let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - 1.0 - limit * (b - 1.0)).collect();
            let mean = differences.iter().sum::<f64>() / 6.0;
            assert!((mean.abs() - half_width(&differences, 0.975)).abs() < 1e-9);
        }
    }

    #[test]
    fn a_ratio_to_an_excess_that_may_be_nothing_has_no_bounds() {
        assert_eq!(excess_ratio(&[2.0, 2.1, 2.2], &[1.0, 1.1, 0.9], 0.975), None);
        assert_eq!(excess_ratio(&[2.0], &[1.5], 0.975), None);
        assert_eq!(excess_ratio(&[2.0, 2.1], &[1.5], 0.975), None);
        assert_eq!(excess_ratio(&[2.0, 2.1], &[0.5, 0.6], 0.975), None);
        assert_eq!(excess_ratio(&[], &[], 0.975), None);
    }
}
