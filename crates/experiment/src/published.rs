//! Published figures, as an experiment file states them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::describe::{Neighbour, Target};
use crate::point::PointLabel;

/// The set-up of a publication. A case that differs from it in platform, target or neighbours carries no reference.
///
/// Where `target` is absent, target and neighbours are those of this file, before any option of the command line changed
/// them, at the same point of the sweeps.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Where the figures stand.
    pub source: String,
    /// The platform they were measured on.
    pub platform: String,
    /// How long each was measured.
    pub run_length_s: Option<f64>,
    /// How many samples each is of, where that was published in place of a time.
    pub run_samples: Option<u64>,
    /// The target, with its core as a number.
    pub target: Option<Target>,
    /// The neighbours, with their cores as numbers.
    #[serde(default)]
    pub neighbours: Vec<Neighbour>,
}

/// Published figures of one case of the published set-up.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReferenceFigures {
    /// `none`, or a mitigation as the list above names it.
    pub mitigation: String,
    /// The target's workload, where the file has several targets.
    pub target: Option<String>,
    /// The points of the sweeps that the figures belong to: `{ size = "128 MiB" }`. A sweep that is absent does not matter.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub point: BTreeMap<String, PointLabel>,
    /// Whether the neighbours ran.
    #[serde(default = "yes")]
    pub neighbours: bool,
    /// Published minimum.
    pub min_ns: Option<f64>,
    /// Published mean.
    pub mean_ns: Option<f64>,
    /// Published maximum.
    pub max_ns: Option<f64>,
    /// Published slowdown by the neighbours, under the same mitigation.
    pub slowdown: Option<f64>,
    /// Published bandwidth of the target.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Published bandwidth of the target and its neighbours together.
    pub total_bandwidth_bytes_per_s: Option<f64>,
    /// Published reads of the memory in one sample; 0 is a figure too.
    pub misses_per_sample: Option<f64>,
    /// Run length where it differs from the publication's.
    pub run_length_s: Option<f64>,
    /// Figures of this row (`min_ns`, `mean_ns`, `max_ns`) that were imposed on the model: they agree by construction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imposed: Vec<Figure>,
    /// Figures of this row that parameters of the model were fitted on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted: Vec<Figure>,
}

/// A figure of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The minimum.
    MinNs,
    /// The mean.
    MeanNs,
    /// The maximum.
    MaxNs,
    /// The slowdown.
    Slowdown,
    /// The target's bandwidth.
    BandwidthBytesPerS,
    /// All cores' bandwidth.
    TotalBandwidthBytesPerS,
    /// Misses in a sample.
    MissesPerSample,
}

impl Figure {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::MinNs,
        Self::MeanNs,
        Self::MaxNs,
        Self::Slowdown,
        Self::BandwidthBytesPerS,
        Self::TotalBandwidthBytesPerS,
        Self::MissesPerSample,
    ];

    /// Whether 0 is a figure that can be published.
    pub(crate) fn may_be_zero(self) -> bool {
        self == Self::MissesPerSample
    }

    /// Its key in a reference.
    pub fn key(self) -> &'static str {
        match self {
            Self::MinNs => "min_ns",
            Self::MeanNs => "mean_ns",
            Self::MaxNs => "max_ns",
            Self::Slowdown => "slowdown",
            Self::BandwidthBytesPerS => "bandwidth_bytes_per_s",
            Self::TotalBandwidthBytesPerS => "total_bandwidth_bytes_per_s",
            Self::MissesPerSample => "misses_per_sample",
        }
    }
}

/// Published figures.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reference {
    /// Published minimum.
    pub min_ns: Option<f64>,
    /// Published mean.
    pub mean_ns: Option<f64>,
    /// Published maximum.
    pub max_ns: Option<f64>,
    /// Published slowdown by the neighbours, under the same mitigation.
    pub slowdown: Option<f64>,
    /// Published bandwidth of the target.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Published bandwidth of the target and its neighbours together.
    pub total_bandwidth_bytes_per_s: Option<f64>,
    /// Published reads of the memory in one sample.
    pub misses_per_sample: Option<f64>,
    /// How long it was measured.
    pub run_length_s: Option<f64>,
    /// How many samples it is of, where that was published in place of a time.
    pub run_samples: Option<u64>,
    /// Where it stands.
    pub source: String,
    /// Figures that were imposed on the model: they agree by construction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imposed: Vec<String>,
    /// Figures that parameters of the model were fitted on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted: Vec<String>,
}

impl ReferenceFigures {
    /// A figure, where it was published.
    pub fn figure(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::MinNs => self.min_ns,
            Figure::MeanNs => self.mean_ns,
            Figure::MaxNs => self.max_ns,
            Figure::Slowdown => self.slowdown,
            Figure::BandwidthBytesPerS => self.bandwidth_bytes_per_s,
            Figure::TotalBandwidthBytesPerS => self.total_bandwidth_bytes_per_s,
            Figure::MissesPerSample => self.misses_per_sample,
        }
    }
}

fn yes() -> bool {
    true
}
