//! A Debian package in a bare Debian: installed, run, removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{run, target};

/// What is done inside.
const INSIDE: &str = include_str!("inside.sh");

/// Installs a package in a bare Debian, runs what it holds, and removes it.
///
/// # Errors
/// No such Debian; what is not as it must be.
pub fn test(deb: &Path, commit: &str) -> Result<(), String> {
    run("the package reads", Command::new("dpkg-deb").arg("--info").arg(deb))?;
    check_units(deb)?;
    let root = target().join("bare-root-test");
    remove(&root)?;
    copy(&pristine()?, &root)?;
    fs::copy(deb, root.join("waykeeper.deb")).map_err(|error| format!("{}: {error}", root.display()))?;
    fs::write(root.join("inside.sh"), INSIDE).map_err(|error| format!("{}: {error}", root.display()))?;
    // A file system for processes of its own; it goes with the namespace. A room inside takes its root for a mount point.
    let script = "mount --bind \"$1\" \"$1\" && mount -t proc proc \"$1/proc\" && exec chroot \"$1\" /bin/bash /inside.sh \"$2\"";
    let mut inside = Command::new("unshare");
    inside.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh"]).arg(&root).arg(commit);
    inside.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root").env("LC_ALL", "C");
    run("the package in a bare Debian", &mut inside)?;
    remove(&root)
}

/// The units of a package, as systemd reads them: no unknown key, and each program that they start is there.
fn check_units(deb: &Path) -> Result<(), String> {
    let folder = target().join("units-test");
    remove(&folder)?;
    run("the package unpacks", Command::new("dpkg-deb").arg("--extract").arg(deb).arg(&folder))?;
    let units = folder.join("lib/systemd/system");
    let entries = fs::read_dir(&units).map_err(|error| format!("{}: {error}", units.display()))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // A template is read as one of its instances.
    let mut names: Vec<String> = names.map(|name| name.replace("@.", "@tcc-halves.")).collect();
    names.sort();
    let mut verify = Command::new("systemd-analyze");
    verify.arg("--root").arg(&folder).args(["--man=no", "--recursive-errors=no", "verify"]).args(&names);
    let output = verify.output().map_err(|error| format!("systemd-analyze: {error}"))?;
    remove(&folder)?;
    // Of a key that it does not know it only prints a line.
    let said = [output.stdout, output.stderr].concat();
    if names.is_empty() || !output.status.success() || !said.is_empty() {
        return Err(format!("the units {}: {}", names.join(", "), String::from_utf8_lossy(&said)));
    }
    println!("units that systemd reads without a complaint: {}", names.len());
    Ok(())
}

/// A bare Debian of this machine's release, which is made where it is missing.
pub(super) fn pristine() -> Result<PathBuf, String> {
    let folder = target().join("bare-root");
    let whole = folder.join("etc/debian_version");
    if whole.exists() && folder.join("var/lib/dpkg/status").exists() && !folder.join("debootstrap").exists() {
        return Ok(folder);
    }
    remove(&folder)?;
    let mut bootstrap = Command::new("debootstrap");
    bootstrap.args(["--variant=minbase", &codename()?]).arg(&folder).arg(mirror()?);
    run("a bare Debian", &mut bootstrap)?;
    Ok(folder)
}

fn codename() -> Result<String, String> {
    let text = fs::read_to_string("/etc/os-release").map_err(|error| format!("/etc/os-release: {error}"))?;
    let name = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    name.map(str::to_owned).ok_or_else(|| "/etc/os-release has no VERSION_CODENAME".into())
}

/// Where this machine has its packages from.
fn mirror() -> Result<String, String> {
    let output = Command::new("apt-get").args(["indextargets", "--format", "$(REPO_URI)"]).output();
    let output = output.map_err(|error| format!("apt-get: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(str::to_owned).ok_or_else(|| "apt has no source of packages".into())
}

/// Copies a Debian into a folder that is not there.
pub(super) fn copy(debian: &Path, to: &Path) -> Result<(), String> {
    run("a copy of a Debian", Command::new("cp").arg("--archive").arg(debian).arg(to))
}

/// Removes a folder that may be there.
pub(super) fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {error}", folder.display())),
        _ => Ok(()),
    }
}
