//! Debian packages of the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Made;
use super::program::Architecture;
use crate::step::{run, target};
use crate::tools;

/// The version of cargo-deb that the package's description was tried with.
const CARGO_DEB: &str = "3.8.0";

/// Packs the program that was built for an architecture.
///
/// # Errors
/// A package that cannot be made.
pub fn package(architecture: &Architecture, folder: &Path) -> Result<PathBuf, String> {
    let deb = folder.join(format!("waykeeper_{}.deb", architecture.debian));
    let mut package = Command::new(tools::built("cargo-deb", CARGO_DEB)?.join("cargo-deb"));
    package.args(["--package", "waykeeper", "--target", architecture.target, "--no-build", "--no-strip", "--locked"]);
    run("Debian package", package.arg("--output").arg(&deb))?;
    Ok(deb)
}

/// Looks into a package that cannot be installed here: it is for its architecture, has the files of the one that is installed, and
/// its program is the one that was built for it.
///
/// # Errors
/// What is not as it must be.
pub(super) fn test_other(made: &Made, installed: &Path) -> Result<(), String> {
    let (deb, program, expected) = (&made.deb, &made.built.program, made.architecture.debian);
    let architecture = printed(Command::new("dpkg-deb").arg("--field").arg(deb).arg("Architecture"))?;
    if architecture.trim() != expected {
        return Err(format!("{} is for {}, expected {expected}", deb.display(), architecture.trim()));
    }
    let (its, others) = (files(deb)?, files(installed)?);
    if its != others {
        let differ: Vec<_> = its.symmetric_difference(&others).collect();
        return Err(format!("{} has other files than {}: {differ:?}", deb.display(), installed.display()));
    }
    let folder = target().join("package-unpacked");
    let _ = fs::remove_dir_all(&folder);
    run(
        &format!("the package for {expected}, unpacked"),
        Command::new("dpkg-deb").arg("--extract").arg(deb).arg(&folder),
    )?;
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let same = read(&folder.join("usr/bin/waykeeper"))? == read(program)?;
    let _ = fs::remove_dir_all(&folder);
    if same { Ok(()) } else { Err(format!("the program in {} is not {}", deb.display(), program.display())) }
}

/// Names of a package's files, with their modes.
fn files(deb: &Path) -> Result<BTreeSet<String>, String> {
    let listed = printed(Command::new("dpkg-deb").arg("--contents").arg(deb))?;
    let entry = |line: &str| Some(format!("{} {}", line.split_whitespace().next()?, line.split_whitespace().last()?));
    Ok(listed.lines().filter_map(entry).collect())
}

fn printed(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!("{command:?}: {}", text(&output.stderr).trim()))
    }
}
