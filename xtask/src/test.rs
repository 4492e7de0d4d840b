//! Everything that must hold before a change lands.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::files_below;
use crate::step::{become_last, cargo, root, run, run_together, show_times, suite_program, target};
use crate::{architecture, arm_rig, clients_rig, dependencies, kernel_rig, package, packages, python, words};

/// The tests that try random inputs, each on one core: two rows that run at the same time, about equally long.
const FUZZERS: [&[&str]; 2] =
    [&["tree_fuzz", "platform_fuzz", "write_fuzz"], &["journal_fuzz", "parser_fuzz", "reader_fuzz", "run_fuzz"]];

/// A test beside a fuzzer that goes through all cases and takes long; it runs with all tests.
const NOT_RANDOM: &str = "each_file_with_each_piece";

/// How long each fuzzer runs; CONTRIBUTING.md has how to run one for longer.
const FUZZ_MS: &str = "12000";

/// Runs all steps; the test runner comes last, so that its summary ends the output.
///
/// # Errors
/// The first step that fails.
pub fn all() -> Result<(), String> {
    packages::provide()?;
    run("formatting", &mut cargo("fmt --all --check"))?;
    run("formatting of modules that a macro declares", &mut rustfmt("crates/simulator/src")?)?;
    architecture::check()?;
    words::check()?;
    dependencies::check()?;
    run("lints", &mut cargo("clippy --profile suite --workspace --all-targets --locked -- -D warnings"))?;
    run(
        "documentation",
        cargo("doc --profile suite --workspace --no-deps --locked").env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    // Everything is built once: other sets of packages would have other features, and build their libraries anew.
    run("build", &mut cargo("build --workspace --profile suite --locked --lib --bins --tests"))?;
    short_measurement()?;
    simulated_table()?;
    python::test()?;
    packages::provide_for_clients_rig()?;
    clients_rig::run_built(&[])?;
    package::test()?;
    arm_rig::short()?;
    kernel_rig::short()?;
    run_together(FUZZERS.map(fuzzers).into())?;
    run("examples in the documentation", &mut cargo("test --workspace --profile suite --locked --doc"))?;
    show_times();
    // Nothing is printed after this one: the closing lines are the test runner's own.
    become_last("tests", &mut cargo("test --workspace --profile suite --locked --lib --bins --tests"))
}

/// Checks all files below a folder: `cargo fmt` finds only modules that are declared outside of macros.
fn rustfmt(folder: &str) -> Result<Command, String> {
    let mut command = Command::new("rustfmt");
    command.args(["--check", "--edition", "2024"]).args(files_below(&Path::new(root()).join(folder), "rs")?);
    Ok(command)
}

fn fuzzers(names: &[&str]) -> (String, Command) {
    let mut command = cargo("test --workspace --profile suite --locked");
    command.args(names.iter().flat_map(|fuzzer| ["--test", fuzzer])).args(["--", "--skip", NOT_RANDOM]);
    command.env("BOLERO_RANDOM_TEST_TIME_MS", FUZZ_MS);
    (format!("fuzzers: {}", names.join(", ")), command)
}

fn short_measurement() -> Result<(), String> {
    let run_folder = fresh("this-machine")?;
    let mut command = waykeeper();
    command.args(["run", "this-machine", "--duration", "100ms", "--repeats", "3", "--out"]).arg(&run_folder);
    run("a short measurement of this machine", &mut command)
}

fn simulated_table() -> Result<(), String> {
    let run_folder = fresh("agilex5-cluster-latency")?;
    let mut command = waykeeper();
    command.args(["run", "agilex5-cluster-latency", "--out"]).arg(&run_folder);
    run("the simulated table", &mut command)
}

fn waykeeper() -> Command {
    Command::new(suite_program("waykeeper"))
}

/// A folder for a run that does not exist yet.
fn fresh(name: &str) -> Result<PathBuf, String> {
    let folder = target().join("test-runs").join(name);
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {error}", folder.display())),
        _ => Ok(folder),
    }
}
