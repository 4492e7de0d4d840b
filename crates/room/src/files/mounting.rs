//! Mounts a FUSE file system without a helper program.

use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};

use fuser::{BackgroundSession, Config, Filesystem, Session, SessionACL};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// Threads that answer. A request takes microseconds; a few keep one that waits for the simulation from holding others.
const THREADS: usize = 4;

/// A mounted file system. It is unmounted when this is dropped.
#[derive(Debug)]
pub struct Mounted {
    at: PathBuf,
    session: Option<BackgroundSession>,
}

impl Mounted {
    /// Mounts at a folder. `kind` is shown as the type, behind `fuse.`.
    pub(crate) fn new(files: impl Filesystem, at: &Path, kind: &str) -> io::Result<Self> {
        let explain = |what: &str, error: rustix::io::Errno| {
            let error = io::Error::from(error);
            io::Error::new(error.kind(), format!("{what}: {error}"))
        };
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let device = rustix::fs::open("/dev/fuse", flags, Mode::empty())
            .map_err(|error| explain("/dev/fuse cannot be opened (its owner is root; a mount needs it)", error))?;
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        let number = std::os::fd::AsRawFd::as_raw_fd(&device);
        let data = format!("fd={number},rootmode=40000,user_id={uid},group_id={gid},allow_other,default_permissions");
        let data = CString::new(data).expect("numbers have no NUL");
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RELATIME;
        mount(kind, at, format!("fuse.{kind}").as_str(), flags, data.as_c_str())
            .map_err(|error| explain(&format!("{} cannot be mounted on", at.display()), error))?;
        let mut config = Config::default();
        config.acl = SessionACL::All;
        config.n_threads = Some(THREADS);
        let session = Session::from_fd(files, device, SessionACL::All, config).and_then(Session::spawn);
        let session = session.inspect_err(|_| {
            let _ = unmount(at, UnmountFlags::DETACH);
        })?;
        Ok(Self { at: at.to_owned(), session: Some(session) })
    }

    /// Where it is.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Whether somebody else unmounted it.
    pub fn is_gone(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.guard.is_finished())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            if !session.guard.is_finished() {
                // Open files keep a mount busy; a detached one is out of sight at once.
                let _ = unmount(self.at.as_path(), UnmountFlags::DETACH);
            }
            drop(session);
        }
    }
}
