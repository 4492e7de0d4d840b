//! Programs of crates.io that chores run: built once for each of their versions.

use std::path::PathBuf;

use crate::step::{cargo, run, target};

/// The folder with the programs of a crate of that version, which is built where it is missing.
///
/// # Errors
/// A crate that cannot be built.
pub fn built(name: &str, version: &str) -> Result<PathBuf, String> {
    let folder = target().join("tools").join(format!("{name}-{version}"));
    let programs = folder.join("bin");
    if !programs.join(name).exists() {
        // They work for seconds: optimising them would take minutes.
        let mut install = cargo(&format!("install {name} --locked --quiet --debug"));
        install.args(["--version", version]).arg("--root").arg(&folder).env_remove("CARGO_TARGET_DIR");
        install.envs([("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_PROFILE_DEV_INCREMENTAL", "false")]);
        run(&format!("building {name}"), &mut install)?;
    }
    Ok(programs)
}
