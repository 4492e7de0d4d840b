//! `waykeeper compare`.

use std::path::Path;

use waykeeper_experiment::folder;
use waykeeper_report::Side;

use super::output::print;
use crate::arguments::Compare;
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints two runs side by side.
pub fn compare(arguments: &Compare) -> Result<Exit, Failure> {
    let (a, b) = (folder::read(&arguments.a)?, folder::read(&arguments.b)?);
    let side = |path: &Path, run| Side { name: path.display().to_string(), run, workloads: folder::workloads(path) };
    print(&waykeeper_report::compare([&side(&arguments.a, &a), &side(&arguments.b, &b)]))?;
    Ok(Exit::Done)
}
