//! Everything that resctrl shows, but for counters and the text of the last command.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::real::{Ground, System};

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// What is at each path: attributes and content; nothing where it is not mounted.
    files: BTreeMap<Vec<u8>, String>,
    /// Values by CPU and register.
    registers: Option<BTreeMap<(u32, u32), Option<u64>>>,
}

impl Snapshot {
    pub fn take(ground: &Ground, with_registers: bool) -> Self {
        let mut files = BTreeMap::new();
        if ground.is_mounted() {
            look(&ground.system, &[], &mut files);
        }
        Snapshot { files, registers: with_registers.then(|| registers(&ground.cpus)) }
    }

    pub fn with_registers(&self) -> bool {
        self.registers.is_some()
    }

    /// The first place where another one differs.
    pub fn difference(&self, other: &Snapshot) -> Option<String> {
        let path =
            self.files.keys().chain(other.files.keys()).find(|path| self.files.get(*path) != other.files.get(*path));
        if let Some(path) = path {
            let (was, is) = (self.files.get(path), other.files.get(path));
            return Some(format!("`{}` was {was:?} and is {is:?}", path.escape_ascii()));
        }
        (self.registers != other.registers)
            .then(|| format!("registers were {:x?} and are {:x?}", self.registers, other.registers))
    }
}

fn look(system: &System, path: &[u8], files: &mut BTreeMap<Vec<u8>, String>) {
    let mut text = format!("{:?} ", system.attributes(path));
    match system.entries(path) {
        Ok(entries) => {
            for entry in entries {
                let below = if path.is_empty() { entry.name } else { [path, b"/", &entry.name].concat() };
                look(system, &below, files);
            }
        }
        Err(_) if is_volatile(path) => {}
        Err(_) => match system.read(path) {
            Ok(content) => text += &content.escape_ascii().to_string(),
            Err(errno) => text += &format!("errno {errno}"),
        },
    }
    files.insert(path.to_vec(), text);
}

fn is_volatile(path: &[u8]) -> bool {
    path.ends_with(b"last_cmd_status") || path.split(|&byte| byte == b'/').any(|name| name == b"mon_data")
}

fn registers(cpus: &[u32]) -> BTreeMap<(u32, u32), Option<u64>> {
    let numbers = (0xc90..0xca0).chain([0xc8f, 0xc81]);
    let all = cpus.iter().flat_map(|&cpu| numbers.clone().map(move |register| (cpu, register)));
    all.map(|(cpu, register)| ((cpu, register), read(cpu, register))).collect()
}

fn read(cpu: u32, register: u32) -> Option<u64> {
    let mut bytes = [0; 8];
    File::open(format!("/dev/cpu/{cpu}/msr")).ok()?.read_exact_at(&mut bytes, register.into()).ok()?;
    Some(u64::from_le_bytes(bytes))
}
