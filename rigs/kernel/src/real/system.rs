//! System calls on the files of resctrl.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;

use waykeeper_resctrl::{DirectoryEntry, MountOptions};

use crate::step::Answer;

/// A result, or the error number.
pub type Full<T> = Result<T, i32>;

const MOUNT_POINT: &str = "/sys/fs/resctrl";

/// The mount point.
#[derive(Debug)]
pub struct System {
    _private: (),
}

/// The error number of the last call.
pub fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn check(result: i32) -> Full<i32> {
    if result < 0 { Err(errno()) } else { Ok(result) }
}

fn c_path(path: &[u8]) -> Full<CString> {
    let full = match path.is_empty() {
        true => MOUNT_POINT.into(),
        false => [MOUNT_POINT.as_bytes(), b"/", path].concat(),
    };
    CString::new(full).map_err(|_| libc::EINVAL)
}

/// An open file.
struct File(i32);

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the number is open and belongs to this value.
        unsafe { libc::close(self.0) };
    }
}

fn open(path: &CStr, flags: i32) -> Full<File> {
    // SAFETY: the path ends with a NUL.
    check(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o644) }).map(File)
}

fn read_all(file: &File) -> Full<Vec<u8>> {
    let mut content = Vec::new();
    let mut buffer = [0; 65536];
    loop {
        // SAFETY: the buffer is as long as is said.
        let length = unsafe { libc::read(file.0, buffer.as_mut_ptr().cast(), buffer.len()) };
        match usize::try_from(length) {
            Ok(0) => return Ok(content),
            Ok(length) => content.extend_from_slice(&buffer[..length]),
            Err(_) => return Err(errno()),
        }
    }
}

impl System {
    pub fn new() -> Self {
        System { _private: () }
    }

    pub fn mount(&self, options: MountOptions) -> Full<()> {
        let names =
            [(options.cdp, "cdp"), (options.cdpl2, "cdpl2"), (options.mba_mbps, "mba_MBps"), (options.debug, "debug")];
        let data: Vec<&str> = names.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect();
        let data = CString::new(data.join(",")).unwrap_or_default();
        let target = c_path(b"")?;
        let name = c"resctrl".as_ptr();
        // SAFETY: all texts end with a NUL.
        check(unsafe { libc::mount(name, target.as_ptr(), name, 0, data.as_ptr().cast()) }).map(drop)
    }

    pub fn unmount(&self) -> Full<()> {
        let target = c_path(b"")?;
        // SAFETY: the path ends with a NUL.
        check(unsafe { libc::umount2(target.as_ptr(), 0) }).map(drop)
    }

    pub fn read(&self, path: &[u8]) -> Full<Vec<u8>> {
        read_all(&open(&c_path(path)?, libc::O_RDONLY)?)
    }

    pub fn write(&self, path: &[u8], data: &[u8]) -> Full<()> {
        let file = open(&c_path(path)?, libc::O_WRONLY)?;
        // SAFETY: the buffer is as long as is said.
        let length = unsafe { libc::write(file.0, data.as_ptr().cast(), data.len()) };
        match usize::try_from(length) {
            Ok(length) if length == data.len() => Ok(()),
            // A short write is none of the errors that there are.
            Ok(_) => Err(-1),
            Err(_) => Err(errno()),
        }
    }

    pub fn mkdir(&self, path: &[u8], mode: u32) -> Full<()> {
        let path = c_path(path)?;
        // SAFETY: the path ends with a NUL.
        check(unsafe { libc::mkdir(path.as_ptr(), mode) }).map(drop)
    }

    pub fn rmdir(&self, path: &[u8]) -> Full<()> {
        let path = c_path(path)?;
        // SAFETY: the path ends with a NUL.
        check(unsafe { libc::rmdir(path.as_ptr()) }).map(drop)
    }

    pub fn unlink(&self, path: &[u8]) -> Full<()> {
        let path = c_path(path)?;
        // SAFETY: the path ends with a NUL.
        check(unsafe { libc::unlink(path.as_ptr()) }).map(drop)
    }

    pub fn rename(&self, from: &[u8], to: &[u8]) -> Full<()> {
        let (from, to) = (c_path(from)?, c_path(to)?);
        // SAFETY: the paths end with a NUL.
        check(unsafe { libc::rename(from.as_ptr(), to.as_ptr()) }).map(drop)
    }

    pub fn create(&self, path: &[u8]) -> Full<()> {
        open(&c_path(path)?, libc::O_WRONLY | libc::O_CREAT).map(drop)
    }

    pub fn chmod(&self, path: &[u8], mode: u32) -> Full<()> {
        let path = c_path(path)?;
        // SAFETY: the path ends with a NUL.
        check(unsafe { libc::chmod(path.as_ptr(), mode) }).map(drop)
    }

    fn stat(&self, path: &[u8]) -> Full<libc::stat> {
        let path = c_path(path)?;
        // SAFETY: all zeros is a valid stat.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the path ends with a NUL and there is room for the answer.
        check(unsafe { libc::lstat(path.as_ptr(), &raw mut stat) })?;
        Ok(stat)
    }

    pub fn mode(&self, path: &[u8]) -> Full<u32> {
        self.stat(path).map(|stat| stat.st_mode & 0o7777)
    }

    pub fn attributes(&self, path: &[u8]) -> Full<Answer> {
        let stat = self.stat(path)?;
        Ok(Answer::Attributes {
            directory: stat.st_mode & libc::S_IFMT == libc::S_IFDIR,
            mode: stat.st_mode & 0o7777,
            links: stat.st_nlink as u32,
            uid: stat.st_uid,
            gid: stat.st_gid,
            size: stat.st_size as u64,
        })
    }

    pub fn entries(&self, path: &[u8]) -> Full<Vec<DirectoryEntry>> {
        let path = c_path(path)?;
        let path = std::ffi::OsStr::from_bytes(path.to_bytes());
        let number = |error: std::io::Error| error.raw_os_error().unwrap_or(0);
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path).map_err(number)? {
            let entry = entry.map_err(number)?;
            let directory = entry.file_type().map_err(number)?.is_dir();
            entries.push(DirectoryEntry { name: entry.file_name().as_bytes().to_vec(), directory });
        }
        Ok(entries)
    }

    pub fn groups(&self, tid: i32) -> Full<Vec<u8>> {
        let path = CString::new(format!("/proc/{tid}/cpu_resctrl_groups")).map_err(|_| libc::EINVAL)?;
        // A thread that is not there has no directory in /proc, which says so in another way than the model.
        let file =
            open(&path, libc::O_RDONLY).map_err(|errno| if errno == libc::ENOENT { libc::ESRCH } else { errno })?;
        read_all(&file)
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}
