//! The whole program in Arm Linux guests.

use std::process::Command;

use crate::package;
use crate::packages;
use crate::step::{cargo, run, target};

/// What runs in the guests, as Rust calls it.
const TARGETS: [&str; 2] = ["aarch64-unknown-linux-musl", "armv7-unknown-linux-gnueabihf"];

/// Runs the rig for the guests that are named, or all.
///
/// # Errors
/// Missing packages, a program that does not build, or what is not as it must be in a guest.
pub fn run_with(guests: impl Iterator<Item = String>) -> Result<(), String> {
    packages::provide_for_arm_rig()?;
    TARGETS.iter().try_for_each(|target| package::program::provide(target))?;
    // What the guest simulates is compared with what this machine simulates.
    run("the program here", &mut cargo("build --release --locked --package waykeeper --bin waykeeper"))?;
    let mut rig = cargo("run --release --locked --package waykeeper-arm-rig --bin arm-rig --");
    run("Arm guests", rig.args(guests))
}

/// Runs the program that is shipped, with the rig as it was built last.
///
/// # Errors
/// As above.
pub fn short() -> Result<(), String> {
    packages::provide_for_arm_rig()?;
    let mut rig = Command::new(target().join("release/arm-rig"));
    run("the program for AArch64 in a guest", rig.arg("--program").arg(package::aarch64_program()).arg("aarch64"))
}
