//! The system calls of the model's operations.

use std::ffi::OsStr;
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use waykeeper_resctrl::{DirectoryEntry, FileOperation};

/// What a call answered: content where there is one, or the error number.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    Done,
    Bytes(Vec<u8>),
    Entries(Vec<DirectoryEntry>),
    /// Directory, permissions, links, owner, group, size.
    Attributes(bool, u32, u64, u32, u32, u64),
}

fn at(root: &Path, path: &[u8]) -> PathBuf {
    if path.is_empty() { root.to_owned() } else { root.join(OsStr::from_bytes(path)) }
}

/// Does on files what an operation does on the model.
pub fn call(root: &Path, operation: &FileOperation) -> Result<Said, i32> {
    try_call(root, operation).map_err(|error| error.raw_os_error().unwrap_or(-1))
}

fn try_call(root: &Path, operation: &FileOperation) -> std::io::Result<Said> {
    match operation {
        FileOperation::Read { path } => {
            let mut content = Vec::new();
            std::fs::File::open(at(root, path))?.read_to_end(&mut content)?;
            Ok(Said::Bytes(content))
        }
        FileOperation::Write { path, data } => {
            let written = OpenOptions::new().write(true).open(at(root, path))?.write(data)?;
            assert_eq!(written, data.len());
            Ok(Said::Done)
        }
        FileOperation::Mkdir { path, mode } => {
            DirBuilder::new().mode(*mode).create(at(root, path)).map(|()| Said::Done)
        }
        FileOperation::Rmdir { path } => std::fs::remove_dir(at(root, path)).map(|()| Said::Done),
        FileOperation::Rename { from, to } => std::fs::rename(at(root, from), at(root, to)).map(|()| Said::Done),
        FileOperation::Readdir { path } => {
            let entries = std::fs::read_dir(at(root, path))?.map(|entry| {
                let entry = entry?;
                let directory = entry.file_type()?.is_dir();
                Ok(DirectoryEntry { name: entry.file_name().as_bytes().to_vec(), directory })
            });
            entries.collect::<std::io::Result<_>>().map(Said::Entries)
        }
        FileOperation::Getattr { path } => {
            let seen = std::fs::symlink_metadata(at(root, path))?;
            let mode = seen.mode() & 0o7777;
            Ok(Said::Attributes(seen.is_dir(), mode, seen.nlink(), seen.uid(), seen.gid(), seen.size()))
        }
        FileOperation::Chmod { path, mode } => {
            std::fs::set_permissions(at(root, path), Permissions::from_mode(*mode)).map(|()| Said::Done)
        }
        FileOperation::Unlink { path } => {
            rustix::fs::unlink(at(root, path)).map(|()| Said::Done).map_err(std::io::Error::from)
        }
        FileOperation::Create { path } => {
            OpenOptions::new().write(true).create(true).truncate(false).open(at(root, path)).map(|_| Said::Done)
        }
    }
}
