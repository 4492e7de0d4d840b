//! The Debian packages that the rigs need.

use std::path::Path;
use std::process::Command;

use crate::step::run;

/// A program that a rig runs, and the package that has it.
const NEEDED: [(&str, &str); 5] = [
    ("cc", "gcc"),
    ("valgrind", "valgrind"),
    ("qemu-aarch64", "qemu-user"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("setpriv", "util-linux"),
];

/// A file that a rig needs, and the package that has it.
const NEEDED_FILES: [(&str, &str); 2] =
    [("/usr/aarch64-linux-gnu/lib/libc.a", "libc6-dev-arm64-cross"), ("/usr/include/stdio.h", "libc6-dev")];

/// Installs what is missing when it may, else names it.
///
/// # Errors
/// Missing packages that could not be installed.
pub fn provide() -> Result<(), String> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if !is_root() || !on_path("apt-get") {
        return Err(format!("these packages are missing; as root: apt-get install {list}"));
    }
    let apt = |arguments: &str| {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args(arguments.split_whitespace());
        command
    };
    run("package lists", &mut apt("update -qq"))?;
    run("packages", &mut apt(&format!("install -y -qq --no-install-recommends {list}")))
}

fn missing() -> Vec<&'static str> {
    let programs = NEEDED.iter().filter(|(program, _)| !on_path(program)).map(|(_, package)| *package);
    let files = NEEDED_FILES.iter().filter(|(file, _)| !Path::new(file).exists()).map(|(_, package)| *package);
    programs.chain(files).collect()
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
