//! The comparison of the resctrl model with real kernels.

use crate::packages;
use crate::step::{cargo, run};

/// Runs the rig with options of its own, which its help names.
///
/// # Errors
/// Missing packages, a rig that cannot be built, or a difference.
pub fn run_with(options: impl Iterator<Item = String>) -> Result<(), String> {
    packages::provide_for_kernel_rig()?;
    let mut command = cargo("run --release --locked --package waykeeper-kernel-rig --bin kernel-rig --");
    run("the resctrl model and real kernels", command.args(options))
}
