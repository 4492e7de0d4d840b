//! Waykeeper's own chores.
//!
//! `cargo xtask test` runs everything that must hold before a change lands: formatting, lints, documentation, the rigs'
//! packages, a short measurement of this machine, a simulated table, the fuzzers, and all tests.

#[cfg(test)]
mod book;
mod packages;
mod step;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask test        run all checks and tests; installs the Debian packages they need when run as root
cargo xtask packages    install those packages, or name them
";

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let result = match argument.as_deref() {
        Some("test") => test::all(),
        Some("packages") => packages::provide(),
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
