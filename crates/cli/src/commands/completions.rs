//! `waykeeper completions` and `waykeeper man-pages`: what a package installs beside the program, from the arguments themselves.

use std::io;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use super::output::print;
use crate::arguments::{Arguments, CompletionShell, Completions, ManPages};
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints the completions of a shell.
pub fn completions(arguments: &Completions) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    let shell = match arguments.shell {
        CompletionShell::Bash => Shell::Bash,
        CompletionShell::Zsh => Shell::Zsh,
        CompletionShell::Fish => Shell::Fish,
    };
    generate(shell, &mut Arguments::command(), "waykeeper", &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

/// Writes a page for the program and each of its commands.
pub fn man_pages(arguments: &ManPages) -> Result<Exit, Failure> {
    let folder = arguments.folder.as_path();
    write_pages(folder)
        .map_err(|error| Failure::Bad(format!("{}: the pages cannot be written: {error}", folder.display())))?;
    Ok(Exit::Done)
}

fn write_pages(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Arguments::command(), folder)
}
