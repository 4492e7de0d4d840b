//! What is mounted at a place, known again later: whoever mounts something unmounts that and nothing else.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, openat, statx};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::fchdir;
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// STATX_MNT_ID_UNIQUE of Linux 6.8 (linux/stat.h): the number of a mount that no later one ever has.
const UNIQUE: StatxFlags = StatxFlags::from_bits_retain(0x4000);
/// AT_STATX_DONT_SYNC (linux/fcntl.h): a file system whose program hangs is not asked.
const DONT_SYNC: AtFlags = AtFlags::from_bits_retain(0x4000);

/// A place where something can be mounted: the directory that holds it, kept open, and its name there.
#[derive(Debug)]
pub struct MountPoint {
    parent: OwnedFd,
    name: OsString,
}

/// A mount. Before Linux 6.8 a later one may have the same number, and before 5.8 there is none; the device of the file
/// system distinguishes most of them then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountId {
    number: Option<u64>,
    is_unique: bool,
    device: (u32, u32),
}

impl MountId {
    /// The device of the file system, `MAJOR:MINOR`: the same in every mount namespace.
    pub fn device(&self) -> String {
        format!("{}:{}", self.device.0, self.device.1)
    }

    /// The number of the mount: another one in each mount namespace, and `unique` where no later mount can have it.
    pub fn number(&self) -> Option<String> {
        Some(format!("{}{}", if self.is_unique { "unique " } else { "" }, self.number?))
    }
}

impl MountPoint {
    /// The place that a path leads to now. Later on it stays the same place, whatever becomes of the path.
    ///
    /// # Errors
    /// What the system says; `/` is in no directory.
    pub fn of(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{}: no name in a directory", path.display()),
            ));
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { parent: rustix::fs::open(parent, flags, Mode::empty())?, name: name.to_owned() })
    }

    /// What is there now: the folder itself, or the root of what is mounted on it last.
    ///
    /// # Errors
    /// What the system says; a symbolic link in its place is no folder.
    pub fn folder(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.parent, &self.name, flags, Mode::empty())?)
    }

    /// The mount that a path at this place leads to now: the last one that was mounted there.
    ///
    /// # Errors
    /// What the system says.
    pub fn mounted(&self) -> io::Result<MountId> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | DONT_SYNC;
        let seen = statx(&self.parent, &self.name, flags, StatxFlags::TYPE | StatxFlags::MNT_ID | UNIQUE)?;
        let has = |flag: StatxFlags| seen.stx_mask & flag.bits() != 0;
        Ok(MountId {
            number: (has(StatxFlags::MNT_ID) || has(UNIQUE)).then_some(seen.stx_mnt_id),
            is_unique: has(UNIQUE),
            device: (seen.stx_dev_major, seen.stx_dev_minor),
        })
    }

    /// Unmounts this mount, as umount2(2) with these flags. Whatever else is at the place stays.
    ///
    /// # Errors
    /// What the system says; EINVAL where something else is at the place now.
    pub fn unmount(&self, only: MountId, flags: UnmountFlags) -> Result<(), Errno> {
        // A working directory of its own, so that nothing but the name is looked up: with it not even /proc is needed.
        let work = || {
            // SAFETY: nothing but the working directory of this new thread becomes its own.
            unsafe { unshare_unsafe(UnshareFlags::FS) }?;
            self.unmount_from_there(only, flags)
        };
        crate::thread::apart("unmount", work).ok().flatten().unwrap_or(Err(Errno::AGAIN))
    }

    /// The same in a process with one thread, whose working directory it changes.
    ///
    /// # Errors
    /// As [`MountPoint::unmount`].
    pub fn unmount_from_there(&self, only: MountId, flags: UnmountFlags) -> Result<(), Errno> {
        fchdir(self.parent.as_fd())?;
        if self.mounted().ok() != Some(only) {
            return Err(Errno::INVAL);
        }
        unmount(&self.name, flags | UnmountFlags::NOFOLLOW)
    }
}

impl MountId {
    /// As bytes, for another process.
    pub fn to_bytes(self) -> [u8; 18] {
        let mut bytes = [0; 18];
        bytes[0] = u8::from(self.number.is_some());
        bytes[1] = u8::from(self.is_unique);
        bytes[2..10].copy_from_slice(&self.number.unwrap_or(0).to_le_bytes());
        bytes[10..14].copy_from_slice(&self.device.0.to_le_bytes());
        bytes[14..].copy_from_slice(&self.device.1.to_le_bytes());
        bytes
    }

    /// From such bytes.
    pub fn from_bytes(bytes: [u8; 18]) -> Self {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let number = u64::from(word(2)) | u64::from(word(6)) << 32;
        Self { number: (bytes[0] == 1).then_some(number), is_unique: bytes[1] == 1, device: (word(10), word(14)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_on_the_mount_around_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let (a, around) = (MountPoint::of(&folder.path().join("a")).unwrap(), MountPoint::of(folder.path()).unwrap());
        assert_eq!(a.mounted().unwrap(), around.mounted().unwrap());
        // Nothing is mounted there: not even what the folder is on is unmounted.
        assert_eq!(a.unmount(around.mounted().unwrap(), UnmountFlags::empty()), Err(Errno::INVAL));
        let proc = MountPoint::of(Path::new("/proc")).unwrap();
        assert_ne!(proc.mounted().unwrap(), a.mounted().unwrap());
        assert_eq!(a.unmount(proc.mounted().unwrap(), UnmountFlags::DETACH), Err(Errno::INVAL));
        assert!(MountPoint::of(Path::new("/")).is_err());
    }

    #[test]
    fn a_mount_is_the_same_in_another_process() {
        let proc = MountPoint::of(Path::new("/proc")).unwrap().mounted().unwrap();
        assert_eq!(MountId::from_bytes(proc.to_bytes()), proc);
    }
}
