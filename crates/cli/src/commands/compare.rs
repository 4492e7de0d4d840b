//! `waykeeper compare`.

use std::borrow::Cow;
use std::path::Path;

use waykeeper_report::{BesideA, ComparedRun, RunComparison};
use waykeeper_run::folder;

use super::output::{print, print_json};
use crate::arguments::{Compare, FailOn};
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints two runs side by side, and judges them if that is wanted.
pub fn compare(arguments: &Compare) -> Result<Exit, Failure> {
    let (a, b) = (folder::read(&arguments.a)?, folder::read(&arguments.b)?);
    let side = |path: &Path, run| ComparedRun {
        name: path.display().to_string(),
        run,
        definitions: folder::definitions(path),
        least_neighbour_work: folder::least_neighbour_work(path),
        // Without them runs with different thresholds cannot be judged, which is said then.
        samples: Cow::Owned(folder::read_samples(path, run).unwrap_or_default()),
    };
    let comparison = RunComparison::new([&side(&arguments.a, &a), &side(&arguments.b, &b)]);
    match arguments.json {
        true => print_json(&comparison)?,
        false => print(&waykeeper_report::compare(&comparison))?,
    }
    Ok(arguments.fail_on.map_or(Exit::Done, |FailOn::Worse| judged(&comparison)))
}

/// Whether a case of the second run is worse. An unknown result is no success, and neither is a case that one run lacks.
fn judged(comparison: &RunComparison) -> Exit {
    let any = |outcome: BesideA| comparison.cases.iter().any(|case| case.outcome == outcome);
    let is_lacking = !comparison.only_in_a.is_empty() || comparison.cases.is_empty();
    match () {
        () if any(BesideA::Worse) => Exit::Worse,
        () if any(BesideA::CannotTell) || is_lacking => Exit::TooThin,
        () => Exit::Done,
    }
}
