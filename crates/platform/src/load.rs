//! Reading a platform file: from text to a checked [`Platform`], or an error that names file, line and key.

use crate::check::check;
use crate::describe::Platform;
use crate::locate::{line_at, line_of};

/// Why a platform file was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{file}{}: {}{message}", line.map(|l| format!(":{l}")).unwrap_or_default(), if key.is_empty() { String::new() } else { format!("{key}: ") })]
pub struct PlatformError {
    /// The file, or `platforms/NAME.toml` for a bundled one.
    pub file: String,
    /// Line, from 1, where known.
    pub line: Option<usize>,
    /// Path of the key, or empty.
    pub key: String,
    /// What was found and what would do.
    pub message: String,
}

impl Platform {
    /// Reads a platform from TOML text; `file` is named in errors.
    ///
    /// # Errors
    /// Text that is not TOML, unknown or missing keys, values out of range, parameters without a source, settings of
    /// controls that the platform lacks.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, PlatformError> {
        let refuse = |line, key: String, message: String| PlatformError { file: file.into(), line, key, message };
        let at = |start: usize| line_at(text, start);
        let of = |key: &str| line_of(text, &key.split('.').collect::<Vec<_>>());
        let syntax = |error: toml::de::Error| {
            refuse(error.span().map(|span| at(span.start)), String::new(), error.message().to_owned())
        };
        let deserializer = toml::Deserializer::parse(text).map_err(syntax)?;
        let platform: Self = serde_path_to_error::deserialize(deserializer).map_err(|error| {
            let key = match error.path().to_string() {
                root if root == "." => String::new(),
                path => dotted(&path),
            };
            let line = error.inner().span().map(|span| at(span.start)).or_else(|| of(&key));
            refuse(line, key, error.inner().message().to_owned())
        })?;
        platform.check().map_err(|(key, message)| refuse(of(&key), key, message))?;
        Ok(platform)
    }

    /// Whether all values make sense together: what reading a file checks, for a platform that was changed since.
    ///
    /// # Errors
    /// The first key that is wrong, and what is wrong with it.
    pub fn check(&self) -> Result<(), (String, String)> {
        check(self)
    }
}

/// `cores[0].l2` as `cores.0.l2`: the form in which the rest of Waykeeper writes keys.
fn dotted(path: &str) -> String {
    path.replace('[', ".").replace(']', "")
}
