//! Following a session while it measures.

use std::fmt;
use std::io;
use std::path::PathBuf;

use waykeeper_executor::Progress;

/// Follows a session while it measures. Methods are called from several threads.
pub trait Observer: Sync {
    /// A repeat is about to be measured, or has just ended.
    fn progress(&self, progress: Progress<'_>);

    /// A program is recorded, of which so many accesses are recorded.
    fn recording(&self, program: &str, accesses: u64) {
        let _ = (program, accesses);
    }

    /// Something that is in no result, and that the user must know at once.
    fn note(&self, note: &Note);

    /// Measuring has ended: no progress follows.
    fn ended(&self);
}

/// Follows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn progress(&self, _: Progress<'_>) {}

    fn note(&self, _: &Note) {}

    fn ended(&self) {}
}

/// What the user must know at once; the text is one sentence or more, without an end.
#[derive(Debug)]
pub enum Note {
    /// The counter moves in steps that are long beside what is measured: what that means.
    CoarseClock(String),
    /// The log of repeats cannot be written: a run that is killed loses repeats.
    LogNotWritten(io::Error),
    /// The run ended in an error after some repeats, which are in this folder.
    RepeatsKept(PathBuf),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CoarseClock(coarseness) => f.write_str(coarseness.trim_end_matches('.')),
            Self::LogNotWritten(error) => write!(
                f,
                "the log of repeats cannot be written: the run goes on, and each later repeat tries again; until then a \
                 run that is killed loses what is not in the log ({error})"
            ),
            Self::RepeatsKept(folder) => {
                let folder = folder.display();
                write!(
                    f,
                    "the repeats that are complete are kept: `waykeeper show {folder}` shows them, `waykeeper run --resume \
                     {folder}` goes on"
                )
            }
        }
    }
}
