//! The whole program in Arm Linux guests.

use std::path::Path;
use std::process::Command;

use crate::package::aarch64_program;
use crate::package::program::{AARCH64, ARMV7, build};
use crate::packages;
use crate::step::{cargo, run, target};

/// Builds the program for the guests that are named, or for all, and runs it there.
///
/// # Errors
/// A guest that is unknown, missing packages, a program that does not build, or what is not as it must be in a guest.
pub fn run_with(guests: impl Iterator<Item = String>) -> Result<(), String> {
    let named: Vec<String> = guests.collect();
    let all = [AARCH64, ARMV7];
    if let Some(unknown) = named.iter().find(|name| all.iter().all(|guest| guest.name != name.as_str())) {
        return Err(format!("{unknown} is no guest; expected one of aarch64, armv7"));
    }
    packages::provide_for_arm_rig()?;
    // What the guest simulates is compared with what this machine simulates.
    run("the program here", &mut cargo("build --release --locked --package waykeeper --bin waykeeper"))?;
    run("the rig", &mut cargo("build --release --locked --package waykeeper-arm-rig --bin arm-rig"))?;
    for guest in all.iter().filter(|guest| named.is_empty() || named.iter().any(|name| name == guest.name)) {
        let [built] = build([guest])?;
        in_guest(guest.name, &built.program)?;
    }
    Ok(())
}

/// Runs the program that is shipped, with the rig as it was built last.
///
/// # Errors
/// As above.
pub fn short() -> Result<(), String> {
    packages::provide_for_arm_rig()?;
    in_guest(AARCH64.name, &aarch64_program())
}

fn in_guest(name: &str, program: &Path) -> Result<(), String> {
    let mut rig = Command::new(target().join("release/arm-rig"));
    run(&format!("the program for {name} in a guest"), rig.arg(name).arg(program))
}
