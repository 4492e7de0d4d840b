//! `waykeeper schema`.

use waykeeper_experiment::schema;

use super::output::print_json;
use crate::arguments::{Schema, SchemaOf};
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints the JSON Schema of a kind of file.
pub fn schema(arguments: &Schema) -> Result<Exit, Failure> {
    print_json(&match arguments.of {
        SchemaOf::Experiment => schema::experiment(),
        SchemaOf::Platform => schema::platform(),
        SchemaOf::Workload => schema::workload(),
        SchemaOf::Policy => waykeeper_policy::schema(),
        SchemaOf::Run => waykeeper_run::schema(),
        SchemaOf::Tuned => waykeeper_search::tune::schema(),
        SchemaOf::TunedByTurns => waykeeper_search::alternate::schema(),
        SchemaOf::Hunted => waykeeper_search::hunt::schema(),
        SchemaOf::Kpi => waykeeper_kpi::schema(),
        SchemaOf::Doctor => waykeeper_doctor::schema(),
        SchemaOf::Machine => waykeeper_linux::machine::Machine::json_schema(),
        SchemaOf::Channels => waykeeper_channels::schema(),
        SchemaOf::Catalogue => waykeeper_platform::catalogue::schema(),
    })?;
    Ok(Exit::Done)
}
