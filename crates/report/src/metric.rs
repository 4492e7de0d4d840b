//! The figure of a case that an experiment is about.

use waykeeper_experiment::layout::{CaseMetric, CaseUnit};

use crate::figure::{ratio, three_digits, time};

/// A figure as a table shows it.
pub fn figure(metric: CaseMetric, value: Option<f64>) -> String {
    match metric.unit() {
        CaseUnit::Time => time(value),
        CaseUnit::Ratio => ratio(value),
        // One unit throughout, so that a column can be read down.
        CaseUnit::Bandwidth => value.map(|value| format!("{:.0} MB/s", value / 1e6)).unwrap_or_default(),
        CaseUnit::Count => value.map(three_digits).unwrap_or_default(),
    }
}
