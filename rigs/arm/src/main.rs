//! Runs the whole program in Linux guests of Arm's architectures, under QEMU: see docs/arm.md.
//!
//! [`guest`] lists the guests, [`programs`] builds a task of a user's for them, [`boot`] runs one and fetches what it kept,
//! [`checks`] looks at that, and [`elsewhere`] uses the guest as a board, through its SSH [`server`]. What an emulator without caches makes meaningless, such as times, is not looked at.

mod boot;
mod checks;
mod elsewhere;
mod guest;
mod programs;
mod server;

use std::path::Path;
use std::process::ExitCode;

use guest::{GUESTS, Guest};

const HELP: &str = "\
arm-rig GUEST PROGRAM [--short]

Boots Debian's kernel for a guest under QEMU, runs Waykeeper there as a user of a board would, and checks what it said. The
guests: aarch64 (Cortex-A76), armv7 (a board with Cortex-A9). PROGRAM is Waykeeper for that architecture. What was fetched stays
in a cache folder (WAYKEEPER_RIG_CACHE). The short form leaves out the guest as a board elsewhere. `cargo xtask arm-rig` builds the programs and runs this.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let guest = |name: &str| GUESTS.iter().find(|guest| guest.name == name);
    let (program, is_short) = match arguments.as_slice() {
        [_, program] => (program, false),
        [_, program, short] if short == "--short" => (program, true),
        _ => return help(),
    };
    let Some(guest) = guest(&arguments[0]) else { return help() };
    match run(guest, Path::new(program), is_short) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("arm-rig: {}: {why}", guest.name);
            ExitCode::FAILURE
        }
    }
}

fn help() -> ExitCode {
    eprint!("{HELP}");
    ExitCode::from(2)
}

fn run(guest: &Guest, program: &Path, is_short: bool) -> Result<(), String> {
    let cookbook = programs::cookbook(guest)?;
    let kept = boot::run(guest, program, &cookbook, is_short, |server| elsewhere::look(server, guest, program))?;
    checks::look(guest, &kept)
}
