//! Writing to standard output, where a reader may have gone away.

use std::borrow::Cow;
use std::io::{ErrorKind, Write};

use serde::Serialize;
use waykeeper_report::shown;

use crate::failure::Failure;

/// Prints a text. A pipe that was closed by its reader (`| head`) is not a failure.
///
/// What comes from files and machines may be in it: control characters other than line breaks and tabs are shown as escapes.
pub fn print(text: &str) -> Result<(), Failure> {
    print_while_read(text).map(drop)
}

/// Prints a text of TOML, which has escapes of its own.
pub fn print_toml(text: &str) -> Result<(), Failure> {
    write(&shown::toml(text)).map(drop)
}

/// Says something beside the output, on standard error: one line, with control characters as escapes.
pub fn say(kind: Kind, text: &str) {
    let text = shown::one_line(text);
    match kind {
        Kind::Error => anstream::eprintln!("\x1b[1;31merror:\x1b[0m {text}"),
        Kind::Note => anstream::eprintln!("\x1b[1;33mnote:\x1b[0m {text}"),
        Kind::Plain => anstream::eprintln!("{text}"),
    }
}

/// What is said beside the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Why there is no result.
    Error,
    /// What a reader of the result must know.
    Note,
    /// What goes on.
    Plain,
}

/// The same, for what goes on and on: false where the reader has gone away.
pub fn print_while_read(text: &str) -> Result<bool, Failure> {
    write(&shown::lines(text))
}

/// Prints a value as one line of JSON, which has escapes of its own; false where the reader has gone away.
pub fn print_json_line_while_read(value: &impl Serialize) -> Result<bool, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Output(error.into()))?;
    write(&(shown::json(&text) + "\n"))
}

/// Prints a file of another program's format as it is: whoever made it has escaped the texts in it.
pub fn print_file(bytes: &[u8]) -> Result<(), Failure> {
    write_bytes(bytes).map(drop)
}

fn write(text: &str) -> Result<bool, Failure> {
    write_bytes(text.as_bytes())
}

fn write_bytes(bytes: &[u8]) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::Output(error)),
    }
}

/// Ends with what the parser of the command line says, which quotes what was typed: a script may have passed on the text of others.
pub fn end_at(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    let Cow::Owned(escaped) = shown::lines(&text) else { error.exit() };
    let _ = std::io::stderr().write_all(escaped.as_bytes());
    std::process::exit(error.exit_code())
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::Output(error.into()))?;
    write(&(shown::json(&text) + "\n")).map(drop)
}
