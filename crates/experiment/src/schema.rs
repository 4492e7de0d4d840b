//! The JSON Schemas of the files that are written by hand, for editors and checkers.

use schemars::{Schema, schema_for};

/// Of an experiment file.
pub fn experiment() -> Schema {
    schema_for!(crate::describe::Experiment)
}

/// Of a platform file.
pub fn platform() -> Schema {
    schema_for!(waykeeper_platform::Platform)
}

/// Of a workload file.
pub fn workload() -> Schema {
    schema_for!(waykeeper_workload::Workload)
}
