//! The Python package as a wheel, built by Debian's setuptools without a network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::fresh;
use crate::packages::{self, PYTHON};
use crate::step::{root, run, target};

/// Builds as PEP 517 asks for it, and leaves the name of the wheel where the argument says.
const BUILD: &str = "import sys; from setuptools.build_meta import build_wheel; \
                     open(sys.argv[1] + '/name', 'w').write(build_wheel(sys.argv[1]))";

/// Builds the wheel in `target/python/wheel`.
///
/// # Errors
/// Missing packages; a build that fails.
pub fn build() -> Result<PathBuf, String> {
    packages::provide_for_python()?;
    let (source, folder) = (target().join("python/source"), target().join("python/wheel"));
    fresh(&folder)?;
    // What setuptools leaves beside its sources must not be in the repository; links become the files that they name.
    fresh(&source)?;
    let mut copied = Command::new("cp");
    copied.args(["--recursive", "--dereference"]).arg(Path::new(root()).join("python/.")).arg(&source);
    run("sources of the Python package", &mut copied)?;
    let mut build = Command::new("env");
    build.arg("--chdir").arg(&source).args([PYTHON, "-W", "ignore", "-c", BUILD]).arg(&folder);
    run("wheel", build.stdout(std::process::Stdio::null()))?;
    let name = folder.join("name");
    let wheel = fs::read_to_string(&name).map_err(|error| format!("{}: {error}", name.display()))?;
    Ok(folder.join(wheel))
}
