//! Mounts a FUSE file system without a helper program.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use fuser::{BackgroundSession, Config, Filesystem, Notifier, Session, SessionACL};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount};
use waykeeper_linux::mounts::{MountId, MountPoint};

use crate::room::Shared;

/// Threads that answer. A request takes microseconds; a few keep one that waits for the simulation from holding others.
const THREADS: usize = 4;

/// A mounted file system. It is unmounted when this is dropped.
#[derive(Debug)]
pub struct Mounted {
    at: PathBuf,
    place: MountPoint,
    /// What is unmounted: whatever else others put at the place stays.
    id: MountId,
    session: Option<BackgroundSession>,
    /// The kernel reports here when the file system has ended.
    device: OwnedFd,
    tree: Option<Tree>,
}

/// The mount of resctrl's model that a mounted file system shows.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub shared: Arc<Shared>,
    pub instance: u64,
    /// Takes the way by which the files tell the kernel what it is to forget.
    pub kernel: Arc<OnceLock<Notifier>>,
}

impl Mounted {
    /// Mounts at a folder. `kind` is shown as the type, behind `fuse.`; `source` as what is mounted.
    pub(crate) fn new(
        files: impl Filesystem,
        at: &Path,
        kind: &str,
        source: &str,
        tree: Option<Tree>,
    ) -> io::Result<Self> {
        let explain = |what: &str, error: Errno| {
            let error = io::Error::from(error);
            io::Error::new(error.kind(), format!("{what}: {error}"))
        };
        let device = open_device()?;
        let watched = rustix::io::fcntl_dupfd_cloexec(&device, 0).map_err(|error| explain("/dev/fuse", error))?;
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        let number = device.as_raw_fd();
        let data = format!("fd={number},rootmode=40000,user_id={uid},group_id={gid},allow_other,default_permissions");
        let data = CString::new(data).expect("numbers have no NUL");
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RELATIME;
        let place = MountPoint::of(at)?;
        let kind = format!("fuse.{kind}");
        let folder = place.folder()?;
        mount(source, by_descriptor(folder.as_fd(), at), kind.as_str(), flags, data.as_c_str())
            .map_err(|error| explain(&format!("{} cannot be mounted on", at.display()), error))?;
        drop(folder);
        let id = place.mounted()?;
        let mut config = Config::default();
        config.acl = SessionACL::All;
        config.n_threads = Some(THREADS);
        let session = Session::from_fd(files, device, SessionACL::All, config).and_then(|session| {
            // Nobody else sets it.
            let _ = tree.as_ref().map(|tree| tree.kernel.set(session.notifier()));
            session.spawn()
        });
        let session = session.inspect_err(|_| {
            let _ = place.unmount(id, UnmountFlags::DETACH);
        })?;
        Ok(Self { at: at.to_owned(), place, id, session: Some(session), device: watched, tree })
    }

    /// Where it is.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// What distinguishes it from everything else that may be mounted there.
    pub fn id(&self) -> MountId {
        self.id
    }

    /// Whether somebody else unmounted it.
    pub fn is_gone(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.guard.is_finished())
    }

    /// Unmounts it, as umount2(2) with these flags, and lets the model follow if that ended it. EINVAL where something else
    /// is at its place.
    pub(crate) fn unmount(&self, flags: UnmountFlags) -> Result<(), Errno> {
        self.place.unmount(self.id, flags)?;
        self.follow();
        Ok(())
    }

    /// Lets the model be unmounted if the file system has ended: nobody has it mounted or open any more.
    pub(crate) fn follow(&self) {
        if self.has_ended()
            && let Some(tree) = &self.tree
        {
            tree.shared.unmounted(tree.instance);
        }
    }

    /// Whether the kernel has let go of the file system.
    fn has_ended(&self) -> bool {
        let mut device = [PollFd::new(&self.device, PollFlags::empty())];
        let polled = poll(&mut device, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        polled.is_ok() && device[0].revents().contains(PollFlags::ERR)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            // What is at its place then may be another mount.
            if !self.has_ended() {
                // Open files keep a mount busy; a detached one is out of sight at once.
                let _ = self.unmount(UnmountFlags::DETACH);
            }
            // Whoever ended it: the thread that serves it may not have seen the end yet.
            self.follow();
            drop(session);
        }
    }
}

/// A path that leads to an opened folder and nowhere else; its own path where there is no /proc.
fn by_descriptor(folder: BorrowedFd<'_>, at: &Path) -> PathBuf {
    let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    if path.is_dir() { path } else { at.to_owned() }
}

/// The kernel's end of a new file system.
fn open_device() -> io::Result<OwnedFd> {
    rustix::fs::open("/dev/fuse", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(|error| {
        let error = io::Error::from(error);
        let help = match error.kind() {
            io::ErrorKind::PermissionDenied => {
                " for this user; `chmod 666 /dev/fuse` by root allows it, as most distributions do"
            }
            io::ErrorKind::NotFound => "; `modprobe fuse` by root makes it, in a container `--device /dev/fuse`",
            _ => "",
        };
        io::Error::new(error.kind(), format!("/dev/fuse cannot be opened{help} ({error})"))
    })
}
