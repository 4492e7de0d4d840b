//! The program for each architecture, static, so that each runs on every Linux of its architecture, whatever C library is there.

use std::path::PathBuf;
use std::process::Command;

use crate::step::{cargo, root, run, target};

/// An architecture that the program is built for.
#[derive(Debug)]
pub struct Architecture {
    /// As `uname -m` calls it.
    pub name: &'static str,
    /// As Debian calls it.
    pub debian: &'static str,
    /// As Rust calls it, with its C library.
    pub target: &'static str,
    /// Before the names of the C compiler and its tools; nothing for this machine's own.
    tools: &'static str,
    /// Flags of the Rust compiler, which the static program needs with this C library.
    flags: &'static str,
}

/// What Debian packages are made for.
pub const X86_64: Architecture =
    Architecture { name: "x86_64", debian: "amd64", target: "x86_64-unknown-linux-musl", tools: "", flags: "" };

/// What most boards run; it is shipped too.
pub const AARCH64: Architecture = Architecture {
    name: "aarch64",
    debian: "arm64",
    target: "aarch64-unknown-linux-musl",
    tools: "aarch64-linux-gnu-",
    flags: "",
};

/// What older boards run. Its C library is glibc: not every mirror of Rust's libraries has the one for musl on ARMv7.
pub const ARMV7: Architecture = Architecture {
    name: "armv7",
    debian: "armhf",
    target: "armv7-unknown-linux-gnueabihf",
    tools: "arm-linux-gnueabihf-",
    flags: "-C target-feature=+crt-static",
};

/// A program that was built.
#[derive(Debug)]
pub struct Built {
    /// The folder that cargo built it in.
    pub folder: PathBuf,
    /// The program.
    pub program: PathBuf,
}

/// The commit that is built; one that was changed since is marked.
pub fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return "unknown".into() };
    let is_changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|changed| !changed.is_empty());
    if is_changed { commit + "-changed" } else { commit }
}

/// Small, for a board's memory card and a slow line. It runs as fast as the program of a checkout: the simulator's loops are optimised for
/// speed all the same (Cargo.toml). On ARMv7 its code must be less than 16 MB, the reach of a branch there: one with more was linked,
/// and ended at once with an illegal instruction.
const SMALL: (&str, &str) = ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s");

/// Builds the program, without symbols, for some architectures.
///
/// # Errors
/// A target that cannot be installed; a build that fails.
pub fn build<const N: usize>(architectures: [&Architecture; N]) -> Result<[Built; N], String> {
    let mut build = cargo("build --release --locked --package waykeeper --bin waykeeper");
    build.env("WAYKEEPER_COMMIT", commit()).envs([SMALL]);
    for architecture in architectures {
        provide(architecture.target)?;
        build.args(["--target", architecture.target]);
        let variable = architecture.target.replace('-', "_");
        let setting = |key: &str| format!("CARGO_TARGET_{}_{key}", variable.to_uppercase());
        if !architecture.tools.is_empty() {
            let compiler = format!("{}gcc", architecture.tools);
            build.env(setting("LINKER"), &compiler).env(format!("CC_{variable}"), &compiler);
        }
        if !architecture.flags.is_empty() {
            build.env(setting("RUSTFLAGS"), architecture.flags);
        }
    }
    run(&format!("program for {}", architectures.map(|architecture| architecture.name).join(" and ")), &mut build)?;
    let built = architectures.map(|architecture| {
        let folder = target().join(architecture.target).join("release");
        Built { program: folder.join("waykeeper"), folder }
    });
    for (architecture, built) in architectures.iter().zip(&built) {
        run("without symbols", Command::new(format!("{}strip", architecture.tools)).arg(&built.program))?;
    }
    Ok(built)
}

/// Installs Rust's library for a target where it is missing.
fn provide(target: &str) -> Result<(), String> {
    let sysroot = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    let folder = sysroot.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    if folder.is_ok_and(|folder| PathBuf::from(folder).is_dir()) {
        return Ok(());
    }
    run(&format!("Rust's library for {target}"), Command::new("rustup").args(["target", "add", target]))
}

/// Checks that a program needs no library and no loader of the system, and is not larger than it may be.
///
/// # Errors
/// What it needs; its size.
pub fn check_static(built: &Built) -> Result<(), String> {
    const MOST_BYTES: u64 = 25_000_000;
    let shown = built.program.display();
    let output = Command::new("readelf").args(["--wide", "--segments", "--dynamic"]).arg(&built.program).output();
    let output = output.map_err(|error| format!("readelf: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !text.contains("LOAD") {
        return Err(format!("{shown}: readelf cannot read it"));
    }
    if let Some(line) = text.lines().find(|line| line.contains("INTERP") || line.contains("(NEEDED)")) {
        return Err(format!("{shown} is not static: {}", line.trim()));
    }
    let bytes = std::fs::metadata(&built.program).map_err(|error| format!("{shown}: {error}"))?.len();
    println!("{shown}: static, {:.1} MB", bytes as f64 / 1e6);
    if bytes > MOST_BYTES { Err(format!("{shown} has {bytes} bytes; expected at most {MOST_BYTES}")) } else { Ok(()) }
}
