//! Markers: a program says where its passes begin and end, and Waykeeper reads it from shared memory.
//!
//! The program's side is three files that users copy: `user/waykeeper.h` (C and C++), `user/waykeeper.rs` and
//! `user/waykeeper.py`; they are [`SOURCES`] here. This crate is the other side: [`Rings`] is the shared memory, from which
//! [`Mark`]s are read, and [`Pairs`] makes passes of them. Whatever a program writes there is hostile: nothing of it is
//! trusted.

mod layout;
mod pairs;
mod rings;

pub use pairs::{Pairs, Pass, Unpaired};
pub use rings::{CLOCK_COUNTER, CLOCK_MONOTONIC_RAW, Mark, MarkingThread, PHASES, Rings, WriterMemory};

/// The environment variable that says where a program's rings are: `FD:PATH`.
pub const VARIABLE: &str = "WAYKEEPER_MARKERS";

/// A file of the program's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LanguageBinding {
    /// The language, as `waykeeper markers` takes it.
    pub language: &'static str,
    /// The file's name.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The files of the program's side.
pub const SOURCES: [LanguageBinding; 3] = [
    LanguageBinding { language: "c", file: "waykeeper.h", text: include_str!("../user/waykeeper.h") },
    LanguageBinding { language: "rust", file: "waykeeper.rs", text: include_str!("../user/waykeeper.rs") },
    LanguageBinding { language: "python", file: "waykeeper.py", text: include_str!("../user/waykeeper.py") },
];
