//! Bad input: where it is, what was found, what would do.

use std::fmt;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A file, and the line (from 1) where known.
    File {
        /// Its name as the user gave it.
        name: String,
        /// The line.
        line: Option<usize>,
    },
    /// A command-line option, as typed.
    Option(String),
}

/// One paragraph about one mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// Where it is.
    pub origin: Origin,
    /// The key, such as `targets.0.core`; empty where the whole input is meant.
    pub key: String,
    /// What was found and what would do.
    pub message: String,
}

impl InputError {
    /// A mistake in a whole file.
    pub fn in_file(name: &str, message: impl Into<String>) -> Self {
        Self { origin: Origin::File { name: name.into(), line: None }, key: String::new(), message: message.into() }
    }

    /// A mistake in a command-line option.
    pub fn in_option(option: impl Into<String>, message: impl Into<String>) -> Self {
        Self { origin: Origin::Option(option.into()), key: String::new(), message: message.into() }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::File { name, line: Some(line) } => write!(f, "{name}:{line}: ")?,
            Origin::File { name, line: None } => write!(f, "{name}: ")?,
            Origin::Option(option) => write!(f, "{}: ", in_one_line(option))?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", in_one_line(&self.key))?;
        }
        f.write_str(&in_one_line(&self.message))
    }
}

/// What was found may hold line breaks and other control characters: they are shown as escapes.
fn in_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

impl std::error::Error for InputError {}
