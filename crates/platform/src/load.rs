//! Reading a platform file: from text to a checked [`Platform`], or an error that names file, line and key.

use serde::Deserialize;
use toml::de::DeTable;
use toml::{Table, Value};

use crate::check::check;
use crate::check::settings::controls_exist;
use crate::describe::Platform;
use crate::explain::{KEY_IS_MISSING, Mistake, read};
use crate::locate::{line_at, line_of, offset_of};
use crate::memory::MemoryDescription;
use crate::missing::missing_keys;
use crate::mitigation::Settings;
use crate::part::fill_in;

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
    /// Reads a platform from TOML text; `file` is named in errors. Memories of [`crate::memory_parts`] that it names are
    /// filled in.
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
        let mut root = DeTable::parse(text).map_err(syntax)?;
        fill_in(root.get_mut()).map_err(|(key, span, message)| refuse(Some(at(span.start)), key, message))?;
        let value = Table::deserialize(toml::Deserializer::from(root.clone())).map(Value::Table).map_err(syntax)?;
        let misread = |within: &[&str], (path, message): Mistake| {
            let path: Vec<String> = within.iter().map(|part| (*part).to_owned()).chain(path).collect();
            let key = path.join(".");
            let is_missing = message.starts_with(KEY_IS_MISSING);
            let missing = is_missing.then(|| missing_keys(root.get_ref(), &key)).flatten();
            refuse(offset_of(root.get_ref(), &path).map(at), key, missing.unwrap_or(message))
        };
        // Alternative memories have parts of it: what is wrong there is said of `memory` first.
        if let Some(memory) = value.get("memory") {
            read::<MemoryDescription>(memory).map_err(|mistake| misread(&["memory"], mistake))?;
        }
        let platform: Self = read(&value).map_err(|mistake| misread(&[], mistake))?;
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

    /// Checks settings that stand at `path` elsewhere than in a platform file: each needs its control here.
    ///
    /// # Errors
    /// The first key that is wrong, below `path`, and what is wrong with it.
    pub fn check_settings(&self, path: &str, set: &Settings) -> Result<(), (String, String)> {
        controls_exist(self, path, set)
    }
}
