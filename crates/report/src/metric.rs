//! The figure of a case that an experiment is about.

use waykeeper_experiment::layout::Metric;

use crate::figure::{ratio, three_digits, time};

/// A figure as a table shows it.
pub fn figure(metric: Metric, value: Option<f64>) -> String {
    match metric {
        Metric::Latency | Metric::Mean | Metric::Min | Metric::P50 | Metric::P99 | Metric::Max | Metric::Jitter => {
            time(value)
        }
        Metric::Slowdown | Metric::Cost => ratio(value),
        // One unit throughout, so that a column can be read down.
        Metric::Bandwidth | Metric::TotalBandwidth => {
            value.map(|value| format!("{:.0} MB/s", value / 1e6)).unwrap_or_default()
        }
        Metric::Misses => value.map(three_digits).unwrap_or_default(),
    }
}
