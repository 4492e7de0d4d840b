//! `waykeeper compare`.

use waykeeper_experiment::folder;

use super::output::print;
use crate::arguments::Compare;
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints two runs side by side.
pub fn compare(arguments: &Compare) -> Result<Exit, Failure> {
    let (a, b) = (folder::read(&arguments.a)?, folder::read(&arguments.b)?);
    let names = [arguments.a.display().to_string(), arguments.b.display().to_string()];
    print(&waykeeper_report::compare([&names[0], &names[1]], [&a, &b]))?;
    Ok(Exit::Done)
}
