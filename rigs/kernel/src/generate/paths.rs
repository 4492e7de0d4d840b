//! Paths that are there, and some that are not.

use waykeeper_resctrl::DirectoryEntry;

use super::Generator;
use crate::modelled::Modelled;

/// Names of groups; few, so that they meet.
const NAMES: [&str; 7] = ["a", "b", "c", "d", "e", "real time", "x"];

/// Names that are taken, or odd.
const ODD_NAMES: [&[u8]; 12] = [
    b"mon_groups",
    b"mon_data",
    b"info",
    b"tasks",
    b"new\nline",
    b"\xff\xfe",
    b"L3",
    b"..a",
    b"%s%n",
    b"a!b",
    b"last_cmd_status",
    b"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
];

/// A path from parts.
fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

fn entries(state: &Modelled, path: &[u8]) -> Vec<DirectoryEntry> {
    state.resctrl.entries(path).unwrap_or_default()
}

impl Generator {
    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        (!from.is_empty()).then(|| &from[self.rng.usize(..from.len())])
    }

    fn name(&mut self) -> Vec<u8> {
        match self.rng.u32(..20) {
            0 => ODD_NAMES[self.rng.usize(..ODD_NAMES.len())].to_vec(),
            _ => NAMES[self.rng.usize(..NAMES.len())].into(),
        }
    }

    pub(super) fn new_control_group(&mut self, _state: &Modelled) -> Vec<u8> {
        self.name()
    }

    /// `mon_groups` of some control group.
    fn monitoring_groups(&mut self, state: &Modelled) -> Vec<u8> {
        join(&self.control_group(state), b"mon_groups")
    }

    pub(super) fn new_monitoring_group(&mut self, state: &Modelled) -> Vec<u8> {
        let name = self.name();
        join(&self.monitoring_groups(state), &name)
    }

    /// The root or a group below it.
    fn control_group(&mut self, state: &Modelled) -> Vec<u8> {
        let is_group = |entry: &DirectoryEntry| {
            entry.directory && ![&b"info"[..], b"mon_groups", b"mon_data"].contains(&&entry.name[..])
        };
        let groups: Vec<DirectoryEntry> = entries(state, b"").into_iter().filter(is_group).collect();
        match self.rng.u32(..4) {
            0 => Vec::new(),
            _ => self.pick(&groups).map_or_else(Vec::new, |group| group.name.clone()),
        }
    }

    pub(super) fn monitoring_group(&mut self, state: &Modelled) -> Vec<u8> {
        let place = self.monitoring_groups(state);
        match self.pick(&entries(state, &place)) {
            Some(group) => join(&place, &group.name),
            None => join(&place, b"a"),
        }
    }

    /// Any group but the root.
    pub(super) fn group(&mut self, state: &Modelled) -> Vec<u8> {
        let group = self.control_group(state);
        if group.is_empty() || self.rng.bool() { self.monitoring_group(state) } else { group }
    }

    /// Something that is there: a walk that ends anywhere.
    pub(super) fn any_path(&mut self, state: &Modelled) -> Vec<u8> {
        let mut path = Vec::new();
        loop {
            let entries = entries(state, &path);
            let Some(entry) = self.pick(&entries).cloned() else { return path };
            path = join(&path, &entry.name);
            if !entry.directory || self.rng.u32(..4) == 0 {
                return path;
            }
        }
    }

    pub(super) fn directory(&mut self, state: &Modelled) -> Vec<u8> {
        let path = self.any_path(state);
        match path.iter().rposition(|&byte| byte == b'/') {
            Some(at) if !self.rng.bool() => path[..at].to_vec(),
            _ => path,
        }
    }

    /// A file: in a group as often as anywhere.
    pub(super) fn file(&mut self, state: &Modelled) -> Vec<u8> {
        let mut path = if self.rng.bool() { self.group(state) } else { Vec::new() };
        loop {
            let entries = entries(state, &path);
            let Some(entry) = self.pick(&entries).cloned() else { return path };
            path = join(&path, &entry.name);
            if !entry.directory {
                return path;
            }
        }
    }

    /// A file that takes writes.
    pub(super) fn writable(&mut self, state: &Modelled) -> Vec<u8> {
        let directory = match self.rng.u32(..12) {
            0 => b"info/L3_MON".to_vec(),
            1..5 => self.monitoring_group(state),
            _ => self.control_group(state),
        };
        let files: Vec<DirectoryEntry> =
            entries(state, &directory).into_iter().filter(|entry| !entry.directory).collect();
        match self.pick(&files) {
            // Most of the interesting writes go to schemata.
            Some(_) if files.iter().any(|file| file.name == b"schemata") && self.rng.u32(..5) < 2 => {
                join(&directory, b"schemata")
            }
            Some(file) => join(&directory, &file.name),
            None => self.file(state),
        }
    }

    /// Something that is not there, mostly.
    pub(super) fn any_new_path(&mut self, state: &Modelled) -> Vec<u8> {
        let directory = match self.rng.u32(..4) {
            0 => self.any_path(state),
            _ => self.directory(state),
        };
        match self.rng.u32(..30) {
            0 => join(&directory, &[b'n'; 256]),
            _ => {
                let name = self.name();
                join(&directory, &name)
            }
        }
    }
}
