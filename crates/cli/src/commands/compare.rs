//! `waykeeper compare`.

use std::path::Path;

use waykeeper_report::{Comparison, Side};
use waykeeper_run::folder;

use super::output::{print, print_json};
use crate::arguments::Compare;
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints two runs side by side.
pub fn compare(arguments: &Compare) -> Result<Exit, Failure> {
    let (a, b) = (folder::read(&arguments.a)?, folder::read(&arguments.b)?);
    let side = |path: &Path, run| Side { name: path.display().to_string(), run, workloads: folder::workloads(path) };
    let comparison = Comparison::new([&side(&arguments.a, &a), &side(&arguments.b, &b)]);
    match arguments.json {
        true => print_json(&comparison)?,
        false => print(&waykeeper_report::compare(&comparison))?,
    }
    Ok(Exit::Done)
}
