//! `waykeeper markers`.

use waykeeper_markers::SOURCES;

use super::output::print;
use crate::arguments::{MarkerLanguage, Markers};
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints the file that a program's source includes.
pub fn markers(arguments: &Markers) -> Result<Exit, Failure> {
    let language = match arguments.language {
        MarkerLanguage::C => "c",
        MarkerLanguage::Rust => "rust",
        MarkerLanguage::Python => "python",
    };
    let source = SOURCES.iter().find(|source| source.language == language).expect("a file for each language");
    print(source.text)?;
    Ok(Exit::Done)
}
