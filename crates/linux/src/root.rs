//! The root under which `/sys` and `/proc` are read.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::recording::{Recording, RecordingError};

/// A root: `/` for the running machine, any other folder or a recorded tree for another.
#[derive(Debug, Clone)]
pub struct Root(Source);

#[derive(Debug, Clone)]
enum Source {
    Folder(PathBuf),
    Recorded(Arc<Recording>),
}

impl Default for Root {
    fn default() -> Self {
        Self(Source::Folder(PathBuf::from("/")))
    }
}

impl From<Recording> for Root {
    fn from(recording: Recording) -> Self {
        Self(Source::Recorded(Arc::new(recording)))
    }
}

impl Root {
    /// The files below a folder.
    pub fn at(folder: &Path) -> Self {
        Self(Source::Folder(folder.into()))
    }

    /// The files below a folder, or those of an archive that [`Recording::write`] made.
    ///
    /// # Errors
    /// An archive that cannot be read, or is none.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        if path.is_dir() { Ok(Self::at(path)) } else { Ok(Recording::read(path)?.into()) }
    }

    /// Whether this is the machine that runs this program.
    pub fn is_running(&self) -> bool {
        matches!(&self.0, Source::Folder(folder) if folder == Path::new("/"))
    }

    /// The text of a file, trimmed; `None` where it is absent or may not be read.
    pub fn text(&self, path: &str) -> Option<String> {
        match &self.0 {
            Source::Folder(folder) => {
                let text = std::fs::read_to_string(folder.join(path.trim_start_matches('/'))).ok()?;
                Some(text.trim().to_owned())
            }
            Source::Recorded(recording) => Some(recording.text(path)?.trim().to_owned()),
        }
    }

    /// The names in a folder; none where it is absent or may not be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        match &self.0 {
            Source::Folder(folder) => {
                let entries = std::fs::read_dir(folder.join(path.trim_start_matches('/')));
                let entries = entries.into_iter().flatten().flatten();
                let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
                names.sort();
                names
            }
            Source::Recorded(recording) => recording.names(path),
        }
    }

    /// The bytes of a file; `None` where it is absent or may not be read.
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        match &self.0 {
            Source::Folder(folder) => std::fs::read(folder.join(path.trim_start_matches('/'))).ok(),
            Source::Recorded(recording) => Some(recording.text(path)?.as_bytes().to_vec()),
        }
    }

    /// Why a file gives no text, as half a sentence.
    pub fn absence(&self, path: &str) -> String {
        let Source::Folder(folder) = &self.0 else { return format!("{path} was not recorded") };
        match std::fs::read(folder.join(path.trim_start_matches('/'))) {
            Ok(_) => format!("{path} holds no text"),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => format!("{path} may not be read by this user"),
            Err(error) if error.kind() == ErrorKind::NotFound => format!("{path} is not there"),
            Err(error) => format!("{path} cannot be read ({error})"),
        }
    }

    /// A file that holds one number.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }
}
