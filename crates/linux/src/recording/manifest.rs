//! What a recorded tree says of itself.

use serde::{Deserialize, Serialize};

/// The manifest of a recorded tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the form; 1.
    pub format: u32,
    /// The program that made it, or where it was made up from.
    pub made_by: String,
    /// The day, such as `2026-11-22`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The architecture, as `uname -m` reports it.
    pub architecture: String,
    /// What is left out on purpose.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// What is there and could not be read, with the system's answer.
    #[serde(default)]
    pub unreadable: Vec<String>,
}

impl Manifest {
    /// The version that this program writes and reads.
    pub const FORMAT: u32 = 1;

    /// As a file.
    pub fn text(&self) -> String {
        let text = toml::to_string_pretty(self).expect("texts and numbers are representable as TOML");
        format!(
            "# A recorded tree: what a machine says of itself, read by `waykeeper machine --root` and others.\n\n{text}"
        )
    }
}
