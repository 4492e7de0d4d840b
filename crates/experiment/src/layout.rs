//! What the tables of an experiment show.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What the tables show: the figure that the experiment is about, and how a grid of sweeps becomes rows and columns.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableLayout {
    /// The figure in its cells.
    #[serde(default)]
    pub metric: CaseMetric,
    /// The sweep whose points are the rows; the last one where absent.
    pub rows: Option<String>,
    /// The sweep whose points are the columns, or `mitigation`, which it is where absent.
    pub columns: Option<String>,
    /// Whether the shape of each distribution is drawn, on one axis for all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shape: bool,
    /// Whether the target's share of the last shared cache is followed over time (simulator only).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub occupancy: bool,
}

/// A figure of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Metric")]
pub enum CaseMetric {
    /// Latency: the whole table of its statistics; its mean, where there is room for one figure.
    #[default]
    Latency,
    /// Smallest sample.
    Min,
    /// Mean of the samples.
    Mean,
    /// Median.
    P50,
    /// 99th percentile.
    P99,
    /// Largest sample.
    Max,
    /// Largest minus smallest sample.
    Jitter,
    /// Mean over the mean without neighbours under the same mitigation; for throughput, the bandwidths' ratio.
    Slowdown,
    /// The mitigation's own cost without neighbours: its mean over the unmitigated one; for throughput, the bandwidths'
    /// ratio.
    Cost,
    /// Bytes a second of the target.
    Bandwidth,
    /// Bytes a second of the target and its neighbours together.
    TotalBandwidth,
    /// Lines that the target reads from memory in a sample.
    Misses,
}

/// What a figure of a case counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseUnit {
    /// Nanoseconds.
    Time,
    /// A ratio.
    Ratio,
    /// Bytes a second.
    Bandwidth,
    /// Events in a sample.
    Count,
}

impl CaseMetric {
    /// What it counts.
    pub fn unit(self) -> CaseUnit {
        match self {
            Self::Latency | Self::Min | Self::Mean | Self::P50 | Self::P99 | Self::Max | Self::Jitter => CaseUnit::Time,
            Self::Slowdown | Self::Cost => CaseUnit::Ratio,
            Self::Bandwidth | Self::TotalBandwidth => CaseUnit::Bandwidth,
            Self::Misses => CaseUnit::Count,
        }
    }
}

impl fmt::Display for CaseMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Latency => "mean latency",
            Self::Min => "minimum",
            Self::Mean => "mean",
            Self::P50 => "median",
            Self::P99 => "p99",
            Self::Max => "maximum",
            Self::Jitter => "jitter",
            Self::Slowdown => "slowdown",
            Self::Cost => "cost",
            Self::Bandwidth => "bandwidth of the target",
            Self::TotalBandwidth => "bandwidth of all cores",
            Self::Misses => "misses in a sample",
        })
    }
}
