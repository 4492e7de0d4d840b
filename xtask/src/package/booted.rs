//! The package in a Debian whose systemd runs: a policy applied at boot, watched, stopped, and removed with the package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::bare_root::{copy, pristine, remove};
use crate::step::{run, target};

/// What runs there, in this order; `checks.sh` writes what it found to `said`.
const FILES: [(&str, &str); 6] = [
    ("outside.sh", include_str!("booted/outside.sh")),
    ("inside.sh", include_str!("booted/inside.sh")),
    ("room.sh", include_str!("booted/room.sh")),
    ("settings.sh", include_str!("booted/settings.sh")),
    ("checks.service", include_str!("booted/checks.service")),
    ("checks.sh", include_str!("booted/checks.sh")),
];

/// Seconds that the boot and the checks may take: a systemd that hangs says nothing.
const SECONDS: &str = "120";

/// Boots a Debian with the package and runs the checks under its systemd.
///
/// # Errors
/// No such Debian; what is not as it must be.
pub fn test(deb: &Path) -> Result<(), String> {
    let root = target().join("booted-test");
    remove(&root)?;
    copy(&with_systemd()?, &root)?;
    let failed = |error: std::io::Error| format!("{}: {error}", root.display());
    fs::copy(deb, root.join("waykeeper.deb")).map_err(failed)?;
    let folder = root.join("booted");
    fs::create_dir(&folder).map_err(failed)?;
    for (name, text) in FILES {
        fs::write(folder.join(name), text).map_err(failed)?;
    }
    let mut boot = Command::new("timeout");
    boot.args(["--kill-after=5", SECONDS, "unshare", "--mount", "--pid", "--uts", "--ipc", "--net", "--fork"]);
    boot.args(["--kill-child", "sh"]).arg(folder.join("outside.sh")).arg(&root).stdin(Stdio::null());
    boot.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root").env("LC_ALL", "C");
    let booted = run("the package in a booted Debian", &mut boot);
    let said = fs::read_to_string(folder.join("said")).unwrap_or_default();
    print!("{said}");
    booted?;
    // The status of systemd is that of the room, whatever the checks found.
    match said.lines().last() {
        Some("under systemd: applied at boot, watched, stopped, started, removed") => remove(&root),
        _ => Err(format!(
            "the package in a booted Debian: {}",
            if said.is_empty() { "no check ran" } else { "see above" }
        )),
    }
}

/// The bare Debian with systemd as its first process, which is made where it is missing.
fn with_systemd() -> Result<PathBuf, String> {
    let folder = target().join("bare-root-systemd");
    if folder.join("sbin/init").exists() {
        return Ok(folder);
    }
    let part = target().join("bare-root-systemd.part");
    remove(&part)?;
    copy(&pristine()?, &part)?;
    let install = "apt-get -q update && apt-get -q --yes --no-install-recommends install systemd-sysv";
    let mut inside = Command::new("chroot");
    inside.arg(&part).args(["sh", "-c", install]).env("DEBIAN_FRONTEND", "noninteractive");
    run("systemd in a bare Debian", &mut inside)?;
    fs::rename(&part, &folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}
