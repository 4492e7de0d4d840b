//! Processors with TCC, and the masks of their last-level caches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::Slip;

/// A processor with TCC.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Its number, such as `i7-13800HRE`.
    pub sku: String,
    /// `Core`, `Xeon` or `Atom`.
    pub family: String,
    /// Its series.
    pub series: String,
    /// Its code name.
    pub code_name: String,
    /// The condition of use that it is made for.
    pub r#use: String,
    /// Cores of all kinds.
    pub cores: u32,
    /// Efficiency cores among them, on hybrid parts.
    pub efficiency_cores: Option<u32>,
    /// Thermal design power in watts, where the guide says it.
    pub tdp_w: Option<f64>,
    /// Whether it is made for functional safety, where the guide says it.
    pub functional_safety: Option<bool>,
    /// The section of the guide.
    pub section: String,
    /// What the guide prints otherwise.
    pub slip: Option<Slip>,
}

/// The capacity mask of a processor's last-level cache.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapacityMask {
    /// The processor.
    pub sku: String,
    /// The cache's level.
    pub level: u8,
    /// Classes.
    pub classes: u32,
    /// Length of the mask in bits.
    pub bits: u32,
    /// The mask with every bit set.
    pub mask: u32,
    /// The section of the guide.
    pub section: String,
    /// What the guide prints otherwise.
    pub slip: Option<Slip>,
}
