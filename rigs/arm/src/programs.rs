//! What a user of a board brings along.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::guest::Guest;

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Waykeeper for this machine, as the suite's build left it.
pub fn program_here() -> PathBuf {
    target().join("suite/waykeeper")
}

/// Builds the example of a user's own task, static: it needs no library in a guest.
///
/// # Errors
/// What does not build.
pub fn cookbook(guest: &Guest) -> Result<PathBuf, String> {
    let program = target().join(format!("arm-rig-{}-cookbook", guest.name));
    let mut compile = Command::new(guest.compiler);
    compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-static", "-I"]).arg(root().join("crates/markers/user"));
    run(compile.arg("-o").arg(&program).arg(root().join("examples/your-program/cookbook.c")))?;
    Ok(program)
}

/// Runs a command to its end.
///
/// # Errors
/// One that cannot be started or does not succeed.
pub fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}")) }
}
