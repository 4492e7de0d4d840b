//! Files that a user names for a result.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::failure::Failure;

/// Writes a file at once: a reader never sees half of it. A pipe or a device is written to. `what` names it in the error.
pub fn write(out: &Path, what: &str, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error| Failure::Machine(format!("{}: the {what} cannot be written: {error}", out.display()));
    at_once(out, bytes).map_err(failed)
}

fn at_once(out: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if out.exists() && !out.is_file() {
        return fs::OpenOptions::new().write(true).open(out)?.write_all(bytes);
    }
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = out.with_file_name(name);
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, out));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}
