//! What Debian's `pqos` reads from the registers.

use std::process::Command;

/// The settings by class, as `pqos` shows them: `Socket 0: L3CA COS1 => MASK 0xf`.
///
/// # Errors
/// A `pqos` that cannot be run or does not succeed.
pub fn settings() -> Result<Vec<String>, String> {
    // Where its lock is.
    let _ = std::fs::create_dir_all("/var/lock");
    let output = Command::new("/usr/sbin/pqos")
        .args(["--iface=msr", "-s"])
        .env("LD_LIBRARY_PATH", "/usr/lib")
        .output()
        .map_err(|error| format!("pqos: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        return Err(format!("pqos ended with {}: {text}{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let mut place = String::new();
    let mut settings = Vec::new();
    for line in text.lines() {
        if let Some((_, of)) = line.split_once(" for ") {
            place = of.trim().to_owned();
        } else if line.contains("=>") {
            settings.push(format!("{place} {}", line.trim()));
        }
    }
    Ok(settings)
}

/// Whether every one of some settings is read.
///
/// # Errors
/// The first one that is not, with all that is.
pub fn shows(expected: &[&str]) -> Result<(), String> {
    let settings = settings()?;
    match expected.iter().find(|line| !settings.iter().any(|setting| setting == *line)) {
        None => Ok(()),
        Some(line) => Err(format!("pqos does not show `{line}` but {settings:?}")),
    }
}
