//! `enter` and `mount` as a user has them. These tests need root and /dev/fuse.

mod cgroups;
mod clocks;
mod enter;
mod mount;
mod policies;
mod user;

use std::process::Command;
use std::time::{Duration, Instant};

/// The program.
pub fn waykeeper(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waykeeper"));
    command.args(arguments);
    command
}

/// Waits until something holds; half a minute is far more than anything here takes.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < end, "{what}: it did not come to that");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process is there and not a zombie.
pub fn lives(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}

/// Children of a process.
pub fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
