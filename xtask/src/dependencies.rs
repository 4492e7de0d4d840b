//! The dependencies: `cargo deny`, built once for each of its versions.

use std::path::PathBuf;
use std::process::Command;

use crate::step::{cargo, run, target};

/// The version of cargo-deny that the rules in `deny.toml` were tried with.
const VERSION: &str = "0.20.2";

/// Checks which licences, sources and versions the dependencies have. Advisories change from day to day and need the network:
/// CONTRIBUTING names their command.
///
/// # Errors
/// A dependency against the rules; a cargo-deny that cannot be built.
pub fn check() -> Result<(), String> {
    let mut deny = Command::new(program()?);
    run("dependencies", deny.args(["--locked", "check", "bans", "licenses", "sources"]))
}

/// cargo-deny of that version, which is built where it is missing.
fn program() -> Result<PathBuf, String> {
    let folder = target().join("tools").join(format!("cargo-deny-{VERSION}"));
    let program = folder.join("bin/cargo-deny");
    if !program.exists() {
        let mut install = cargo("install cargo-deny --locked --quiet");
        install.args(["--version", VERSION]).arg("--root").arg(&folder).env_remove("CARGO_TARGET_DIR");
        run("building cargo-deny", &mut install)?;
    }
    Ok(program)
}
