//! Opens paths that cannot lead out of a directory: neither `..` nor a symbolic link on the way is followed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags, mkdirat, openat, openat2};
use rustix::io::Errno;

/// Opens a path below a directory. A slash at its start counts for nothing.
///
/// # Errors
/// What the system says: ELOOP where a symbolic link stands on the way, EXDEV where `..` leads out.
pub fn open_beneath(directory: BorrowedFd<'_>, path: &str, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    /// How often a path that others rename meanwhile is tried.
    const TRIES: usize = 64;
    let path = match path.trim_start_matches('/') {
        "" => ".",
        path => path,
    };
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..TRIES {
        match openat2(directory, path, flags, mode, resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Linux before 5.6 has no such call, and filters of containers answer EPERM to what they do not know.
            Err(Errno::NOSYS | Errno::PERM) => return one_by_one(directory, path, flags, mode),
            result => return Ok(result?),
        }
    }
    Err(Errno::AGAIN.into())
}

/// Opens a path below a directory, which may go through symbolic links as long as they stay below it.
///
/// # Errors
/// What the system says: EXDEV where a link or `..` leads out, ELOOP for a link where the system cannot follow it safely
/// (before Linux 5.6).
pub fn open_within(directory: BorrowedFd<'_>, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
    let path = match path.trim_start_matches('/') {
        "" => ".",
        path => path,
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    loop {
        match openat2(directory, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::NOSYS | Errno::PERM) => {
                return one_by_one(directory, path, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty());
            }
            result => return Ok(result?),
        }
    }
}

/// Opens a directory below another one; what is not there on the way is made (mode 0777 without the bits of umask).
///
/// # Errors
/// As [`open_beneath`].
pub fn make_beneath(directory: BorrowedFd<'_>, path: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let mut at = open_beneath(directory, "", flags, Mode::empty())?;
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        match mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => at = open_beneath(at.as_fd(), name, flags, Mode::empty())?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(at)
}

/// [`open_beneath`], name by name.
fn one_by_one(directory: BorrowedFd<'_>, path: &str, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let on_the_way = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    if names.contains(&"..") {
        return Err(Errno::XDEV.into());
    }
    let last = names.pop().unwrap_or(".");
    let mut at: Option<OwnedFd> = None;
    for name in names {
        let from = at.as_ref().map_or(directory, AsFd::as_fd);
        at = Some(openat(from, name, on_the_way, Mode::empty()).map_err(|error| match error {
            // A directory is asked for, and a symbolic link is none.
            Errno::NOTDIR => Errno::LOOP,
            error => error,
        })?);
    }
    Ok(openat(at.as_ref().map_or(directory, AsFd::as_fd), last, flags, mode)?)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;

    type Opens = fn(BorrowedFd<'_>, &str, OFlags, Mode) -> io::Result<OwnedFd>;

    /// A folder with a file, a folder in it with another, and links that lead out of it and within it.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("root");
        std::fs::create_dir_all(at.join("in")).unwrap();
        std::fs::write(folder.path().join("outside"), "outside").unwrap();
        std::fs::write(at.join("in/file"), "inside").unwrap();
        std::os::unix::fs::symlink("../outside", at.join("out")).unwrap();
        std::os::unix::fs::symlink("in", at.join("also")).unwrap();
        folder
    }

    fn both(check: impl Fn(&dyn Fn(&str) -> io::Result<String>)) {
        let folder = folder();
        let root = File::open(folder.path().join("root")).unwrap();
        for open in [open_beneath as Opens, one_by_one] {
            check(&|path| {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut text = String::new();
                File::from(open(root.as_fd(), path, flags, Mode::empty())?).read_to_string(&mut text)?;
                Ok(text)
            });
        }
    }

    #[test]
    fn what_is_below_is_opened() {
        both(|read| assert_eq!(read("in/file").unwrap(), "inside"));
        both(|read| assert_eq!(read("./in//file").unwrap(), "inside"));
    }

    #[test]
    fn directories_are_made_and_no_link_is_followed() {
        let folder = folder();
        let root = File::open(folder.path().join("root")).unwrap();
        for _ in 0..2 {
            make_beneath(root.as_fd(), "in/a/b").unwrap();
        }
        assert!(folder.path().join("root/in/a/b").is_dir());
        for path in ["../a", "also/a", "out/a"] {
            assert!(make_beneath(root.as_fd(), path).is_err(), "{path}");
        }
        assert!(!folder.path().join("a").exists() && !folder.path().join("root/in/also").exists());
    }

    #[test]
    fn nothing_leads_out_and_no_link_is_followed() {
        for path in ["../outside", "in/../../outside", "out", "also/file"] {
            both(|read| {
                let error = read(path).unwrap_err().raw_os_error().unwrap();
                assert!([libc::EXDEV, libc::ELOOP].contains(&error), "{path}: {error}");
            });
        }
        both(|read| assert_eq!(read("in/none").unwrap_err().kind(), io::ErrorKind::NotFound));
    }
}
