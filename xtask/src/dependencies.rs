//! The dependencies: `cargo deny`.

use std::process::Command;

use crate::step::run;
use crate::tools;

/// The version of cargo-deny that the rules in `deny.toml` were tried with.
const VERSION: &str = "0.20.2";

/// Checks which licences, sources and versions the dependencies have. Advisories change from day to day and need the network:
/// CONTRIBUTING names their command.
///
/// # Errors
/// A dependency against the rules; a cargo-deny that cannot be built.
pub fn check() -> Result<(), String> {
    let mut deny = Command::new(tools::built("cargo-deny", VERSION)?.join("cargo-deny"));
    run("dependencies", deny.args(["--locked", "check", "bans", "licenses", "sources"]))
}
