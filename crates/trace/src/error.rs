//! Why a trace cannot be read.

use std::io;

/// Why a trace cannot be read or written. The name of the file is the caller's to add.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is none of the known kinds.
    #[error(
        "this is no trace: {0}; expected Waykeeper's own format, lackey's text (`--trace-mem=yes`), Dinero's `din` text, or \
         ChampSim's records of 64 or 96 bytes (each also as .gz or .xz)"
    )]
    Unknown(String),
    /// It is a trace of a later version.
    #[error("the trace has version {found}, and this program reads version {known}; a newer Waykeeper would do")]
    Version {
        /// The version in the file.
        found: u16,
        /// The version that this program knows.
        known: u16,
    },
    /// The recording ended before it was whole.
    #[error("the trace was not finished: its recording was killed, or the file was cut off; record it again")]
    Unfinished,
    /// Something in it cannot be.
    #[error("the trace is damaged at byte {at}: {what}; copy or record it again")]
    Damaged {
        /// Where in the file.
        at: u64,
        /// What was found.
        what: String,
    },
    /// A line of a text format cannot be read.
    #[error("line {line}: found `{found}`; expected {expected}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// Its beginning.
        found: String,
        /// What would do.
        expected: &'static str,
    },
    /// It holds no access at all.
    #[error("the trace holds no memory access")]
    Empty,
    /// What looks at the program while it is recorded cannot go on.
    #[error("the program's passes cannot be seen: {0}")]
    Watch(String),
    /// It touches more memory than can be laid out.
    #[error("the trace touches more than {} GiB of different pages; record less of it with --limit", crate::pages::MOST_PAGES >> 18)]
    TooManyPages,
}

impl TraceError {
    pub(crate) fn damaged(at: u64, what: impl Into<String>) -> Self {
        Self::Damaged { at, what: what.into() }
    }
}
