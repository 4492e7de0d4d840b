//! Which percentiles a number of samples supports.

/// A percentile is supported if at least this many samples are expected above it. With 10, their count has a relative
/// standard deviation of 1/sqrt(10), about a third; with fewer, the percentile is little else than the maximum.
pub const EXPECTED_ABOVE: f64 = 10.0;

/// The fewest samples that support the percentile `quantile` (0.999 for p99.9): 20 for p50, 1000 for p99, 10000 for
/// p99.9, 100000 for p99.99.
pub fn samples_to_support(quantile: f64) -> u64 {
    // 1 - 0.9999 is a little off 0.0001, which must not cost a sample.
    let rounding = 1.0 - 1e-9;
    (EXPECTED_ABOVE / (1.0 - quantile) * rounding).ceil() as u64
}

/// Whether `samples` support the percentile `quantile`; one that they do not support is not printed.
pub fn supports(samples: u64, quantile: f64) -> bool {
    samples >= samples_to_support(quantile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_samples_are_expected_above_a_supported_percentile() {
        // 10 / (1 - q), by hand.
        for (quantile, fewest) in [(0.5, 20), (0.99, 1_000), (0.999, 10_000), (0.9999, 100_000), (0.99999, 1_000_000)] {
            assert!(supports(fewest, quantile), "{quantile}");
            assert!(!supports(fewest - 1, quantile), "{quantile}");
        }
    }
}
