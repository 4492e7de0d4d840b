//! Writing to standard output, where a reader may have gone away.

use std::io::{ErrorKind, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Prints a text. A pipe that was closed by its reader (`| head`) is not a failure.
pub fn print(text: &str) -> Result<(), Failure> {
    print_while_read(text).map(drop)
}

/// The same, for what goes on and on: false where the reader has gone away.
pub fn print_while_read(text: &str) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::Output(error)),
    }
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::Output(error.into()))?;
    print(&(text + "\n"))
}

/// A value as one line of JSON.
pub fn json_line(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Output(error.into()))?;
    Ok(text + "\n")
}
