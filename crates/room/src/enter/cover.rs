//! Covers a folder of the host with one that can be changed: the rest of it stays where it was.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind, move_mount, open_tree};

/// Something of a covered folder that is put back.
enum Kept {
    Link(PathBuf),
    /// A device that can be made again.
    Device(FileType, u64, u32),
    Mount {
        tree: OwnedFd,
        directory: bool,
    },
}

/// Adds the path to an error of the system.
pub(super) fn at(path: &Path, what: &str) -> impl FnOnce(io::Error) -> io::Error {
    let text = format!("{what} {}", path.display());
    move |error| io::Error::new(error.kind(), format!("{text}: {error}"))
}

/// Whether the kernel can take a mount in one place and put it in another.
///
/// # Errors
/// A kernel before 5.2: a folder that is covered could not get back what it had.
pub(super) fn can_move_mounts() -> io::Result<()> {
    match open_tree(CWD, "/", OpenTreeFlags::OPEN_TREE_CLOEXEC) {
        Err(Errno::NOSYS) => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this kernel has no open_tree; a room needs Linux 5.2 or later, and one whose filters of system calls let it through",
        )),
        _ => Ok(()),
    }
}

/// Mounts an empty tmpfs over a folder and puts everything back but the names in `without`.
pub(super) fn cover(folder: &Path, without: &[&str]) -> io::Result<()> {
    let mut kept: Vec<(OsString, Kept)> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(at(folder, "cannot list"))?.flatten() {
        let name = entry.file_name();
        if without.iter().any(|without| name == *without) {
            continue;
        }
        // What cannot be taken along is left out: it belongs to somebody else.
        if let Ok(what) = keep(&entry.path()) {
            kept.push((name, what));
        }
    }
    let flags = MountFlags::NOSUID;
    mount("waykeeper", folder, "tmpfs", flags, c"mode=755")
        .map_err(|error| at(folder, "cannot mount a tmpfs over")(error.into()))?;
    for (name, what) in kept {
        let path = folder.join(name);
        // The rest of a host's folder is a convenience; the room works without it.
        let _ = put_back(&path, what);
    }
    Ok(())
}

fn keep(path: &Path) -> io::Result<Kept> {
    let seen = path.symlink_metadata()?;
    let kind = seen.file_type();
    if kind.is_symlink() {
        return Ok(Kept::Link(std::fs::read_link(path)?));
    }
    if kind.is_char_device() || kind.is_block_device() {
        let kind = if kind.is_char_device() { FileType::CharacterDevice } else { FileType::BlockDevice };
        if rustix::process::geteuid().is_root() && !in_user_namespace() {
            return Ok(Kept::Device(kind, seen.rdev(), seen.mode() & 0o7777));
        }
    }
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    Ok(Kept::Mount { tree: open_tree(CWD, path, flags)?, directory: kind.is_dir() })
}

fn put_back(path: &Path, what: Kept) -> io::Result<()> {
    match what {
        Kept::Link(to) => std::os::unix::fs::symlink(to, path)?,
        Kept::Device(kind, number, mode) => {
            rustix::fs::mknodat(CWD, path, kind, Mode::from_raw_mode(mode), number)?;
            rustix::fs::chmod(path, Mode::from_raw_mode(mode))?;
        }
        Kept::Mount { tree, directory } => {
            if directory {
                std::fs::create_dir(path)?;
            } else {
                std::fs::write(path, b"")?;
            }
            move_mount(&tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        }
    }
    Ok(())
}

/// A device node that a user namespace makes cannot be opened.
fn in_user_namespace() -> bool {
    std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| {
        let fields: Vec<_> = map.split_whitespace().collect();
        fields != ["0", "0", "4294967295"]
    })
}

/// Mounts a file or folder at another place too.
pub(super) fn bind(from: &Path, to: &Path) -> io::Result<()> {
    mount_bind(from, to).map_err(|error| at(to, "cannot bind over")(error.into()))
}

/// Mounts a file on a path itself, also where that is a symbolic link.
pub(super) fn lay_over(from: &Path, to: &Path) -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(CWD, from, flags).map_err(|error| at(from, "cannot take")(error.into()))?;
    move_mount(&tree, "", CWD, to, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(|error| at(to, "cannot lay over")(error.into()))
}
