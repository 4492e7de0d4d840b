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
        let text = std::fs::read_to_string(self.place(path)).ok()?;
        Some(text.trim().to_owned())
    }

    /// The names in a folder; none where it is absent or may not be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.place(path));
        let names = entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The bytes of a file; `None` where it is absent or may not be read.
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.place(path)).ok()
    }

    /// Why a file gives no text, as half a sentence.
    pub fn absence(&self, path: &str) -> String {
        match std::fs::read(self.place(path)) {
            Ok(_) => format!("{path} holds no text"),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                format!("{path} may not be read by this user")
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => format!("{path} is not there"),
            Err(error) => format!("{path} cannot be read ({error})"),
        }
    }

    /// Where a file of the machine lies.
    pub(crate) fn place(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// Whether this is the running machine.
    pub fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// A file that holds one number.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }
}
