//! The figure of a case that an experiment is about.

use waykeeper_experiment::layout::Metric;
use waykeeper_experiment::mitigation::NONE;
use waykeeper_experiment::run::CaseRecord;

use crate::figure::{ratio, three_digits, time};

/// The figure of a case, where it has it.
pub fn value(case: &CaseRecord, metric: Metric) -> Option<f64> {
    match metric {
        Metric::Latency | Metric::Mean => case.mean_ns,
        Metric::Min => case.min_ns,
        Metric::P50 => case.p50_ns,
        Metric::P99 => case.p99_ns,
        Metric::Max => case.max_ns,
        Metric::Jitter => case.jitter_ns,
        Metric::Slowdown => case.slowdown,
        Metric::Cost => case.cost.or((case.mitigation == NONE).then_some(1.0)),
        Metric::Bandwidth => case.bandwidth_bytes_per_s,
        Metric::TotalBandwidth => case.total_bandwidth_bytes_per_s,
        Metric::Misses => case.misses_per_sample,
    }
}

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
