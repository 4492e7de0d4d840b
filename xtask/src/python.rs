//! The Python package: its types, and its wheel in an environment of its own, on runs of the real program. Examples in Python and
//! of workflows are tried there too.

use std::path::Path;
use std::process::Command;

use crate::package::wheel;
use crate::packages::PYTHON;
use crate::step::{root, run, suite_program, target};

/// Builds the wheel, installs it in a new environment beside the system's modules, and tests it there.
///
/// # Errors
/// A step that fails.
pub fn test() -> Result<(), String> {
    let wheel = wheel::build()?;
    let (folder, package) = (target().join("python"), Path::new(root()).join("python"));
    let mut types = Command::new(PYTHON);
    types.args(["-m", "mypy", "--config-file"]).arg(package.join("pyproject.toml"));
    run("types of the Python package", types.arg("--cache-dir").arg(folder.join("mypy")).arg(package.join("src")))?;
    let environment = folder.join("environment");
    let mut made = Command::new(PYTHON);
    run("environment", made.args(["-m", "venv", "--clear", "--system-site-packages"]).arg(&environment))?;
    let python = environment.join("bin/python");
    // Without an index: what it depends on must be there.
    let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"];
    run("the wheel, installed", Command::new(&python).args(options).arg(&wheel))?;
    let mut tests = Command::new(&python);
    tests.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]).arg(package.join("tests"));
    tests.arg(Path::new(root()).join("examples/github-action"));
    tests.env("WAYKEEPER", suite_program("waykeeper")).env("PYTHONDONTWRITEBYTECODE", "1");
    run(
        "the Python package and examples",
        tests.env("MPLBACKEND", "Agg").env_remove("PYTHONPATH").env_remove("PYTHONHOME"),
    )
}
