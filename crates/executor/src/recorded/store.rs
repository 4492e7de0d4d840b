//! Where recordings of programs are kept: by the content of what they were made from, in the user's cache.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use waykeeper_linux::events::{Function, linked_libraries};
use waykeeper_workload::Passes;

use crate::host::file_of;

/// Changes whenever recordings are made in another way.
const EDITION: &str = "waykeeper recording 1";

/// An argument that names a larger file is known by its name, size and time only.
const MOST_CONTENT: u64 = 64 << 20;

/// The name of a recording: what it is made from.
pub fn name(command: &[OsString], passes: &Passes, limits: &str) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(EDITION.as_bytes());
    part(limits.as_bytes());
    part(format!("{passes:?}").as_bytes());
    for (index, argument) in command.iter().enumerate() {
        part(argument.as_bytes());
        let file = match index {
            0 => file_of(&argument.to_string_lossy()),
            _ => Some(PathBuf::from(argument)).filter(|file| file.is_file()),
        };
        if let Some(file) = file {
            part(&content(&file)?);
        }
    }
    let program = command.first().and_then(|program| file_of(&program.to_string_lossy()));
    for library in program.iter().flat_map(|program| libraries(program, passes)) {
        part(library.as_os_str().as_bytes());
        part(&content(&library)?);
    }
    Ok(waykeeper_run::sha256::hex(hash.finalize()))
}

/// The libraries whose code is recorded: those that a program links to, and those of the functions that mark its passes. A
/// function that is not found is refused by whoever records.
fn libraries(program: &Path, passes: &Passes) -> Vec<PathBuf> {
    let linked = linked_libraries(program).into_iter().map(|library| library.file);
    let functions = match passes {
        Passes::Functions { begin, end } => vec![begin, end],
        _ => Vec::new(),
    };
    let files = functions.into_iter().filter_map(|name| Some(Function::of_program(program, name).ok()?.file));
    linked.chain(files).collect()
}

/// What stands for a file's content: its hash, or size and time where it is very large.
fn content(file: &Path) -> io::Result<Vec<u8>> {
    let mut opened = File::open(file)?;
    let metadata = opened.metadata()?;
    if metadata.len() > MOST_CONTENT {
        return Ok(format!("{} {} {}", metadata.len(), metadata.mtime(), metadata.mtime_nsec()).into_bytes());
    }
    let mut hash = Sha256::new();
    io::copy(&mut opened, &mut hash)?;
    Ok(hash.finalize().to_vec())
}

/// The folder of recordings, which is made where it is missing.
///
/// # Errors
/// No folder, or one that belongs to somebody else: whoever can write there decides what is simulated.
pub fn folder() -> Result<PathBuf, String> {
    let named = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = named("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let cache = cache.or_else(|| Some(named("HOME")?.join(".cache")));
    let cache = cache.ok_or("there is no place for recordings: neither XDG_CACHE_HOME nor HOME is set")?;
    let folder = cache.join("waykeeper/recordings");
    let cannot = |error: io::Error| format!("recordings cannot be kept in {}: {error}", folder.display());
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(cannot)?;
    let found = std::fs::symlink_metadata(&folder).map_err(cannot)?;
    let (owner, own) = (found.uid(), rustix::process::geteuid().as_raw());
    if found.mode() & 0o022 != 0 {
        return Err(format!(
            "recordings cannot be kept in {}, where others can write (mode {:o}); `chmod go-w` would do",
            folder.display(),
            found.mode() & 0o777
        ));
    }
    if owner != own {
        return Err(format!(
            "recordings cannot be kept in {}, which belongs to user {owner} and not to {own}; set XDG_CACHE_HOME to a folder \
             of your own",
            folder.display()
        ));
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_content_is_another_recording() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).into_os_string();
        for (of, text) in [("program", "1"), ("config", "2")] {
            std::fs::write(file(of), text).unwrap();
        }
        let command = vec![file("program"), "--config".into(), file("config")];
        let named = |passes: &Passes| name(&command, passes, "").unwrap();
        let first = named(&Passes::Process);
        assert_eq!((first.len(), first == named(&Passes::Process)), (64, true));
        assert_ne!(first, named(&Passes::default()));
        for (of, before, after) in [("program", "1", "3"), ("config", "2", "4")] {
            std::fs::write(file(of), after).unwrap();
            assert_ne!(first, named(&Passes::Process), "{of}");
            std::fs::write(file(of), before).unwrap();
            assert_eq!(first, named(&Passes::Process), "{of}");
        }
    }
}
