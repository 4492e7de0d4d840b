//! One step: a command that is shown, run and timed.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the steps so far took, in the order in which they ended.
static TOOK: Mutex<Vec<(String, Duration)>> = Mutex::new(Vec::new());

/// The workspace's root.
pub fn root() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/..")
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from(root()).join("target"), PathBuf::from)
}

/// A program of the suite's profile (Cargo.toml), as it was built last.
pub fn suite_program(name: &str) -> PathBuf {
    target().join("suite").join(name)
}

/// Runs a command in the workspace's root.
///
/// # Errors
/// A command that cannot be started or does not succeed.
pub fn run(title: &str, command: &mut Command) -> Result<(), String> {
    println!("== {title}");
    let begun = Instant::now();
    let status = command
        .current_dir(root())
        .status()
        .map_err(|error| format!("{title}: {command:?} cannot be started: {error}"))?;
    if !status.success() {
        return Err(format!("{title}: {command:?} ended with {status}"));
    }
    let took = begun.elapsed();
    println!("== {title}: passed in {:.0} s", took.as_secs_f64());
    TOOK.lock().unwrap_or_else(PoisonError::into_inner).push((title.to_owned(), took));
    Ok(())
}

/// Shows where the time went: the steps that took ten seconds or more, the longest first.
pub fn show_times() {
    let mut took = TOOK.lock().unwrap_or_else(PoisonError::into_inner).clone();
    took.retain(|(_, took)| took.as_secs() >= 10);
    took.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
    println!("== steps of ten seconds and more so far");
    took.iter().for_each(|(title, took)| println!("{:5} s  {title}", took.as_secs()));
}

/// Runs commands at the same time in the workspace's root. Each has a title; what they print is mixed line by line.
///
/// # Errors
/// The first of those that cannot be started or do not succeed, when all have ended.
pub fn run_together(commands: Vec<(String, Command)>) -> Result<(), String> {
    std::thread::scope(|scope| {
        let running: Vec<_> =
            commands.into_iter().map(|(title, mut command)| scope.spawn(move || run(&title, &mut command))).collect();
        let ended: Vec<_> = running.into_iter().map(|thread| thread.join()).collect();
        ended.into_iter().try_for_each(|ended| ended.unwrap_or_else(|_| Err("a step's thread has ended".into())))
    })
}

/// Runs the last command in the place of this process.
///
/// # Errors
/// A command that cannot be started.
pub fn become_last(title: &str, command: &mut Command) -> Result<(), String> {
    println!("== {title}");
    let error = command.current_dir(root()).exec();
    Err(format!("{title}: {command:?} cannot be started: {error}"))
}

/// A cargo command, its arguments separated by spaces.
pub fn cargo(arguments: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments.split_whitespace());
    command
}
