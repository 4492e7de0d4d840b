//! Making a recording of a machine.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::patterns::NAMES_OF;
use super::private::cleaned;
use super::{LEFT_OUT, MANIFEST, Manifest, PATTERNS, Recording};
use crate::build_options;
use crate::cpuid::Leaves;
use crate::registers::READABLE;

/// No file that is taken is longer; what is, is cut off by leaving it out.
const MOST_BYTES: u64 = 4 << 20;

/// Records the machine whose files lie below a folder; for `/` the running one, with its CPUID leaves and those
/// model-specific registers that may be read. Nothing is written, and nothing but what this user may read is read.
pub fn record(folder: &Path) -> Recording {
    let mut taker = Taker { folder, recording: Recording::default(), unreadable: Vec::new() };
    for pattern in PATTERNS {
        let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
        taker.matching(&mut Vec::new(), &parts);
    }
    for path in NAMES_OF {
        for name in names(&folder.join(&path[1..])) {
            taker.recording.set(&format!("{path}/{name}"), "");
        }
    }
    taker.kernel_configuration();
    taker.kernel_threads();
    if folder == Path::new("/") {
        taker.processor();
    }
    taker.partitions();
    let Taker { mut recording, unreadable, .. } = taker;
    let manifest = Manifest {
        format: Manifest::FORMAT,
        made_by: concat!("waykeeper ", env!("CARGO_PKG_VERSION")).into(),
        date: Some(jiff::Zoned::now().date().to_string()),
        architecture: rustix::system::uname().machine().to_string_lossy().into_owned(),
        left_out: LEFT_OUT.iter().map(|what| (*what).to_owned()).collect(),
        unreadable,
    };
    recording.set(MANIFEST, manifest.text());
    recording
}

struct Taker<'f> {
    folder: &'f Path,
    recording: Recording,
    unreadable: Vec<String>,
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Whether a name is that of a pattern, in which `*` stands for any letters.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = name.find(piece) else { return false };
        name = &name[at + piece.len()..];
    }
    name.ends_with(last)
}

/// Whether a recording takes a file, where it is there and can be read.
pub(crate) fn takes(path: &str) -> bool {
    PATTERNS.iter().any(|pattern| {
        let (wanted, found) = (pattern.split('/'), path.split('/'));
        wanted.clone().count() == found.clone().count() && wanted.zip(found).all(|(wanted, found)| fits(wanted, found))
    })
}

impl Taker<'_> {
    fn place(&self, path: &str) -> PathBuf {
        self.folder.join(path.trim_start_matches('/'))
    }

    fn matching(&mut self, above: &mut Vec<String>, parts: &[&str]) {
        let Some((part, below)) = parts.split_first() else {
            let path = format!("/{}", above.join("/"));
            self.take(&path);
            return;
        };
        let here = format!("/{}", above.join("/"));
        let found = if part.contains('*') {
            names(&self.place(&here)).into_iter().filter(|name| fits(part, name)).collect()
        } else {
            vec![(*part).to_owned()]
        };
        for name in found {
            above.push(name);
            self.matching(above, below);
            above.pop();
        }
    }

    fn take(&mut self, path: &str) {
        let place = self.place(path);
        if self.recording.text(path).is_some() || !place.is_file() {
            return;
        }
        match read(&place) {
            Ok(bytes) => {
                if let Some(text) = String::from_utf8(bytes).ok().and_then(|text| cleaned(path, text)) {
                    self.recording.set(path, text);
                }
            }
            // Others (EIO, ENODATA, EOPNOTSUPP) are what sysfs says where a value does not exist.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                self.unreadable.push(format!("{path}: {error}"));
            }
            Err(_) => {}
        }
    }

    /// The options that the kernel was built with, as a text beside where the kernel has them compressed, or those that
    /// the distribution left of them.
    fn kernel_configuration(&mut self) {
        let compressed = std::fs::read(self.place(build_options::COMPRESSED));
        if let Some(text) = compressed.ok().and_then(|bytes| build_options::decompressed(&bytes)) {
            self.recording.set(build_options::TEXT, text);
        } else if let Some(release) = crate::kernel_release(&crate::root::Root::at(self.folder)) {
            self.take(&build_options::installed(&release));
        }
    }

    /// Partitions of cpusets; other control groups name what runs on the machine.
    fn partitions(&mut self) {
        for group in crate::partitions::groups(&crate::root::Root::at(self.folder)) {
            for file in crate::partitions::FILES {
                self.take(&format!("{group}/{file}"));
            }
        }
    }

    /// Kernel threads are the children of kthreadd, which is process 2.
    fn kernel_threads(&mut self) {
        let numbers = names(&self.place("/proc")).into_iter().filter_map(|name| name.parse::<u32>().ok());
        for number in numbers.collect::<Vec<_>>() {
            let stat = std::fs::read_to_string(self.place(&format!("/proc/{number}/stat"))).unwrap_or_default();
            let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
            if parent == Some("2") {
                for file in ["stat", "status", "comm"] {
                    self.take(&format!("/proc/{number}/{file}"));
                }
            }
        }
    }

    fn processor(&mut self) {
        for core in crate::schedule::allowed() {
            if let Some(leaves) = Leaves::of_running(core) {
                self.recording.set(&format!("/cpuid/cpu{core}"), leaves.to_string());
            }
            self.registers(core);
        }
    }

    fn registers(&mut self, core: u32) {
        let path = format!("/dev/cpu/{core}/msr");
        let device = match File::open(self.place(&path)) {
            Ok(device) => device,
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            Err(error) => return self.unreadable.push(format!("{path}: {error}")),
        };
        let mut text = String::new();
        for register in READABLE {
            let mut value = [0; 8];
            if device.read_exact_at(&mut value, register.into()).is_ok() {
                text += &format!("{register:#x} {:#x}\n", u64::from_le_bytes(value));
            }
        }
        if !text.is_empty() {
            self.recording.set(&format!("/msr/cpu{core}"), text);
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES { Err(io::Error::other("too long")) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_part_of_a_name() {
        for (pattern, name, expected) in [
            ("cpu*", "cpu12", true),
            ("cpu*", "smt", false),
            ("*", "anything", true),
            ("*aspm*", "disable_aspm_l1", true),
            ("*aspm*", "power", false),
            ("a*b", "a", false),
            ("a*b", "ab", true),
            ("a*a", "a", false),
            ("online", "online", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
