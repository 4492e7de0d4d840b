//! The comparison of the resctrl model with real kernels.

use std::process::Command;

use crate::package::program::{X86_64, build};
use crate::package::shipped_program;
use crate::packages;
use crate::step::{cargo, run, suite_program};

/// What every test run compares: on the newest kernel, on the newest with PREEMPT_RT, and on the oldest, where plans are carried
/// out as well.
const SHORT: [&str; 3] = [
    "--seed 20261122 --kernel 7.3 --ops 3000 --setup broadwell --setup levels --setup amd --doctor levels --doctor-tuned amd",
    "--seed 20261122 --kernel 7.3-rt --ops 300 --setup levels --doctor levels --own-task levels",
    "--seed 20261122 --kernel 6.1 --ops 3000 --setup levels --setup amd --setup broadwell --circle broadwell --doctor levels --doctor-tuned amd --launch levels --own-task levels",
];

/// Runs the rig with options of its own, which its help names.
///
/// # Errors
/// Missing packages, a rig that cannot be built, or a difference.
pub fn run_with(options: impl Iterator<Item = String>) -> Result<(), String> {
    packages::provide_for_kernel_rig()?;
    let mut options: Vec<String> = options.collect();
    if options.iter().any(|option| option == "--own-task") && !options.iter().any(|option| option == "--waykeeper") {
        let [built] = build([&X86_64])?;
        options.extend(["--waykeeper".into(), built.program.display().to_string()]);
    }
    // The program of the guest lies beside that of the rig.
    run("the rig", &mut cargo("build --profile suite --locked --package waykeeper-kernel-rig --bins"))?;
    run("the resctrl model and real kernels", Command::new(suite_program("kernel-rig")).args(options))
}

/// Runs the short form, with the rig as it was built last and the program that is shipped.
///
/// # Errors
/// As above.
pub fn short() -> Result<(), String> {
    packages::provide_for_kernel_rig()?;
    for options in SHORT {
        let mut rig = Command::new(suite_program("kernel-rig"));
        run(
            "the resctrl model and a real kernel",
            rig.args(options.split_whitespace()).arg("--waykeeper").arg(shipped_program(&X86_64)),
        )?;
    }
    Ok(())
}
