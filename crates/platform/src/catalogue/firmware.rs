//! Settings of firmware, and pins.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::Slip;

/// What TCC Mode sets in Intel's reference firmware of a platform.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Firmware {
    /// The platform.
    pub platform: String,
    /// The code names of its processors.
    pub code_names: Vec<String>,
    /// The section of the guide.
    pub section: String,
    /// The settings.
    pub settings: Vec<Setting>,
    /// What the guide prints otherwise.
    pub slip: Option<Slip>,
}

/// A setting of firmware.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The menu in Intel's reference firmware; vendors name it otherwise.
    pub menu: String,
    /// The option.
    pub option: String,
    /// What TCC Mode sets it to.
    pub value: String,
    /// Whether every PCI Express root port has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each_port: bool,
    /// Whether only firmware with TCC enhancements has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_tcc_menu: bool,
}

/// The pins of timed GPIO of a platform.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimedGpio {
    /// The platform.
    pub platform: String,
    /// The code names of its processors.
    pub code_names: Vec<String>,
    /// The section of the guide.
    pub section: String,
    /// The pins.
    pub pins: Vec<Pin>,
    /// What the guide prints otherwise.
    pub slip: Option<Slip>,
}

/// A pin of timed GPIO.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Its number as timed GPIO.
    pub number: u32,
    /// Its name on Intel's reference board.
    pub name: String,
    /// Its ball on the package, where the guide says it.
    pub ball: Option<String>,
}
