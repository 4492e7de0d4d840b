//! The mean of a few values, and how far it may be off.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Half the width of the t-interval (Student, Biometrika 6, 1908) for the mean of values, with one-sided limits at a confidence;
/// infinite for fewer than two.
pub fn half_width(values: &[f64], confidence: f64) -> f64 {
    if values.len() < 2 {
        return f64::INFINITY;
    }
    let freedom = values.len() as f64 - 1.0;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom;
    let quantile = StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(confidence));
    quantile * (variance / values.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::half_width;

    #[test]
    fn the_interval_is_students() {
        // 1 to 5: s = 1.5811, t(0.975, 4) = 2.7764 (tables): 2.7764 x 1.5811 / sqrt 5 = 1.9632.
        assert!((half_width(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.975) - 1.9632).abs() < 1e-3);
        assert_eq!(half_width(&[1.0], 0.975), f64::INFINITY);
    }
}
