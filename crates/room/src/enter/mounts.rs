//! What `mount -t resctrl` and `umount` do in a room.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::mount::UnmountFlags;
use waykeeper_resctrl::MountOptions;

use super::syscalls::{Answer, Call, answer, next, waits};
use crate::files::Mounted;
use crate::room::Shared;

/// The longest string that mount(2) takes.
const PAGE: usize = 4096;
/// Flags with which mount(2) mounts nothing new (linux/mount.h).
const NOTHING_NEW: libc::c_ulong = libc::MS_REMOUNT
    | libc::MS_BIND
    | libc::MS_MOVE
    | libc::MS_SHARED
    | libc::MS_PRIVATE
    | libc::MS_SLAVE
    | libc::MS_UNBINDABLE;
/// CAP_SYS_ADMIN (linux/capability.h).
const MAY_MOUNT: u64 = 1 << 21;

/// The room's mount of resctrl.
#[derive(Debug)]
pub(super) struct Mounts {
    shared: Arc<Shared>,
    present: Option<Mounted>,
}

impl Mounts {
    /// A room in which this is mounted at first.
    pub fn new(shared: Arc<Shared>, present: Option<Mounted>) -> Self {
        Self { shared, present }
    }

    /// Answers calls until the room ends.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn serve(mut self, listener: OwnedFd) -> io::Result<()> {
        let work = move || {
            while let Some(call) = next(listener.as_fd()) {
                let said = self.decide(&call, || waits(listener.as_fd(), &call));
                answer(listener.as_fd(), &call, said);
            }
        };
        std::thread::Builder::new().name("mounts".into()).spawn(work).map(drop)
    }

    fn decide(&mut self, call: &Call, still_waits: impl Fn() -> bool) -> Answer {
        let Ok(memory) = File::open(format!("/proc/{}/mem", call.pid)) else { return Answer::GoOn };
        let text = |at: usize| string(&memory, call.arguments[at]);
        if call.number == libc::SYS_umount2 {
            return match text(0).filter(|_| still_waits()) {
                Some(target) => self.unmount(call, &target),
                None => Answer::GoOn,
            };
        }
        let (source, target, kind, data) = (text(0), text(1), text(2), text(4));
        match (target, kind) {
            (Some(target), Some(kind))
                if kind == b"resctrl" && call.arguments[3] as libc::c_ulong & NOTHING_NEW == 0 && still_waits() =>
            {
                let mounted = self.mount(call, &source.unwrap_or_default(), &target, &data.unwrap_or_default());
                mounted.map_or_else(Answer::Failed, |()| Answer::Done)
            }
            _ => Answer::GoOn,
        }
    }

    fn mount(&mut self, call: &Call, source: &[u8], target: &[u8], data: &[u8]) -> Result<(), i32> {
        let number = |error: io::Error| error.raw_os_error().unwrap_or(libc::EIO);
        let at = resolved(call.pid, target).map_err(number)?;
        if !at.is_dir() {
            return Err(libc::ENOTDIR);
        }
        if !may_mount(call.pid) {
            return Err(libc::EPERM);
        }
        let options = options(data).ok_or(libc::EINVAL)?;
        // It may have ended since: a lazy unmount ends with the last open file.
        if let Some(present) = &self.present {
            present.follow();
        }
        let source = String::from_utf8_lossy(source);
        let mounted = self.shared.mount(&at, if source.is_empty() { "none" } else { &source }, options);
        // What was there is gone: only then the model can be mounted again.
        self.present = Some(mounted.map_err(number)?);
        Ok(())
    }

    fn unmount(&mut self, call: &Call, target: &[u8]) -> Answer {
        let Some(present) = &self.present else { return Answer::GoOn };
        let is_it = resolved(call.pid, target).is_ok_and(|target| target == present.at());
        if !is_it || !may_mount(call.pid) {
            return Answer::GoOn;
        }
        let flags = UnmountFlags::from_bits_retain(call.arguments[1] as u32);
        match present.unmount(flags) {
            Ok(()) => Answer::Done,
            Err(errno) => Answer::Failed(errno.raw_os_error()),
        }
    }
}

/// A string of a process.
fn string(memory: &File, address: u64) -> Option<Vec<u8>> {
    if address == 0 {
        return None;
    }
    let mut bytes = vec![0; PAGE];
    let mut length = 0;
    while length < PAGE {
        // A page at a time: the next one may not be there.
        let until = (PAGE - length).min(PAGE - (address as usize + length) % PAGE);
        match memory.read_at(&mut bytes[length..length + until], address + length as u64) {
            Ok(read) if read > 0 => length += read,
            _ => break,
        }
        if let Ok(text) = CStr::from_bytes_until_nul(&bytes[..length]) {
            return Some(text.to_bytes().to_vec());
        }
    }
    None
}

/// Where a path of a process leads.
fn resolved(pid: u32, path: &[u8]) -> io::Result<PathBuf> {
    if path.is_empty() {
        return Err(io::Error::from_raw_os_error(libc::ENOENT));
    }
    let path = Path::new(OsStr::from_bytes(path));
    let from = if path.is_absolute() { "root" } else { "cwd" };
    let within = path.strip_prefix("/").unwrap_or(path);
    Path::new(&format!("/proc/{pid}/{from}")).join(within).canonicalize()
}

/// Whether a process of the room may mount, in the room's own namespaces.
fn may_mount(pid: u32) -> bool {
    let same = |name: &str| {
        let of = |whose: &str| std::fs::read_link(format!("/proc/{whose}/ns/{name}")).ok();
        of(&pid.to_string()).is_some_and(|theirs| Some(theirs) == of("self"))
    };
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    effective & MAY_MOUNT != 0 && same("user") && same("mnt")
}

/// The options of a mount; none where one is unknown or has a value. What every file system takes is passed over.
fn options(data: &[u8]) -> Option<MountOptions> {
    let mut options = MountOptions::default();
    for word in data.split(|byte| *byte == b',') {
        match word {
            b"cdp" => options.cdp = true,
            b"cdpl2" => options.cdpl2 = true,
            b"mba_MBps" => options.mba_mbps = true,
            b"debug" => options.debug = true,
            b"" | b"ro" | b"rw" | b"sync" | b"async" | b"dirsync" | b"lazytime" | b"nolazytime" => {}
            _ => return None,
        }
    }
    Some(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_words_without_values() {
        let wanted = MountOptions { cdp: true, mba_mbps: true, ..MountOptions::default() };
        assert_eq!(options(b"rw,cdp,,mba_MBps"), Some(wanted));
        assert_eq!(options(b""), Some(MountOptions::default()));
        for bad in [&b"cdp=1"[..], b"CDP", b"size=4k"] {
            assert_eq!(options(bad), None);
        }
    }

    #[test]
    fn a_string_ends_with_its_nul_and_memory_that_is_not_there_has_none() {
        let text = c"resctrl";
        let memory = File::open("/proc/self/mem").unwrap();
        assert_eq!(string(&memory, text.as_ptr() as u64), Some(b"resctrl".to_vec()));
        assert_eq!(string(&memory, 0), None);
        assert_eq!(string(&memory, 64), None);
    }

    #[test]
    fn paths_are_those_of_the_process() {
        let own = std::process::id();
        assert_eq!(resolved(own, b"/proc/../usr").unwrap(), Path::new("/usr").canonicalize().unwrap());
        assert_eq!(resolved(own, b".").unwrap(), std::env::current_dir().unwrap());
        assert_eq!(resolved(own, b"/no/such").unwrap_err().raw_os_error(), Some(libc::ENOENT));
    }
}
