//! Files that a user names for a result.

use std::fs;
use std::io::Write;
use std::path::Path;

use rustix::fs::Access;
use waykeeper_experiment::InputError;
use waykeeper_kpi::is_kept_record;

use crate::failure::Failure;

/// Refuses a file that cannot be made, and one that a run or a session keeps. What takes long asks before it begins.
pub fn check(out: &Path) -> Result<(), Failure> {
    can_be_kept(out)?;
    check_replaces_nothing(out)
}

/// Refuses to replace what a run or a session keeps: nothing could bring it back.
pub fn check_replaces_nothing(out: &Path) -> Result<(), Failure> {
    if !is_kept_record(out) {
        return Ok(());
    }
    let why = "this file belongs to a run or a session, and would be lost; expected another name";
    Err(InputError::in_file(&out.display().to_string(), why).into())
}

/// Before a search of minutes rather than after it: whether a file can be made there at all. Somebody else may still fill the disk.
fn can_be_kept(out: &Path) -> Result<(), Failure> {
    // A pipe or a device is only written to.
    if out.exists() && !out.is_file() {
        return Ok(());
    }
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let may = rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK);
    may.map_err(|error| {
        let error = std::io::Error::from(error);
        Failure::Machine(format!(
            "{}: it cannot be written ({}: {error}); another name would do",
            out.display(),
            folder.display()
        ))
    })
}

/// The same for what is no TOML: a file that is there and is TOML is an experiment, a platform or a policy of somebody.
pub fn check_no_toml(out: &Path) -> Result<(), Failure> {
    check(out)?;
    let is_toml = out.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    if !(is_toml && out.is_file()) {
        return Ok(());
    }
    let why = "this file is TOML, such as an experiment or a policy, and would be lost; expected another name";
    Err(InputError::in_file(&out.display().to_string(), why).into())
}

/// Writes a file at once: a reader never sees half of it, and no file of a run is replaced. A pipe or a device is written to. `what` names it in the error.
pub fn write(out: &Path, what: &str, bytes: &[u8]) -> Result<(), Failure> {
    check_replaces_nothing(out)?;
    let failed = |error| Failure::Machine(format!("{}: the {what} cannot be written: {error}", out.display()));
    at_once(out, bytes).map_err(failed)
}

fn at_once(out: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if out.exists() && !out.is_file() {
        return fs::OpenOptions::new().write(true).open(out)?.write_all(bytes);
    }
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = out.with_file_name(name);
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, out));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}
