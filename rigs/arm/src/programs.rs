//! What runs in a guest: the program, and a task of a user's.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::guest::Guest;

/// The programs of a guest.
#[derive(Debug)]
pub struct Programs {
    /// Waykeeper.
    pub waykeeper: PathBuf,
    /// The example of a user's own task.
    pub cookbook: PathBuf,
}

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Builds both; of the first, one that was built already may be given.
///
/// # Errors
/// What does not build.
pub fn build(guest: &Guest, given: Option<&Path>) -> Result<Programs, String> {
    let waykeeper = match given {
        Some(given) => given.to_owned(),
        None => waykeeper(guest)?,
    };
    let cookbook = target().join(format!("arm-rig-{}-cookbook", guest.name));
    let mut compile = Command::new(guest.compiler);
    compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-static", "-I"]).arg(root().join("crates/markers/user"));
    run(compile.arg("-o").arg(&cookbook).arg(root().join("examples/your-program/cookbook.c")))?;
    Ok(Programs { waykeeper, cookbook })
}

fn waykeeper(guest: &Guest) -> Result<PathBuf, String> {
    let variable = guest.target.replace('-', "_");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).args([
        "build",
        "--release",
        "--locked",
        "--package",
        "waykeeper",
        "--bin",
        "waykeeper",
    ]);
    command.args(["--target", guest.target]);
    command.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), guest.compiler);
    command.env(format!("CC_{variable}"), guest.compiler);
    run(&mut command)?;
    Ok(target().join(guest.target).join("release/waykeeper"))
}

/// Runs a command to its end.
///
/// # Errors
/// One that cannot be started or does not succeed.
pub fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}")) }
}
