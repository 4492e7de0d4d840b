//! `cargo xtask validate`: builds the program and lets `waykeeper-validate` compare its figures with published ones.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step;

/// Makes `docs/validation.md`, or prints the chapters that `--only` names.
pub fn run() -> Result<(), String> {
    step::run("release build", &mut step::cargo("build --release -p waykeeper -p waykeeper-validation"))?;
    let root = Path::new(step::root());
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let mut command = Command::new(target.join("release/waykeeper-validate"));
    command.arg("--root").arg(root).arg("--program").arg(target.join("release/waykeeper"));
    command.arg("--folder").arg(target.join("validation")).args(["--commit", &commit()?]);
    let status = command.args(std::env::args().skip(2)).status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("the validation ended with {status}")) }
}

fn commit() -> Result<String, String> {
    let output = Command::new("git").current_dir(step::root()).args(["rev-parse", "--short", "HEAD"]).output();
    let output = output.map_err(|error| format!("git: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
