//! Recorded trees: the files of a machine that tell what it is, as a folder or an archive.
//!
//! A recorded tree holds texts under the paths that they have on the machine (`sys/...`, `proc/...`), and beside them
//!
//! - [`MANIFEST`]: who made it and when, what was left out, what could not be read;
//! - `cpuid/cpuN`: the CPUID leaves of core N, in the form of `cpuid -r` ([`crate::cpuid`]);
//! - `msr/cpuN`: model-specific registers of core N that could be read, a line `0xADDRESS 0xVALUE` each.
//!
//! A file that is absent was not there or could not be read; the manifest says which of the two where it matters.

mod archive;
mod manifest;
mod patterns;
mod private;
mod take;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

pub use manifest::Manifest;
pub use patterns::PATTERNS;
pub use private::{LEFT_OUT, nameless};
pub use take::record;
pub(crate) use take::takes;

/// The file that describes the recording itself.
pub const MANIFEST: &str = "manifest.toml";

/// The files of a machine, by path without the leading slash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    files: BTreeMap<String, String>,
}

/// Why a recorded tree could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct RecordedTreeError {
    path: PathBuf,
    why: String,
}

fn relative(path: &str) -> &str {
    path.trim_matches('/')
}

impl Recording {
    /// Sets the text of a file.
    pub fn set(&mut self, path: &str, text: impl Into<String>) -> &mut Self {
        self.files.insert(relative(path).into(), text.into());
        self
    }

    /// Takes a file away, or everything below a folder.
    pub fn remove(&mut self, path: &str) -> &mut Self {
        let (path, below) = (relative(path), format!("{}/", relative(path)));
        self.files.retain(|file, _| file != path && !file.starts_with(&below));
        self
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(relative(path)).map(String::as_str)
    }

    /// The names in a folder, sorted.
    pub fn names(&self, path: &str) -> Vec<String> {
        let prefix = match relative(path) {
            "" => String::new(),
            path => format!("{path}/"),
        };
        let below = self.files.range(prefix.clone()..).map_while(|(file, _)| file.strip_prefix(&prefix));
        let names: BTreeSet<_> = below.map(|rest| rest.split('/').next().unwrap_or_default().to_owned()).collect();
        names.into_iter().collect()
    }

    /// All files with their texts, by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// What it says of itself; `None` for files without a manifest.
    pub fn manifest(&self) -> Option<Manifest> {
        toml::from_str(self.text(MANIFEST)?).ok()
    }
}
