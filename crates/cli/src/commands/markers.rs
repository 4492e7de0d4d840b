//! `waykeeper markers`.

use waykeeper_markers::SOURCES;

use super::name_of;
use super::output::print;
use crate::arguments::Markers;
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints the file that a program's source includes.
pub fn markers(arguments: &Markers) -> Result<Exit, Failure> {
    let language = name_of(&arguments.language);
    let source = SOURCES.iter().find(|source| source.language == language).expect("a file for each language");
    print(source.text)?;
    Ok(Exit::Done)
}
