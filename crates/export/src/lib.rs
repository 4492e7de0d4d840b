//! Runs in the formats of other programs, one a file. Texts of a run are escaped as each format has it, and control
//! characters are shown as escapes first: no format takes them all.

pub mod csv;
pub mod junit;
pub mod machine;
pub mod openmetrics;
pub mod perfetto;

/// Why a run is unavailable in a format: what was found, and what would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotExported(pub String);

impl std::fmt::Display for NotExported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotExported {}
