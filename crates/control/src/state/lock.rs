//! The lock, and who holds it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, flock, fstat};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};
use waykeeper_linux::Root;

use super::StateDirectory;
use crate::host::HostSystem;
use crate::system::System;

/// Only who may open it can hold it, and so hold others up.
const LOCK: &str = "lock";
/// Who holds the lock, for everybody to read.
const AT_WORK: &str = "at-work";
/// The longest text about the holder that is read, in bytes.
const LONGEST: u64 = 64 << 10;

/// Who works on a machine, as reported to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// What it does, such as `apply tcc-halves`.
    pub work: String,
}

/// A holder in the file about it.
#[derive(Serialize, Deserialize)]
struct AtWork {
    #[serde(flatten)]
    holder: Holder,
    /// When the process began, in clock ticks after boot: a later one with its number began later.
    began: Option<u64>,
}

impl AtWork {
    fn lives(&self) -> bool {
        let Some(pid) = i32::try_from(self.holder.pid).ok().and_then(Pid::from_raw) else { return false };
        if test_kill_process(pid) == Err(Errno::SRCH) {
            return false;
        }
        // A process that may not be looked at may be the one.
        let now = began(self.holder.pid);
        now.is_none() || self.began.is_none() || now == self.began
    }
}

fn began(pid: u32) -> Option<u64> {
    HostSystem::of(Root::default()).task(i32::try_from(pid).ok()?).map(|facts| facts.began)
}

/// The lock, as long as this lives.
#[derive(Debug)]
pub struct StateLock {
    at_work: Option<File>,
    _lock: File,
}

impl Drop for StateLock {
    fn drop(&mut self) {
        // Where this cannot be done, the process is found to have ended.
        let _ = self.at_work.as_ref().map(|file| file.set_len(0));
    }
}

/// Why the lock could not be taken.
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
    /// Others have a hand in the directory.
    #[error("the state directory: {0}")]
    Untrusted(super::Untrusted),
}

fn by(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |holder| format!(" (process {}: {})", holder.pid, holder.work))
}

impl StateDirectory {
    /// Takes the lock, without waiting. The kernel lets go of it when this process ends, however it ends.
    ///
    /// # Errors
    /// Where somebody else has it, or the directory cannot be used.
    pub fn lock(&self, work: &str) -> Result<StateLock, LockError> {
        self.try_lock(work).map_err(|error| self.unusable(error))?.map_err(LockError::Taken)
    }

    fn unusable(&self, error: io::Error) -> LockError {
        match error.get_ref().and_then(|cause| cause.downcast_ref::<super::Untrusted>()) {
            Some(untrusted) => LockError::Untrusted(untrusted.clone()),
            None => LockError::Unusable { path: self.path.clone(), error },
        }
    }

    fn try_lock(&self, work: &str) -> io::Result<Result<StateLock, Option<Holder>>> {
        let directory = self.make()?;
        let lock = self.open(&directory, LOCK, OFlags::RDWR | OFlags::CREATE, 0o600)?;
        if fstat(&lock)?.st_mode & 0o077 != 0 {
            // Version 0.1.0 made it so that everybody could open it.
            fchmod(&lock, Mode::from_raw_mode(0o600))?;
        }
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(Err(self.read_holder(&directory).ok().flatten().flatten())),
            Err(error) => return Err(error.into()),
        }
        // A full disk does not stop a restore: the others then only see that somebody is at work.
        let at_work = self.write_holder(&directory, work).ok();
        Ok(Ok(StateLock { at_work, _lock: lock }))
    }

    fn write_holder(&self, directory: &OwnedFd, work: &str) -> io::Result<File> {
        let mut file = self.open(directory, AT_WORK, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, 0o644)?;
        let pid = std::process::id();
        let at_work = AtWork { holder: Holder { pid, work: work.into() }, began: began(pid) };
        file.write_all(&serde_json::to_vec(&at_work)?)?;
        Ok(file)
    }

    /// Who has the lock now, if anybody has. Takes no lock.
    ///
    /// # Errors
    /// Where that cannot be seen.
    pub fn holder(&self) -> io::Result<Option<Option<Holder>>> {
        self.find()?.map_or(Ok(None), |directory| self.read_holder(&directory))
    }

    fn read_holder(&self, directory: &OwnedFd) -> io::Result<Option<Option<Holder>>> {
        let file = match self.open(directory, AT_WORK, OFlags::RDONLY, 0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut text = Vec::new();
        file.take(LONGEST).read_to_end(&mut text)?;
        if text.is_empty() {
            return Ok(None);
        }
        match serde_json::from_slice::<AtWork>(&text) {
            Ok(at_work) => Ok(at_work.lives().then_some(Some(at_work.holder))),
            // It is about to be written.
            Err(_) => Ok(Some(None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_second_is_told_who_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDirectory::at(folder.path().join("new"));
        assert_eq!(state.holder().unwrap(), None);
        let held = state.lock("apply halves").unwrap();
        let refused = state.lock("restore").unwrap_err().to_string();
        let expected = format!("another Waykeeper is at work (process {}: apply halves)", std::process::id());
        assert!(refused.starts_with(&expected), "{refused}");
        let holder = state.holder().unwrap().flatten();
        assert_eq!(holder.map(|holder| holder.work).as_deref(), Some("apply halves"));
        drop(held);
        assert_eq!(state.holder().unwrap(), None);
        state.lock("restore").unwrap();
    }

    #[test]
    fn nobody_else_can_open_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDirectory::at(folder.path());
        // As version 0.1.0 left it.
        let lock = folder.path().join(LOCK);
        for before in [None, Some(0o644)] {
            if let Some(before) = before {
                std::fs::set_permissions(&lock, PermissionsExt::from_mode(before)).unwrap();
            }
            drop(state.lock("restore").unwrap());
            assert_eq!(lock.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn who_was_killed_is_not_at_work() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDirectory::at(folder.path());
        let own = std::process::id();
        let text = |pid: u32, began: u64| format!(r#"{{"pid":{pid},"work":"apply x","began":{began}}}"#);
        // The same number, and another process: this one began later than the boot.
        std::fs::write(folder.path().join(AT_WORK), text(own, 0)).unwrap();
        assert_eq!(state.holder().unwrap(), None);
        std::fs::write(folder.path().join(AT_WORK), text(u32::MAX, 0)).unwrap();
        assert_eq!(state.holder().unwrap(), None);
        std::fs::write(folder.path().join(AT_WORK), text(own, began(own).unwrap())).unwrap();
        assert_eq!(state.holder().unwrap().flatten().map(|holder| holder.pid), Some(own));
    }

    #[test]
    fn nothing_but_a_file_of_its_own_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDirectory::at(folder.path().join("state"));
        std::fs::create_dir(state.path()).unwrap();
        std::fs::write(folder.path().join("victim"), "theirs").unwrap();
        std::os::unix::fs::symlink("../victim", state.path().join(LOCK)).unwrap();
        let refused = state.lock("restore").unwrap_err().to_string();
        assert!(refused.contains("/state/lock: a symbolic link; expected the thing itself"), "{refused}");
        std::fs::remove_file(state.path().join(LOCK)).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, state.path().join(LOCK), Mode::from_raw_mode(0o600)).unwrap();
        let refused = state.lock("restore").unwrap_err().to_string();
        assert!(refused.contains("/state/lock: no regular file"), "{refused}");
        assert_eq!(std::fs::read_to_string(folder.path().join("victim")).unwrap(), "theirs");
    }
}
