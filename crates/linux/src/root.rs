//! The root under which `/sys` and `/proc` are read.

use std::path::{Path, PathBuf};

/// A root folder: `/` for the running machine, any other for a recorded tree.
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Self {
        Self(PathBuf::from("/"))
    }
}

impl Root {
    /// A recorded tree.
    pub fn at(folder: &Path) -> Self {
        Self(folder.into())
    }

    /// The text of a file, trimmed; `None` where it is absent or may not be read.
    pub fn text(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.0.join(path.trim_start_matches('/'))).ok()?;
        Some(text.trim().to_owned())
    }

    /// The names in a folder; none where it is absent or may not be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join(path.trim_start_matches('/')));
        let names = entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// A file that holds one number.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }
}
