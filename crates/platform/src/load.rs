//! Reading a platform file: from text to a checked [`Platform`], or an error that names file, line and key.

use toml_edit::{Document, Item};

use crate::check::check;
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
    /// Text that is not TOML, unknown or missing keys, values out of range, parameters without a source, settings of
    /// controls that the platform lacks.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, PlatformError> {
        let refuse = |line, key: String, message: String| PlatformError { file: file.into(), line, key, message };
        let at = |start: usize| 1 + text[..start].matches('\n').count();
        let syntax = |error: toml::de::Error| {
            refuse(error.span().map(|span| at(span.start)), String::new(), error.message().to_owned())
        };
        let deserializer = toml::Deserializer::parse(text).map_err(syntax)?;
        let platform: Self = serde_path_to_error::deserialize(deserializer).map_err(|error| {
            let key = match error.path().to_string() {
                root if root == "." => String::new(),
                path => dotted(&path),
            };
            let line = error.inner().span().map(|span| at(span.start)).or_else(|| line_of(text, &key));
            refuse(line, key, error.inner().message().to_owned())
        })?;
        check(&platform).map_err(|(key, message)| refuse(line_of(text, &key), key, message))?;
        Ok(platform)
    }
}

/// `cores[0].l2` as `cores.0.l2`: the form in which the rest of Waykeeper writes keys.
fn dotted(path: &str) -> String {
    path.replace('[', ".").replace(']', "")
}

/// The line of a dotted key, or of its longest part that the text has.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let document = Document::parse(text).ok()?;
    let mut item: &Item = document.as_item();
    let mut start = None;
    for part in key.split('.') {
        let next = match part.parse::<usize>() {
            Ok(index) => item.get(index),
            Err(_) => item.get(part),
        };
        // An element of a plain array is a value, not an item: the array's own line is the best there is.
        let Some(next) = next else { break };
        let named = item.as_table_like().and_then(|table| table.get_key_value(part)).and_then(|(key, _)| key.span());
        start = named.or_else(|| next.span()).map(|span| span.start).or(start);
        item = next;
    }
    start.map(|start| 1 + text[..start].matches('\n').count())
}
