//! Intel's own measurements, with the masks that they used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::Slip;

/// A machine that Intel measured under load.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredMachine {
    /// The processor.
    pub sku: String,
    /// The board.
    pub board: String,
    /// Its cores.
    pub cores: u32,
    /// Its last-level cache in MiB.
    pub llc_mib: u32,
    /// Its memory.
    pub memory: String,
    /// The kernel.
    pub kernel: String,
    /// The cores of the measured workload and its interrupts.
    pub real_time_cores: Vec<u32>,
    /// The section of the guide.
    pub section: String,
    /// What the guide prints otherwise in the configuration.
    pub slip: Option<Slip>,
    /// The masks that were set.
    pub masks: Vec<Masks>,
    /// What was measured.
    pub results: Vec<GuideResult>,
}

/// The masks of a cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Masks {
    /// The cache's level.
    pub level: u8,
    /// Class 1, of the measured workload.
    pub real_time: u32,
    /// Class 0, of everything else.
    pub others: u32,
}

/// The test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Real-time compute performance: from a packet of a sensor to one of an actuator, with a computation between.
    Rtcp,
    /// cyclictest: how late a thread wakes up.
    Cyclictest,
}

/// A row of results.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuideResult {
    /// The test.
    pub test: Test,
    /// How packets reach the program.
    pub driver: Option<String>,
    /// The network controller.
    pub ethernet: Option<String>,
    /// The period in microseconds.
    pub period_us: u32,
    /// Thousands of instructions in a cycle's computation.
    pub thousand_instructions: Option<u32>,
    /// Whether firmware was in TCC Mode.
    pub tcc_mode: bool,
    /// Mean in microseconds.
    pub average_us: Option<f64>,
    /// Maximum in microseconds.
    pub maximum_us: Option<f64>,
    /// Maximum minus minimum in microseconds.
    pub jitter_us: Option<f64>,
    /// Millions of cycles that the maximum is of.
    pub million_cycles: Option<u32>,
    /// What the guide prints otherwise, or what in it cannot be.
    pub slip: Option<Slip>,
}

impl GuideResult {
    /// The minimum in microseconds: maximum minus jitter, where the guide has both.
    pub fn minimum_us(&self) -> Option<f64> {
        Some(self.maximum_us? - self.jitter_us?)
    }
}
