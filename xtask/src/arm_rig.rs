//! The whole program in Arm Linux guests.

use std::path::Path;
use std::process::Command;

use crate::package::program::{AARCH64, ARMV7, Architecture, build};
use crate::package::shipped_program;
use crate::packages;
use crate::step::{cargo, run, run_together, suite_program};

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
    run("the program here", &mut cargo("build --profile suite --locked --package waykeeper --bin waykeeper"))?;
    run("the rig", &mut cargo("build --profile suite --locked --package waykeeper-arm-rig --bin arm-rig"))?;
    for guest in all.iter().filter(|guest| named.is_empty() || named.iter().any(|name| name == guest.name)) {
        let [built] = build([guest])?;
        let (title, mut rig) = in_guest(guest, &built.program);
        run(&title, &mut rig)?;
    }
    Ok(())
}

/// Runs the programs that are shipped, each in its guest and both at the same time, with the rig as it was built last. The board is slow
/// to emulate: that guest has the short form.
///
/// # Errors
/// As above.
pub fn short() -> Result<(), String> {
    packages::provide_for_arm_rig()?;
    let [aarch64, mut armv7] = [&AARCH64, &ARMV7].map(|guest| in_guest(guest, &shipped_program(guest)));
    armv7.1.arg("--short");
    run_together(vec![aarch64, armv7])
}

fn in_guest(guest: &Architecture, program: &Path) -> (String, Command) {
    let mut rig = Command::new(suite_program("arm-rig"));
    rig.arg(guest.name).arg(program);
    (format!("the program for {} in a guest", guest.name), rig)
}
