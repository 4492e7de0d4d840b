//! What users install: static programs, Debian packages, the Python package, a container file, and their SHA-256 sums.

mod bare_root;
mod booted;
mod debian;
pub mod program;
pub mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::packages;
use crate::step::{root, run, target};
use program::{AARCH64, ARMV7, Architecture, Built, X86_64};

/// The shells that completions are made for.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Where all of it lies at the end.
fn shipped() -> PathBuf {
    target().join("shipped")
}

/// The program for an architecture, as it is shipped.
pub fn shipped_program(architecture: &Architecture) -> PathBuf {
    shipped().join(format!("waykeeper-{}", architecture.name))
}

/// Makes what users install.
///
/// # Errors
/// A step that fails.
pub fn make() -> Result<(), String> {
    make_all().map(drop)
}

/// Makes it, and installs, runs and removes the package in a bare Debian, and in one that is booted.
///
/// # Errors
/// A step that fails, or a package that is not as it must be.
pub fn test() -> Result<(), String> {
    let [here, others @ ..] = make_all()?;
    program::check_static(&here.built)?;
    for other in &others {
        program::check_static(&other.built)?;
        debian::test_other(other, &here.deb)?;
    }
    bare_root::test(&here.deb, &program::commit())?;
    booted::test(&here.deb)
}

/// What programs are made for; this machine's own is the first.
const SHIPPED: [&Architecture; 3] = [&X86_64, &AARCH64, &ARMV7];

/// What was made for an architecture.
struct Made {
    architecture: &'static Architecture,
    built: Built,
    deb: PathBuf,
}

/// Makes all, in the order of [`SHIPPED`].
fn make_all() -> Result<[Made; 3], String> {
    packages::provide_for_packages()?;
    let folder = shipped();
    fresh(&folder)?;
    let built = program::build(SHIPPED)?;
    // Pages and completions are the same for every architecture; the program of this machine's prints them.
    for (architecture, other) in SHIPPED.iter().zip(&built) {
        beside(&built[0], other)?;
        copy(&other.program, &shipped_program(architecture))?;
    }
    let debs = SHIPPED.map(|architecture| debian::package(architecture, &folder));
    for file in ["packaging/Containerfile", "crates/markers/user/waykeeper.h"] {
        let file = Path::new(root()).join(file);
        copy(&file, &folder.join(file.file_name().unwrap_or_default()))?;
    }
    let wheel = wheel::build()?;
    copy(&wheel, &folder.join(wheel.file_name().unwrap_or_default()))?;
    sums(&folder)?;
    println!("packages are in {}", folder.display());
    let made = SHIPPED.into_iter().zip(built).zip(debs);
    let made: Vec<Made> = made
        .map(|((architecture, built), deb)| Ok(Made { architecture, built, deb: deb? }))
        .collect::<Result<_, String>>()?;
    made.try_into().map_err(|_| "not every architecture was made".to_owned())
}

/// Writes man pages and completions, which `here` prints, beside a program, where the package's description has them.
fn beside(here: &Built, built: &Built) -> Result<(), String> {
    let folder = built.folder.join("shipped");
    fresh(&folder)?;
    run("man pages", Command::new(&here.program).arg("man-pages").arg(folder.join("man")))?;
    run("compressed", Command::new("gzip").args(["-9", "--no-name", "--recursive"]).arg(folder.join("man")))?;
    for shell in SHELLS {
        let output = Command::new(&here.program).args(["completions", shell]).output();
        let output = output.map_err(|error| format!("completions for {shell}: {error}"))?;
        if !output.status.success() {
            return Err(format!("completions for {shell}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        write(&folder.join(format!("waykeeper.{shell}")), &output.stdout)?;
    }
    Ok(())
}

/// Writes `SHA256SUMS`, as `sha256sum --check` reads it.
fn sums(folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let mut names: Vec<String> = entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let mut text = String::new();
    for name in names {
        let hash = Sha256::digest(fs::read(folder.join(&name)).map_err(failed)?);
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        text += &format!("{hash}  {name}\n");
    }
    write(&folder.join("SHA256SUMS"), text.as_bytes())
}

/// An empty folder.
fn fresh(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(folder),
    }
    .map_err(|error| format!("{}: {error}", folder.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}
