//! Enters a room: a command in mount and process namespaces of its own, where the platform's files are in their places.
//!
//! Three processes matter. The one that is called stays outside and waits. Its child is the first process of the new
//! process namespace: it serves the files, so the kernel reports its clients by the room's numbers, and with it ends
//! everything inside. The command is that one's child. Whichever of the first two is killed, the other ends too.

mod cover;
mod cpus;
mod inside;
mod mounts;
mod syscalls;

use std::ffi::OsString;
use std::io;

use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use waykeeper_platform::Platform;
use waykeeper_resctrl::KernelRelease;

use crate::backing::Backing;
use crate::load::PlacedLoad;

/// What happens in a room.
pub struct RoomEntry {
    /// The platform.
    pub platform: Platform,
    /// The kernel that is seen on it.
    pub kernel: KernelRelease,
    /// What stands behind the files.
    pub backing: Box<dyn Backing>,
    /// What runs there from the start.
    pub loads: Vec<PlacedLoad>,
    /// The command and its arguments; a shell if it is empty.
    pub command: Vec<OsString>,
}

/// What a user reads of a room whose first process was killed.
fn lost(signal: i32) -> String {
    format!(
        "the room is gone: signal {signal} ended the process that serves its files. Everything that ran in the room ended with \
         it, and what was set there is lost; its files stood in a mount namespace of its own, so that nothing of this machine \
         has to be undone. Enter it again for a new room"
    )
}

/// The exit status of a room that could not be made.
const CANNOT: i32 = 3;

/// Makes a room, runs the command in it, and returns its exit status: 128 and the signal's number if one ended it.
/// It is to be called from a process with one thread.
///
/// # Errors
/// What the system refuses before the room is there. Later trouble is reported on standard error, with status 3.
pub fn enter(entry: RoomEntry) -> io::Result<i32> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    let mut namespaces = UnshareFlags::NEWNS | UnshareFlags::NEWPID;
    if !uid.is_root() {
        namespaces |= UnshareFlags::NEWUSER;
    }
    // SAFETY: no file descriptors or memory are unshared, and there is one thread.
    unsafe { unshare_unsafe(namespaces) }.map_err(|error| {
        io::Error::other(format!(
            "mount and process namespaces cannot be made ({error}); run it as root, or allow user namespaces"
        ))
    })?;
    if !uid.is_root() {
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("0 {} 1", uid.as_raw()))?;
        std::fs::write("/proc/self/gid_map", format!("0 {} 1", gid.as_raw()))?;
    }
    // Its other end closes when this process ends, however that happens.
    let (alive, held) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    // SAFETY: there is one thread, so the child is a whole copy of this process.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(held);
            let status = inside::run(entry, &alive).unwrap_or_else(|error| {
                eprintln!("error: the room cannot be made: {error}");
                CANNOT
            });
            std::process::exit(status)
        }
        child => {
            // Ctrl-C is for the command. SAFETY: setting a disposition touches nothing else.
            unsafe {
                libc::signal(libc::SIGINT, libc::SIG_IGN);
                libc::signal(libc::SIGQUIT, libc::SIG_IGN);
            }
            let child = Pid::from_raw(child).ok_or_else(|| io::Error::other("fork gave no process"))?;
            loop {
                match waitpid(Some(child), WaitOptions::empty()) {
                    Ok(Some((_, status))) => {
                        // The status of a command that a signal ended is one of the child's own.
                        if let Some(signal) = status.terminating_signal() {
                            eprintln!("error: {}", lost(signal));
                        }
                        let signal = status.terminating_signal().map(|signal| 128 + signal);
                        return Ok(status.exit_status().or(signal).unwrap_or(CANNOT));
                    }
                    Ok(None) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
}
