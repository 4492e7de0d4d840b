//! Where the journal is kept, and the lock on it: the state directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

/// Keeps a journal. Whatever a call has returned from is on disk.
pub trait Store {
    /// All of it; `None` where there is none.
    ///
    /// # Errors
    /// What the system answered.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>>;
    /// Begins one: all of `bytes` is there afterwards, or nothing.
    ///
    /// # Errors
    /// What the system answered.
    fn create(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Adds to it. After a crash a part of `bytes` may be there.
    ///
    /// # Errors
    /// What the system answered.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Ends it.
    ///
    /// # Errors
    /// What the system answered.
    fn remove(&mut self) -> io::Result<()>;
}

/// A directory with one journal and one lock.
#[derive(Debug, Clone)]
pub struct StateDirectory {
    path: PathBuf,
}

/// Who works on a machine, as others are told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// What it does, such as `apply tcc-halves`.
    pub work: String,
}

/// The lock, as long as this lives.
#[derive(Debug)]
pub struct Held {
    _file: File,
}

/// Why the lock was not to be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error("another Waykeeper is at work{}; wait until it has ended", by(.0.as_ref()))]
    Taken(Option<Holder>),
    /// The directory cannot be used.
    #[error("the state directory {}: {error}; WAYKEEPER_STATE names another one, root may write to /run", path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

fn by(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |holder| format!(" (process {}: {})", holder.pid, holder.work))
}

impl StateDirectory {
    /// Where the state is by default. A file system in memory does: after a reboot nothing is applied any more.
    pub const DEFAULT: &str = "/run/waykeeper";

    /// That of this machine: what `WAYKEEPER_STATE` says, or the default.
    pub fn of_this_machine() -> Self {
        Self::named().unwrap_or_else(|| Self::at(Self::DEFAULT))
    }

    /// What `WAYKEEPER_STATE` says.
    pub fn named() -> Option<Self> {
        std::env::var_os("WAYKEEPER_STATE").filter(|name| !name.is_empty()).map(Self::at)
    }

    /// A directory, which need not be there yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    fn unusable(&self, error: io::Error) -> LockError {
        LockError::Unusable { path: self.path.clone(), error }
    }

    /// Takes the lock, without waiting. The kernel lets go of it when this process ends, however it ends.
    ///
    /// # Errors
    /// Where somebody else has it, or the directory cannot be used.
    pub fn lock(&self, work: &str) -> Result<Held, LockError> {
        self.try_lock(work).map_err(|error| self.unusable(error))?.map_err(LockError::Taken)
    }

    fn try_lock(&self, work: &str) -> io::Result<Result<Held, Option<Holder>>> {
        fs::DirBuilder::new().recursive(true).mode(0o755).create(&self.path)?;
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).mode(0o644).open(self.path.join("lock"))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut text = String::new();
                // The holder may be about to write it.
                let _ = file.read_to_string(&mut text);
                return Ok(Err(serde_json::from_str(&text).ok()));
            }
            Err(error) => return Err(error.into()),
        }
        let holder = serde_json::to_string(&Holder { pid: std::process::id(), work: work.into() })?;
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(holder.as_bytes())?;
        Ok(Ok(Held { _file: file }))
    }

    /// Who has the lock now, if anybody has.
    pub fn holder(&self) -> Option<Option<Holder>> {
        let mut file = File::open(self.path.join("lock")).ok()?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                Some(serde_json::from_str(&text).ok())
            }
            _ => None,
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

impl Store for StateDirectory {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.journal()) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(&mut self, bytes: &[u8]) -> io::Result<()> {
        let new = self.path.join("journal.new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, self.journal())?;
        self.sync_directory()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().append(true).open(self.journal())?;
        file.write_all(bytes)?;
        file.sync_data()
    }

    fn remove(&mut self) -> io::Result<()> {
        fs::remove_file(self.journal())?;
        self.sync_directory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDirectory::at(folder.path().join("new"));
        assert_eq!(state.holder(), None);
        let held = state.lock("apply halves").unwrap();
        let refused = state.lock("restore").unwrap_err().to_string();
        let expected = format!("another Waykeeper is at work (process {}: apply halves)", std::process::id());
        assert!(refused.starts_with(&expected), "{refused}");
        assert_eq!(state.holder().flatten().map(|holder| holder.work).as_deref(), Some("apply halves"));
        drop(held);
        assert_eq!(state.holder(), None);
        state.lock("restore").unwrap();
    }

    #[test]
    fn a_journal_is_created_added_to_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut state = StateDirectory::at(folder.path());
        assert_eq!(state.read().unwrap(), None);
        state.create(b"one\n").unwrap();
        state.append(b"two\n").unwrap();
        assert_eq!(state.read().unwrap().as_deref(), Some(&b"one\ntwo\n"[..]));
        state.remove().unwrap();
        assert_eq!(state.read().unwrap(), None);
    }
}
