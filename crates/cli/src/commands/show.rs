//! `waykeeper show`.

use waykeeper_report::Detail;
use waykeeper_run::folder;

use super::output::{print, print_json};
use crate::arguments::Show;
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints a run that was kept.
pub fn show(arguments: &Show) -> Result<Exit, Failure> {
    let run = folder::read(&arguments.run)?;
    if arguments.json {
        print_json(&run)?;
    } else if arguments.parameters {
        print(&waykeeper_report::parameters(&run))?;
    } else {
        let detail = if arguments.cases { Detail::EveryCase } else { Detail::Ordinary };
        print(&waykeeper_report::run(&run, detail))?;
    }
    Ok(Exit::Done)
}
