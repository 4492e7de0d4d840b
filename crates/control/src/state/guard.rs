//! Whether a path, from the root of the file system to the last name, is in the hands of root and of this user only. What
//! is checked is what was opened, so that nobody can put something else in its place between the two.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat};
use rustix::io::Errno;

/// The most symbolic links on the way, as Linux has it (MAXSYMLINKS).
const LINKS: usize = 40;
/// Write permission of the group, and of everybody.
const GROUP_WRITES: u32 = 0o020;
const WORLD_WRITES: u32 = 0o002;
/// In such a directory nobody renames or removes what others own.
const STICKY: u32 = 0o1000;

/// Something that others may change, or may have put there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}: {found}; expected {expected}, since what stands there decides what is written to the machine; WAYKEEPER_STATE \
     names another directory",
    path.display()
)]
pub struct Untrusted {
    /// Which file or directory.
    pub path: PathBuf,
    /// What is wrong with it.
    pub found: String,
    /// What is accepted.
    pub expected: String,
}

impl Untrusted {
    pub(super) fn new(path: &Path, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { path: path.into(), found: found.into(), expected: expected.into() }
    }
}

impl From<Untrusted> for io::Error {
    fn from(untrusted: Untrusted) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, untrusted)
    }
}

/// An error of the system, with the path; a symbolic link is named as what it is.
pub(super) fn explained(path: &Path, error: io::Error) -> io::Error {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::LOOP) => Untrusted::new(path, "a symbolic link", "the thing itself").into(),
        Some(Errno::NOENT) => error,
        _ => io::Error::new(error.kind(), format!("{}: {error}", path.display())),
    }
}

fn this_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether an owner is root or the user of this process.
fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == this_user()
}

fn trusted_owners() -> String {
    match this_user() {
        0 => "root as its owner".into(),
        user => format!("root or user {user} as its owner"),
    }
}

/// Where a user namespace knows no name for an owner, it shows this number: also for the root of the machine, who owns `/`.
fn is_out_of_sight(owner: u32) -> bool {
    let read = |name: &str| std::fs::read_to_string(name).unwrap_or_default();
    read("/proc/sys/kernel/overflowuid").trim().parse() == Ok(owner)
        && read("/proc/self/uid_map").split_whitespace().ne(["0", "0", "4294967295"])
}

/// Where a directory on the way stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rank {
    OnTheWay,
    Last,
}

fn check_directory(path: &Path, stat: &Stat, rank: Rank) -> Result<(), Untrusted> {
    let out_of_sight = || rank == Rank::OnTheWay && is_out_of_sight(stat.st_uid);
    if !is_trusted(stat.st_uid) && !out_of_sight() {
        return Err(Untrusted::new(path, format!("owned by user {}", stat.st_uid), trusted_owners()));
    }
    let (mode, shown) = (stat.st_mode, stat.st_mode & 0o7777);
    // The group of root is root; and in a sticky directory what others put there is theirs, which is seen next.
    let harmless = rank == Rank::OnTheWay && (mode & STICKY != 0 || mode & WORLD_WRITES == 0 && stat.st_gid == 0);
    if mode & (GROUP_WRITES | WORLD_WRITES) != 0 && !harmless {
        let found = format!("others may write to it (mode {shown:04o})");
        return Err(Untrusted::new(path, found, "a directory that only its owner may write to (`chmod go-w`)"));
    }
    Ok(())
}

/// Checks an opened file of the state directory.
pub(super) fn file(path: &Path, file: &File) -> io::Result<()> {
    let stat = fstat(file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Untrusted::new(path, "no regular file", "a regular file").into());
    }
    if !is_trusted(stat.st_uid) {
        return Err(Untrusted::new(path, format!("owned by user {}", stat.st_uid), trusted_owners()).into());
    }
    if stat.st_mode & (GROUP_WRITES | WORLD_WRITES) != 0 {
        let found = format!("others may write to it (mode {:04o})", stat.st_mode & 0o7777);
        return Err(Untrusted::new(path, found, "a file that only its owner may write to (`chmod go-w`)").into());
    }
    Ok(())
}

/// Opens a directory with everything on the way to it checked; `None` where it is not there and is not to be made.
///
/// # Errors
/// What the system says, or [`Untrusted`] as its cause.
pub(super) fn directory(path: &Path, make: bool) -> io::Result<Option<OwnedFd>> {
    let path = std::path::absolute(path)?;
    let mut way = Way::from_the_root(names(&path))?;
    while let Some(name) = way.names.pop_front() {
        if !way.step(&name, make)? {
            return Ok(None);
        }
    }
    match way.found {
        // Where nothing is, nothing is believed: only now it matters who could have put it there.
        Some(untrusted) => Err(untrusted.into()),
        None => Ok(Some(
            openat(&way.at, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                .map_err(|error| explained(&path, error.into()))?,
        )),
    }
}

fn names(path: &Path) -> VecDeque<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

/// How far the way to a directory has come.
struct Way {
    at: OwnedFd,
    seen: PathBuf,
    names: VecDeque<OsString>,
    links: usize,
    /// The first thing on the way that others have a hand in.
    found: Option<Untrusted>,
}

const ON_THE_WAY: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Way {
    fn from_the_root(names: VecDeque<OsString>) -> io::Result<Self> {
        let at = openat(CWD, "/", ON_THE_WAY, Mode::empty())?;
        let found = check_directory(Path::new("/"), &fstat(&at)?, Rank::OnTheWay).err();
        Ok(Self { at, seen: "/".into(), names, links: 0, found })
    }

    /// Whether the next name is there, or could be made.
    fn step(&mut self, name: &OsStr, make: bool) -> io::Result<bool> {
        let path = self.seen.join(name);
        let open = |at: &OwnedFd| openat(at, name, ON_THE_WAY, Mode::empty());
        let next = match open(&self.at) {
            Err(Errno::NOENT) if !make => return Ok(false),
            Err(Errno::NOENT) => {
                if let Some(untrusted) = self.found.take() {
                    return Err(untrusted.into());
                }
                match mkdirat(&self.at, name, Mode::from_raw_mode(0o755)) {
                    // Another Waykeeper was faster.
                    Ok(()) | Err(Errno::EXIST) => open(&self.at),
                    Err(error) => Err(error),
                }
            }
            next => next,
        };
        let next = next.map_err(|error| explained(&path, error.into()))?;
        let stat = fstat(&next)?;
        let rank = if self.names.is_empty() { Rank::Last } else { Rank::OnTheWay };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let checked = check_directory(&path, &stat, rank);
                self.found = self.found.take().or(checked.err());
                (self.at, self.seen) = (next, path);
                Ok(true)
            }
            FileType::Symlink if rank == Rank::Last => {
                Err(Untrusted::new(&path, "a symbolic link", "the directory itself").into())
            }
            FileType::Symlink => self.follow(&path, &next, &stat).map(|()| true),
            _ => Err(io::Error::new(io::ErrorKind::NotADirectory, format!("{}: it is no directory", path.display()))),
        }
    }

    /// Goes on where a link leads: who owns it decides that.
    fn follow(&mut self, path: &Path, link: &OwnedFd, stat: &Stat) -> io::Result<()> {
        self.links += 1;
        if self.links > LINKS {
            return Err(explained(path, Errno::LOOP.into()));
        }
        if !is_trusted(stat.st_uid) && !is_out_of_sight(stat.st_uid) {
            let found = format!("a symbolic link of user {}", stat.st_uid);
            self.found = self.found.take().or(Some(Untrusted::new(path, found, trusted_owners())));
        }
        let target = PathBuf::from(OsString::from_vec(readlinkat(link.as_fd(), c"", Vec::new())?.into_bytes()));
        if target.as_os_str().as_bytes().starts_with(b"/") {
            self.at = openat(CWD, "/", ON_THE_WAY, Mode::empty())?;
            self.seen = "/".into();
        }
        for name in names(&target).into_iter().rev() {
            self.names.push_front(name);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    fn refused(path: &Path) -> Untrusted {
        let error = directory(path, false).unwrap_err();
        error.get_ref().and_then(|cause| cause.downcast_ref::<Untrusted>()).expect("a reason").clone()
    }

    #[test]
    fn a_directory_is_made_with_all_on_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        assert!(directory(&path, false).unwrap().is_none());
        assert!(directory(&path, true).unwrap().is_some());
        assert!(path.is_dir());
        // Links of root or of this user on the way are followed.
        symlink("a", folder.path().join("link")).unwrap();
        assert!(directory(&folder.path().join("link/b"), false).unwrap().is_some());
    }

    #[test]
    fn what_others_may_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        std::fs::create_dir_all(&path).unwrap();
        for bits in [0o777, 0o775, 0o1777] {
            mode(&path, bits);
            let untrusted = refused(&path);
            assert_eq!((&untrusted.path, untrusted.found.starts_with("others may write")), (&path, true));
        }
        mode(&path, 0o755);
        mode(&folder.path().join("a"), 0o777);
        assert_eq!(refused(&path).path, folder.path().join("a"));
        // As /tmp is: nobody renames what is not his.
        mode(&folder.path().join("a"), 0o1777);
        assert!(directory(&path, false).unwrap().is_some());
        // Nothing is made where others could put something else in its place.
        mode(&folder.path().join("a"), 0o777);
        assert!(directory(&folder.path().join("a/new"), true).is_err());
        assert!(!folder.path().join("a/new").exists());
        assert!(directory(&folder.path().join("a/new"), false).unwrap().is_none());
    }

    #[test]
    fn a_link_in_its_place_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("elsewhere")).unwrap();
        let link = folder.path().join("state");
        symlink("elsewhere", &link).unwrap();
        let untrusted = refused(&link);
        assert_eq!((untrusted.path, untrusted.found.as_str()), (link, "a symbolic link"));
    }

    #[test]
    fn links_without_end_are_no_way() {
        let folder = tempfile::tempdir().unwrap();
        symlink("loop", folder.path().join("loop")).unwrap();
        assert!(directory(&folder.path().join("loop/state"), true).is_err());
    }

    #[test]
    fn what_others_own_is_refused() {
        const SOMEBODY: u32 = 65533;
        if this_user() != 0 {
            eprintln!("not tested: only root can hand a directory to others");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        std::fs::create_dir_all(&path).unwrap();
        chown(folder.path().join("a"), Some(SOMEBODY), None).unwrap();
        let untrusted = refused(&path);
        assert_eq!((untrusted.path, untrusted.found), (folder.path().join("a"), "owned by user 65533".to_owned()));
        chown(folder.path().join("a"), Some(0), None).unwrap();
        chown(&path, Some(SOMEBODY), None).unwrap();
        assert_eq!(refused(&path).path, path);
        // And a link of theirs on the way.
        chown(&path, Some(0), None).unwrap();
        symlink("a", folder.path().join("link")).unwrap();
        std::os::unix::fs::lchown(folder.path().join("link"), Some(SOMEBODY), None).unwrap();
        assert_eq!(refused(&folder.path().join("link/b")).path, folder.path().join("link"));
    }
}
