//! A process that unmounts when its parent did not: after kill -9 nobody else would.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::mount::UnmountFlags;
use waykeeper_linux::mounts::{MountId, MountPoint};

/// The process. It ends with its parent, or when this is dropped.
#[derive(Debug)]
pub struct Watchdog {
    line: File,
}

/// The mount is there; what it is follows.
const MOUNTED: u8 = b'm';
/// The mount was removed in an orderly manner.
const UNMOUNTED: u8 = b'u';

impl Watchdog {
    /// Starts it for a folder. It is to be called before any thread is started: the child runs on without exec.
    ///
    /// # Errors
    /// When no process can be made.
    pub fn start(folder: &Path) -> io::Result<Self> {
        let place = MountPoint::of(folder)?;
        let (end, line): (OwnedFd, OwnedFd) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // SAFETY: the process has one thread, so the child is a whole copy of it.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(line);
                // SAFETY: plain system calls on strings that end with a NUL.
                unsafe {
                    // Signals from the terminal are for the parent.
                    libc::setsid();
                    libc::prctl(libc::PR_SET_NAME, c"wk-unmount".as_ptr());
                }
                if let Some(mounted) = last_mounted(File::from(end)) {
                    let _ = place.unmount_from_there(mounted, UnmountFlags::DETACH);
                }
                // SAFETY: ends this process without running what belongs to the parent.
                unsafe { libc::_exit(0) }
            }
            _ => Ok(Self { line: File::from(line) }),
        }
    }

    /// The mount is there: from now on it would be removed.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn mounted(&mut self, mount: MountId) -> io::Result<()> {
        let mut line = vec![MOUNTED];
        line.extend(mount.to_bytes());
        self.line.write_all(&line)
    }

    /// The mount is gone already.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn unmounted(&mut self) -> io::Result<()> {
        self.line.write_all(&[UNMOUNTED])
    }
}

/// What is mounted when the other end closes.
fn last_mounted(mut end: File) -> Option<MountId> {
    let mut mounted = None;
    let mut word = [0];
    while end.read_exact(&mut word).is_ok() {
        let mut id = [0; 18];
        mounted = match word[0] {
            MOUNTED => end.read_exact(&mut id).ok().map(|()| MountId::from_bytes(id)),
            _ => None,
        };
    }
    mounted
}
