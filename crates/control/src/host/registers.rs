//! Model-specific registers of the running machine: `/dev/cpu/N/msr`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::registers::{RegisterError, Registers};

/// The devices, in which a register's number is its offset. Below another root plain files stand in for them: there
/// register N is the 8 bytes at offset 8 N, so that neighbours do not overlap.
#[derive(Debug)]
pub struct HostRegisters {
    folder: PathBuf,
    stride: u64,
}

impl HostRegisters {
    /// Those of the machine whose files lie below `root`.
    pub fn at(root: &Path) -> Self {
        Self { folder: root.join("dev/cpu"), stride: if root == Path::new("/") { 1 } else { 8 } }
    }

    fn device(&self, cpu: u32) -> PathBuf {
        self.folder.join(cpu.to_string()).join("msr")
    }

    fn offset(&self, register: u32) -> u64 {
        u64::from(register) * self.stride
    }

    fn open(&self, cpu: u32) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.device(cpu))
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
