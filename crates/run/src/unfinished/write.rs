//! Appending to the log of repeats.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use serde::Serialize;

use super::{Header, JournalEntry, REPEATS_FILE};
use crate::folder::{EXPERIMENT_FILE, expect_empty};

/// Locks a run's folder for the one process that measures into it, until the file is closed.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] where another process has it.
pub fn lock(folder: &Path) -> io::Result<File> {
    let held = File::from(open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?);
    flock(&held, FlockOperation::NonBlockingLockExclusive)?;
    Ok(held)
}

/// The log of a run that is being measured.
#[derive(Debug)]
pub struct Log {
    folder: PathBuf,
    /// The file and where its last whole line ends; none before the first repeat has ended.
    file: Option<(File, u64)>,
}

impl Log {
    /// A log that begins with its first repeat.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), file: None }
    }

    /// Goes on after the last whole line, which ends at `end` bytes.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn reopen(folder: &Path, end: u64) -> io::Result<Self> {
        let path = folder.join(REPEATS_FILE);
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(open(path, flags, Mode::empty())?);
        file.set_len(end)?;
        file.sync_all()?;
        Ok(Self { folder: folder.to_owned(), file: Some((file, end)) })
    }

    /// Whether a repeat is in it, or was.
    pub fn is_begun(&self) -> bool {
        self.file.is_some()
    }

    /// Makes the files with the header in them. `repeats.log` has its name only once the header is whole.
    ///
    /// # Errors
    /// Files that cannot be written.
    pub fn begin(&mut self, header: &Header, experiment_toml: &str) -> io::Result<()> {
        expect_empty(&self.folder)?;
        put(&self.folder, EXPERIMENT_FILE, experiment_toml.as_bytes())?;
        let line = line(header)?;
        if let Err(error) = put(&self.folder, REPEATS_FILE, &line) {
            // A later repeat tries again, in an empty folder.
            let _ = fs::remove_file(self.folder.join(EXPERIMENT_FILE));
            return Err(error);
        }
        *self = Self::reopen(&self.folder, line.len() as u64)?;
        Ok(())
    }

    /// Appends a line and waits until the disk has it. One that is not whole is removed again.
    ///
    /// # Errors
    /// A disk that is full, a file that cannot be written; a log without a header.
    pub fn append(&mut self, entry: &JournalEntry) -> io::Result<()> {
        let line = line(entry)?;
        let (file, end) = self.file.as_mut().ok_or_else(|| io::Error::other("the log has no header yet"))?;
        if let Err(error) = file.write_all_at(&line, *end).and_then(|()| file.sync_data()) {
            let _ = file.set_len(*end);
            return Err(error);
        }
        *end += line.len() as u64;
        Ok(())
    }
}

fn line(record: &impl Serialize) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(record)?;
    let mut line = format!("{:08x} ", crc32fast::hash(&json)).into_bytes();
    line.extend(json);
    line.push(b'\n');
    Ok(line)
}

/// Writes a file under another name first: under its own it is whole, and on the disk.
pub(crate) fn put(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let part = folder.join(format!("{name}.part"));
    let whole = || -> io::Result<()> {
        // What a killed run left of it goes; a link that somebody put there is not followed.
        match fs::remove_file(&part) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::create_new(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, folder.join(name))?;
        File::open(folder)?.sync_all()
    };
    let outcome = whole();
    if outcome.is_err() {
        let _ = fs::remove_file(&part);
    }
    outcome
}
