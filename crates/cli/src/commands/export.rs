//! `waykeeper export`.

use waykeeper_experiment::InputError;
use waykeeper_export::{NotExported, csv, junit::junit, openmetrics::openmetrics, perfetto::perfetto};
use waykeeper_run::{Run, folder};

use super::name_of;
use super::output::print_file;
use super::whole_file;
use crate::arguments::{Export, ExportFormat, ExportTable};
use crate::exit::Exit;
use crate::failure::Failure;

/// Writes a run in another program's format.
pub fn export(arguments: &Export) -> Result<Exit, Failure> {
    if let Some(table) = arguments.table.filter(|_| arguments.format != ExportFormat::Csv) {
        let found = format!("--table {}", name_of(&table));
        return Err(
            InputError::in_option(found, "only CSV has tables; expected `--format csv`, or no `--table`").into()
        );
    }
    arguments.out.as_deref().map_or(Ok(()), whole_file::check_no_toml)?;
    let run = folder::read(&arguments.run)?;
    let bytes = match arguments.format {
        ExportFormat::Csv => table(arguments, &run)?,
        ExportFormat::Openmetrics => refused(arguments, openmetrics(&run))?.into_bytes(),
        ExportFormat::Junit => refused(arguments, junit(&run))?,
        ExportFormat::Perfetto => {
            let trace = refused(arguments, perfetto(&run))?;
            format!("{trace}\n").into_bytes()
        }
    };
    match &arguments.out {
        Some(out) => whole_file::write(out, "export", &bytes)?,
        None => print_file(&bytes)?,
    }
    Ok(Exit::Done)
}

fn table(arguments: &Export, run: &Run) -> Result<Vec<u8>, Failure> {
    let table = match arguments.table.unwrap_or(ExportTable::Cases) {
        ExportTable::Cases => csv::cases(run),
        ExportTable::Repeats => csv::repeats(run),
        ExportTable::Histograms => csv::histograms(run, &folder::read_samples(&arguments.run, run)?),
        ExportTable::Timelines => csv::timelines(run),
    };
    refused(arguments, table)
}

fn refused<T>(arguments: &Export, made: Result<T, NotExported>) -> Result<T, Failure> {
    made.map_err(|why| InputError::in_file(&arguments.run.display().to_string(), why.to_string()).into())
}
