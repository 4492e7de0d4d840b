//! Reading and checking a platform file.

use crate::describe::Platform;

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
    /// Text that is not TOML, unknown or missing keys, values out of range, parameters without a source.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, PlatformError> {
        toml::from_str(text).map_err(|error| PlatformError {
            file: file.into(),
            line: error.span().map(|span| 1 + text[..span.start].matches('\n').count()),
            key: String::new(),
            message: error.message().into(),
        })
    }
}
