//! Model-specific registers of the running machine: `/dev/cpu/N/msr`.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use waykeeper_linux::beneath::open_beneath;

use crate::registers::{RegisterError, Registers};

/// The devices, in which a register's number is its offset. Below another root plain files stand in for them: there
/// register N is the 8 bytes at offset 8 N, so that neighbours do not overlap.
#[derive(Debug)]
pub struct HostRegisters {
    root: PathBuf,
    stride: u64,
}

impl HostRegisters {
    /// Those of the machine whose files lie below `root`.
    pub fn at(root: &Path) -> Self {
        Self { root: root.into(), stride: if root == Path::new("/") { 1 } else { 8 } }
    }

    fn device(&self, cpu: u32) -> PathBuf {
        self.root.join(format!("dev/cpu/{cpu}/msr"))
    }

    fn offset(&self, register: u32) -> u64 {
        u64::from(register) * self.stride
    }

    fn open(&self, cpu: u32) -> io::Result<File> {
        let root = rustix::fs::open(&self.root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        // Not through a link: below another root it could lead to the devices of this machine.
        Ok(open_beneath(root.as_fd(), &format!("dev/cpu/{cpu}/msr"), OFlags::RDWR, Mode::empty())?.into())
    }
}

fn error(action: &'static str, cpu: u32, register: u32, error: io::Error) -> RegisterError {
    const EIO: i32 = 5;
    let hint = match (error.raw_os_error(), action) {
        (Some(EIO), "read") => "; the CPU has no such register",
        (Some(EIO), _) => "; the CPU does not take this value",
        _ => "",
    };
    RegisterError { action, cpu, register, reason: format!("{error}{hint}") }
}

impl Registers for HostRegisters {
    fn unusable(&mut self, cpu: u32) -> Option<String> {
        let problem = self.open(cpu).err()?;
        let hint = match problem.kind() {
            io::ErrorKind::NotFound => "`modprobe msr` loads the driver",
            io::ErrorKind::PermissionDenied => "root may open it, unless the kernel is locked down",
            _ => "the CPU may be offline",
        };
        Some(format!("{}: {problem}; {hint}", self.device(cpu).display()))
    }

    fn read(&mut self, cpu: u32, register: u32) -> Result<u64, RegisterError> {
        let mut bytes = [0; 8];
        let result = self.open(cpu).and_then(|device| device.read_exact_at(&mut bytes, self.offset(register)));
        result.map_err(|problem| error("read", cpu, register, problem))?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn write(&mut self, cpu: u32, register: u32, value: u64) -> Result<(), RegisterError> {
        let result = self.open(cpu).and_then(|device| device.write_all_at(&value.to_le_bytes(), self.offset(register)));
        result.map_err(|problem| error("write", cpu, register, problem))
    }
}
