//! resctrl of the running machine.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::mount::{MountFlags, UnmountFlags};
use waykeeper_policy::MountSettings;

use super::mounts;
use crate::tree::{Tree, TreeError};

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

    fn error(&self, action: &'static str, path: &str, error: &io::Error) -> TreeError {
        let status = || {
            let text = fs::read_to_string(self.directory.join("info/last_cmd_status")).ok()?;
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

    fn is_the_machine(&self) -> bool {
        self.root == Path::new("/")
    }
}

impl Tree for HostTree {
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
                let file = self.directory.join("schemata");
                let error = access(&file, Access::READ_OK | Access::WRITE_OK).err()?;
                Some(format!("{}: {}; root may read and write it", file.display(), io::Error::from(error)))
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
        let result = rustix::mount::unmount(&self.directory, UnmountFlags::empty());
        result.map_err(|error| self.error("unmount", PLACE, &error.into()))
    }

    fn read(&mut self, path: &str) -> Result<String, TreeError> {
        fs::read_to_string(self.directory.join(path)).map_err(|error| self.error("read", path, &error))
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), TreeError> {
        // Not truncated: the kernel takes each write for itself.
        let result = fs::OpenOptions::new().write(true).open(self.directory.join(path)).and_then(|mut file| match file
            .write(
            text.as_bytes(),
        )? {
            written if written == text.len() => Ok(()),
            written => Err(io::Error::other(format!("only {written} of {} bytes were taken", text.len()))),
        });
        result.map_err(|error| self.error("write", path, &error))
    }

    fn mkdir(&mut self, path: &str) -> Result<(), TreeError> {
        fs::create_dir(self.directory.join(path)).map_err(|error| self.error("mkdir", path, &error))
    }

    fn rmdir(&mut self, path: &str) -> Result<(), TreeError> {
        fs::remove_dir(self.directory.join(path)).map_err(|error| self.error("rmdir", path, &error))
    }

    fn directories(&mut self, path: &str) -> Result<Vec<String>, TreeError> {
        let entries = match fs::read_dir(self.directory.join(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| self.error("list", path, &error))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| self.error("list", path, &error))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir())
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}
