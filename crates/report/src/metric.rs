//! The figure of a case that an experiment is about.

use waykeeper_experiment::layout::CaseMetric;

use crate::figure::{ratio, three_digits, time};

/// A figure as a table shows it.
pub fn figure(metric: CaseMetric, value: Option<f64>) -> String {
    match metric {
        CaseMetric::Latency
        | CaseMetric::Mean
        | CaseMetric::Min
        | CaseMetric::P50
        | CaseMetric::P99
        | CaseMetric::Max
        | CaseMetric::Jitter => time(value),
        CaseMetric::Slowdown | CaseMetric::Cost => ratio(value),
        // One unit throughout, so that a column can be read down.
        CaseMetric::Bandwidth | CaseMetric::TotalBandwidth => {
            value.map(|value| format!("{:.0} MB/s", value / 1e6)).unwrap_or_default()
        }
        CaseMetric::Misses => value.map(three_digits).unwrap_or_default(),
    }
}
