//! Runs the whole program in Linux guests of Arm's architectures, under QEMU: see docs/arm.md.
//!
//! [`guest`] lists the guests, [`programs`] builds what runs in them, [`boot`] runs one and fetches what it kept, and
//! [`checks`] looks at that. What an emulator without caches makes meaningless, such as times, is not looked at.

mod boot;
mod checks;
mod guest;
mod programs;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use guest::{GUESTS, Guest};

const HELP: &str = "\
arm-rig [--program FILE] [GUEST]...

Builds Waykeeper for a guest's architecture, boots Debian's kernel for it under QEMU, runs the program there as a user of a
board would, and checks what it said. The guests: aarch64 (Cortex-A76), armv7 (a board with Cortex-A9). All of them unless
some are named. --program runs that file in the place of one that is built. What was fetched stays in a cache folder (WAYKEEPER_RIG_CACHE).
";

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let program = match arguments.iter().position(|argument| argument == "--program") {
        Some(at) if at + 1 < arguments.len() => arguments.drain(at..=at + 1).nth(1).map(PathBuf::from),
        _ => None,
    };
    let guests: Option<Vec<&Guest>> = match arguments.as_slice() {
        [] => Some(GUESTS.iter().collect()),
        names => names.iter().map(|name| GUESTS.iter().find(|guest| guest.name == name)).collect(),
    };
    let Some(guests) = guests else {
        eprint!("{HELP}");
        return ExitCode::from(2);
    };
    for guest in guests {
        if let Err(why) = run(guest, program.as_deref()) {
            eprintln!("arm-rig: {}: {why}", guest.name);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn run(guest: &Guest, program: Option<&Path>) -> Result<(), String> {
    let programs = programs::build(guest, program)?;
    let kept = boot::run(guest, &programs)?;
    checks::look(guest, &kept)
}
