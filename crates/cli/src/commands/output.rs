//! Writing to standard output, where a reader may have gone away.

use std::io::{ErrorKind, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Prints a text. A pipe that was closed by its reader (`| head`) is not a failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        _ => Ok(()),
    }
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::Output(error.into()))?;
    print(&(text + "\n"))
}

/// Prints a value as one line of JSON.
pub fn print_line(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Output(error.into()))?;
    print(&(text + "\n"))
}
