//! The catalogue: what Intel's guide to Time Coordinated Compute (TCC) says of its processors, as data with its section.
//!
//! The files are `catalogue/*.toml`. They hold facts and figures; where the guide prints something else, a
//! [`Slip`] says what, what is right and why.

mod firmware;
mod measurement;
mod processor;
mod search;
mod speed_shift;

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_shelf::{Folder, files};

use crate::explain::read;

pub use firmware::{Firmware, Pin, Setting, TimedGpio};
pub use measurement::{GuideResult, Masks, MeasuredMachine, Test};
pub use processor::{CapacityMask, Processor};
pub use search::{Entry, SkuMatch};
pub use speed_shift::{Reliability, SpeedShift, SpeedShiftRegister};

/// What the guide prints otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slip {
    /// What it prints.
    pub prints: String,
    /// What is right, and what the row has.
    pub right: String,
    /// Why.
    pub why: String,
}

/// A slip of the guide's text that belongs to no row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextSlip {
    /// The section.
    pub section: String,
    /// The slip.
    pub slip: Slip,
}

/// The whole catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// The document.
    pub document: String,
    /// Its sections that rows cite.
    pub sections: Vec<String>,
    /// Slips that belong to no row.
    pub text_slips: Vec<TextSlip>,
    /// Processors with TCC (appendix A).
    pub processors: Vec<Processor>,
    /// Capacity masks of the last-level cache (appendix D).
    pub masks: Vec<CapacityMask>,
    /// Settings of firmware (appendix B).
    pub firmware: Vec<Firmware>,
    /// Pins of timed GPIO (appendix C).
    pub timed_gpio: Vec<TimedGpio>,
    /// Measurements under load (chapter 4.3).
    pub measurements: Vec<MeasuredMachine>,
    /// Which cores may be raised to what (chapter 5.3.3).
    pub speed_shift: Vec<SpeedShift>,
    /// Registers of its example.
    pub speed_shift_registers: Vec<SpeedShiftRegister>,
    /// What it costs in reliability.
    pub reliability: Vec<Reliability>,
}

/// The catalogue.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
        // The files have different keys; together they are one table.
        let mut all = toml::Table::new();
        for file in files(Folder::Catalogue) {
            all.extend(file.text.parse::<toml::Table>().expect("a test reads every file of the catalogue"));
        }
        read(&toml::Value::Table(all)).expect("a test reads every file of the catalogue")
    });
    &CATALOGUE
}

/// The JSON Schema of the whole catalogue.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Catalogue)
}
