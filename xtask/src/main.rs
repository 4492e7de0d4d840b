//! Waykeeper's own chores.
//!
//! `cargo xtask test` runs everything that must hold before a change lands: formatting, the architecture, the words of the documentation, the dependencies'
//! licences and sources, lints, documentation, the rigs' packages, a short measurement of this machine, a simulated table, the resctrl
//! model beside real kernels, the fuzzers, and all tests.

mod architecture;
mod arm_rig;
#[cfg(test)]
mod book;
mod clients_rig;
mod dependencies;
mod files;
mod kernel_rig;
mod package;
mod packages;
mod peers;
mod python;
mod step;
mod test;
mod tools;
mod validate;
mod words;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask test        run all checks and tests; installs the Debian packages they need when run as root
cargo xtask packages    install those packages, or name them
cargo xtask package     make what users install: static programs, a Debian package, a Python wheel, sums
cargo xtask package-test    make it, and install, run and remove the package in a bare Debian and in a booted one
cargo xtask architecture    check docs/architecture.md against the crates and the folders of the simulator,
                        and that no two crates share the name of a type
cargo xtask python      build the Python package, check its types, and test it on runs of the program in target/suite
cargo xtask words       check the documentation and `--help` against xtask/words.txt
cargo xtask dependencies    check licences and sources of the dependencies with cargo-deny
cargo xtask bench-peers [ROUNDS]    functional mode beside PyPI's pycachesim: the same addresses, in turns
cargo xtask validate    compare all simulated figures with published ones, write docs/validation.md (takes an hour);
                        --only TITLE makes one chapter, --members N draws that many parameter sets
cargo xtask kernel-rig [--ops N] [--seed S] [--kernel V]... [--setup NAME]... [--replay FILE]...
                        [--circle NAME]... [--own-task NAME]...
                        compare the resctrl model with real kernels under QEMU (docs/resctrl.md)
cargo xtask arm-rig [GUEST]...    run the whole program in Arm Linux guests (docs/arm.md)
cargo xtask clients-rig [SCENARIO]...    run other people's clients of resctrl and of registers in rooms (rigs/clients)
";

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let result = match argument.as_deref() {
        Some("test") => test::all(),
        Some("architecture") => architecture::check(),
        Some("words") => words::check(),
        Some("packages") => packages::provide(),
        Some("package") => package::make(),
        Some("package-test") => package::test(),
        Some("python") => python::test(),
        Some("dependencies") => dependencies::check(),
        Some("bench-peers") => peers::compare(std::env::args().nth(2)),
        Some("validate") => validate::run_with(std::env::args().skip(2)),
        Some("clients-rig") => clients_rig::run_with(&std::env::args().skip(2).collect::<Vec<_>>()),
        Some("arm-rig") => arm_rig::run_with(std::env::args().skip(2)),
        Some("kernel-rig") => kernel_rig::run_with(std::env::args().skip(2)),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}
