//! resctrl of the running machine.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Mode, OFlags, accessat, mkdirat, openat, unlinkat};
use rustix::mount::{MountFlags, UnmountFlags};
use waykeeper_linux::beneath::open_beneath;
use waykeeper_linux::mounts::{MountId, MountPoint};
use waykeeper_policy::MountSettings;

use super::mounts;
use crate::tree::{MountSeen, ResctrlTree, TreeError};

/// Where resctrl is mounted.
const PLACE: &str = "/sys/fs/resctrl";

/// resctrl's files.
#[derive(Debug)]
pub struct HostTree {
    root: PathBuf,
    directory: PathBuf,
}

impl HostTree {
    /// That of the machine whose files lie below `root`.
    pub fn at(root: &Path) -> Self {
        Self { root: root.into(), directory: root.join(&PLACE[1..]) }
    }

    fn table(&self) -> String {
        fs::read_to_string(self.root.join("proc/mounts")).unwrap_or_default()
    }

    /// Opens a path of resctrl. It leads nowhere else, whatever stands in it.
    fn open(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let root = rustix::fs::open(&self.root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        open_beneath(root.as_fd(), &format!("{PLACE}/{path}"), flags, Mode::empty())
    }

    fn text(&self, path: &str) -> io::Result<String> {
        let mut text = String::new();
        File::from(self.open(path, OFlags::RDONLY)?).read_to_string(&mut text)?;
        Ok(text)
    }

    /// The directory that a path is in, and its name there.
    fn parent<'p>(&self, path: &'p str) -> io::Result<(OwnedFd, &'p str)> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if matches!(name, "" | "." | "..") {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        Ok((self.open(parent, OFlags::PATH | OFlags::DIRECTORY)?, name))
    }

    fn error(&self, action: &'static str, path: &str, error: &io::Error) -> TreeError {
        let status = || {
            let text = self.text("info/last_cmd_status").ok()?;
            let text = text.trim().replace('\n', "; ");
            (text != "ok" && !text.is_empty()).then_some(text)
        };
        TreeError {
            action,
            path: path.into(),
            errno: error.raw_os_error(),
            reason: error.to_string(),
            status: if matches!(action, "write" | "mkdir" | "rmdir") { status() } else { None },
        }
    }

    /// Its place and its mount, if what is mounted there last is resctrl.
    fn resctrl(&self) -> io::Result<(MountPoint, MountId)> {
        /// RDTGROUP_SUPER_MAGIC and FUSE_SUPER_MAGIC (linux/magic.h); in a room resctrl is of the latter kind.
        const KINDS: [u64; 2] = [0x0765_5821, 0x6573_5546];
        let place = MountPoint::of(&self.directory)?;
        // Nothing of it is kept open: that would keep the mount busy.
        let (kind, id) = (rustix::fs::fstatfs(place.folder()?)?.f_type, place.mounted()?);
        if !KINDS.contains(&(kind as u64)) {
            return Err(io::Error::other("something else is mounted over it; unmount that first"));
        }
        Ok((place, id))
    }

    fn is_the_machine(&self) -> bool {
        self.root == Path::new("/")
    }
}

impl ResctrlTree for HostTree {
    fn unusable(&mut self) -> Option<String> {
        let known = fs::read_to_string(self.root.join("proc/filesystems")).unwrap_or_default();
        if !known.split_whitespace().any(|word| word == "resctrl") {
            return Some(
                "this kernel offers no resctrl: the processor, or the virtual machine, shows it no allocation of caches or \
                 bandwidth, or the kernel was built without it (CONFIG_X86_CPU_RESCTRL); `waykeeper plan --for PLATFORM` \
                 plans for another machine"
                    .into(),
            );
        }
        match mounts::resctrl_at(&self.table(), PLACE) {
            Err(elsewhere) => Some(format!(
                "resctrl is mounted on {elsewhere}; it is expected on {PLACE}, and can be mounted only once"
            )),
            Ok(Some(_)) => {
                let may = self.open("", OFlags::PATH | OFlags::DIRECTORY).and_then(|directory| {
                    let both = Access::READ_OK | Access::WRITE_OK;
                    Ok(accessat(directory, "schemata", both, AtFlags::EACCESS)?)
                });
                let (file, error) = (self.directory.join("schemata"), may.err()?);
                Some(format!("{}: {error}; root may read and write it", file.display()))
            }
            Ok(None) => {
                let root = rustix::process::geteuid().is_root();
                (!root).then(|| "resctrl is not mounted, and only root can mount it".into())
            }
        }
    }

    fn mounted(&mut self) -> Result<Option<MountSettings>, TreeError> {
        // Where it is mounted elsewhere, `unusable` says so.
        Ok(mounts::resctrl_at(&self.table(), PLACE).unwrap_or_default())
    }

    fn mounted_elsewhere(&mut self) -> Option<String> {
        mounts::resctrl_at(&self.table(), PLACE).err()
    }

    fn mount(&mut self, settings: MountSettings) -> Result<(), TreeError> {
        let fail = |error: io::Error| self.error("mount", PLACE, &error);
        if !self.is_the_machine() {
            return Err(fail(io::Error::other("files below another root cannot be mounted on")));
        }
        let MountSettings { cdp, cdp_l2, mbps } = settings;
        let names = [(cdp, "cdp"), (cdp_l2, "cdpl2"), (mbps, "mba_MBps")];
        let names: Vec<_> = names.iter().filter(|it| it.0).map(|it| it.1).collect();
        let data = std::ffi::CString::new(names.join(",")).map_err(|error| fail(error.into()))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RELATIME;
        rustix::mount::mount("resctrl", &self.directory, "resctrl", flags, data.as_c_str())
            .map_err(|error| fail(error.into()))
    }

    fn unmount(&mut self) -> Result<(), TreeError> {
        let result = self.resctrl().and_then(|(place, id)| Ok(place.unmount(id, UnmountFlags::empty())?));
        result.map_err(|error| self.error("unmount", PLACE, &error))
    }

    fn mount_seen(&mut self) -> Option<MountSeen> {
        let (_, id) = self.resctrl().ok()?;
        Some(MountSeen { device: id.device(), number: id.number() })
    }

    fn read(&mut self, path: &str) -> Result<String, TreeError> {
        self.text(path).map_err(|error| self.error("read", path, &error))
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), TreeError> {
        // Not truncated: the kernel takes each write for itself.
        let result =
            self.open(path, OFlags::WRONLY).and_then(|file| match File::from(file).write(text.as_bytes())? {
                written if written == text.len() => Ok(()),
                written => Err(io::Error::other(format!("only {written} of {} bytes were taken", text.len()))),
            });
        result.map_err(|error| self.error("write", path, &error))
    }

    fn mkdir(&mut self, path: &str) -> Result<(), TreeError> {
        let made = self.parent(path).and_then(|(at, name)| Ok(mkdirat(at, name, Mode::from_raw_mode(0o777))?));
        made.map_err(|error| self.error("mkdir", path, &error))
    }

    fn rmdir(&mut self, path: &str) -> Result<(), TreeError> {
        let removed = self.parent(path).and_then(|(at, name)| Ok(unlinkat(at, name, AtFlags::REMOVEDIR)?));
        removed.map_err(|error| self.error("rmdir", path, &error))
    }

    fn directories(&mut self, path: &str) -> Result<Vec<String>, TreeError> {
        let directory = match self.open(path, OFlags::RDONLY | OFlags::DIRECTORY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            directory => directory.map_err(|error| self.error("list", path, &error))?,
        };
        let mut names = directories(&directory).map_err(|error| self.error("list", path, &error))?;
        names.sort();
        Ok(names)
    }
}

/// The names of the directories in a directory.
fn directories(directory: &OwnedFd) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        let Ok(name) = name.into_string() else { continue };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // One that vanishes meanwhile is none.
        if !matches!(name.as_str(), "." | "..") && openat(directory, name.as_str(), flags, Mode::empty()).is_ok() {
            names.push(name);
        }
    }
    Ok(names)
}
