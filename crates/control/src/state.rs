//! The state directory: where the journal is kept, and the lock on it. What stands there decides what is written to the
//! machine, so nobody but root and the user of this process may have a hand in it.

mod guard;
mod lock;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, fallocate, renameat, unlinkat};
use rustix::io::Errno;
use waykeeper_linux::beneath::open_beneath;

pub use guard::Untrusted;
pub use lock::{Holder, LockError, StateLock};

use crate::store::Store;

/// A directory with one journal and one lock.
#[derive(Debug, Clone)]
pub struct StateDirectory {
    path: PathBuf,
}

/// The journal, and the name under which a new one is written.
const JOURNAL: &str = "journal";
const NEW: &str = "journal.new";
/// The longest journal that is read, in bytes: a thousand times the length of a long one.
const LONGEST: u64 = 64 << 20;

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

    /// The directory, checked; `None` where it is not there.
    fn find(&self) -> io::Result<Option<OwnedFd>> {
        guard::directory(&self.path, false)
    }

    /// The directory, checked; it is made where it is not there.
    fn make(&self) -> io::Result<OwnedFd> {
        Ok(guard::directory(&self.path, true)?.ok_or(Errno::NOENT)?)
    }

    /// A file in it, checked.
    fn open(&self, directory: &OwnedFd, name: &str, flags: OFlags, mode: u32) -> io::Result<File> {
        let path = self.path.join(name);
        // A pipe does not hold this process up.
        let opened = open_beneath(directory.as_fd(), name, flags | OFlags::NONBLOCK, Mode::from_raw_mode(mode));
        let file = File::from(opened.map_err(|error| guard::explained(&path, error))?);
        guard::file(&path, &file)?;
        Ok(file)
    }

    /// The journal to be written on.
    fn journal(&self) -> io::Result<File> {
        self.open(&self.make()?, JOURNAL, OFlags::WRONLY, 0)
    }

    fn write_new(&self, directory: &OwnedFd, bytes: &[u8], more: u64) -> io::Result<()> {
        remove_if_there(directory, NEW)?;
        let file = self.open(directory, NEW, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, 0o644)?;
        let end = bytes.len() as u64;
        let written = file.write_all_at(bytes, 0).and_then(|()| reserve(&file, end, more));
        written.and_then(|()| file.sync_all()).map_err(|error| no_space(&self.path, end + more, error))?;
        Ok(renameat(directory, NEW, directory, JOURNAL)?)
    }
}

/// Has space for bytes behind a place, whatever others write to the file system meanwhile.
fn reserve(file: &File, end: u64, more: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::KEEP_SIZE, end, more) {
        // Without such a call zeros stand behind the last line, and the next lines are written over them.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.write_all_at(&vec![0; more as usize], end),
        result => Ok(result?),
    }
}

fn no_space(path: &Path, more: u64, error: io::Error) -> io::Error {
    if !matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        return guard::explained(path, error);
    }
    let text = format!(
        "{}: {error}; {more} bytes are reserved before anything is written, so that a full disk cannot stop `waykeeper \
         restore`: free some space there, or name another directory with WAYKEEPER_STATE",
        path.display()
    );
    io::Error::new(error.kind(), text)
}

fn remove_if_there(directory: &OwnedFd, name: &str) -> io::Result<()> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn sync(directory: &OwnedFd) -> io::Result<()> {
    Ok(rustix::fs::fsync(directory)?)
}

impl Store for StateDirectory {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(directory) = self.find()? else { return Ok(None) };
        let file = match self.open(&directory, JOURNAL, OFlags::RDONLY, 0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut bytes = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LONGEST {
            let found = format!("longer than {} MiB", LONGEST >> 20);
            return Err(Untrusted::new(&self.path.join(JOURNAL), found, "a journal of this program").into());
        }
        Ok(Some(bytes))
    }

    fn create(&mut self, bytes: &[u8], more: u64) -> io::Result<()> {
        let directory = self.make()?;
        if let Err(error) = self.write_new(&directory, bytes, more) {
            // On a full disk half a journal would only be in the way.
            let _ = remove_if_there(&directory, NEW);
            return Err(error);
        }
        sync(&directory)
    }

    fn append(&mut self, end: u64, bytes: &[u8]) -> io::Result<()> {
        let file = self.journal()?;
        file.write_all_at(bytes, end)?;
        file.sync_data()
    }

    fn reserve(&mut self, end: u64, more: u64) -> io::Result<()> {
        let file = self.journal()?;
        reserve(&file, end, more).map_err(|error| no_space(&self.path, more, error))?;
        file.sync_data()
    }

    fn remove(&mut self) -> io::Result<()> {
        let directory = self.make()?;
        unlinkat(&directory, JOURNAL, AtFlags::empty())?;
        sync(&directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_created_added_to_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut state = StateDirectory::at(folder.path());
        assert_eq!(state.read().unwrap(), None);
        state.create(b"one\n", 1000).unwrap();
        state.append(4, b"two\n").unwrap();
        assert_eq!(state.read().unwrap().as_deref(), Some(&b"one\ntwo\n"[..]));
        // Over a line that was cut off.
        state.append(8, b"thr").unwrap();
        state.append(8, b"three\n").unwrap();
        assert_eq!(state.read().unwrap().as_deref(), Some(&b"one\ntwo\nthree\n"[..]));
        state.remove().unwrap();
        assert_eq!(state.read().unwrap(), None);
    }

    #[test]
    fn what_a_crash_left_half_written_is_no_obstacle() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(NEW), "half").unwrap();
        let mut state = StateDirectory::at(folder.path());
        assert_eq!(state.read().unwrap(), None);
        state.create(b"one\n", 10).unwrap();
        assert_eq!(state.read().unwrap().as_deref(), Some(&b"one\n"[..]));
    }
}
