//! Cores that Speed Shift (HWP) holds above the others, and what that costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::Slip;

/// How many cores of a processor may be raised, to what, while the others stay at or below their base frequency.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpeedShift {
    /// The processors.
    pub skus: Vec<String>,
    /// P-cores.
    pub performance_cores: u32,
    /// E-cores.
    pub efficiency_cores: u32,
    /// Most for the other P-cores, GHz.
    pub base_ghz: f64,
    /// P-cores that may be raised.
    pub raised_cores: u32,
    /// ... to this, GHz.
    pub raised_ghz: f64,
    /// Most for the E-cores, GHz, where the guide says it.
    pub efficiency_ghz: Option<f64>,
    /// The section of the guide.
    pub section: String,
    /// What the guide prints otherwise.
    pub slip: Option<Slip>,
}

/// A register of the guide's example.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpeedShiftRegister {
    /// The processor.
    pub sku: String,
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: u32,
    /// The cores, as a list, or `all`.
    pub cores: String,
    /// Its value in hexadecimal.
    pub value: String,
    /// The frequency that it asks for, GHz.
    pub ghz: Option<f64>,
    /// Units of the register's ratio in a GHz.
    pub ratio_per_ghz: Option<f64>,
    /// A further remark on it.
    pub note: Option<String>,
    /// The section of the guide.
    pub section: String,
}

/// Estimated failures.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reliability {
    /// The conditions.
    pub conditions: String,
    /// Junction temperature in degrees Celsius.
    pub junction_c: Option<u32>,
    /// Years of use, of each of the following.
    pub years: Vec<u32>,
    /// Failures in 10^9 hours.
    pub fit: Vec<u32>,
    /// Parts that have failed, in percent as printed.
    pub cumulative_percent: Vec<String>,
    /// The section of the guide.
    pub section: String,
}
