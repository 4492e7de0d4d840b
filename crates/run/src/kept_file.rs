//! Files of a run's folder, which may be anybody's: a pipe holds nobody up, and what has no end is not read for ever.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

/// Far more than the largest run has: a thousand repeats of a hundred cases are some hundred megabytes.
const MOST_BYTES: u64 = 1 << 30;

/// Opens a file that must be a regular one; links are followed unless `flags` forbid it.
///
/// # Errors
/// What cannot be opened, or is none.
pub fn open_regular(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no regular file")),
    }
}

/// The bytes of a file of a run's folder.
///
/// # Errors
/// What cannot be opened, is no regular file, or is longer than 1 GiB.
pub(crate) fn read_kept(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path, OFlags::empty())?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 1 GiB, and so no file of a run")),
        false => Ok(bytes),
    }
}
