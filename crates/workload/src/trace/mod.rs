//! Whole programs as workloads: what they access, from their own source or from a file.

mod describe;
mod length;
mod library;
mod lines;
mod predictor;
mod record;
mod replay;

use std::fmt;

use serde::{Deserialize, Serialize};
use waykeeper_programs::Spec;

pub use describe::Trace;
pub use length::PassLength;
pub use library::load;
pub use record::record_program;
pub(crate) use replay::{Replay, ReplayedPasses};

/// Where the accesses of a trace come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceSource {
    /// A program of the project's own, which is run as its accesses are asked for.
    Program(Spec),
    /// A file, by its path.
    File(String),
}

impl fmt::Display for TraceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(spec) => spec.fmt(f),
            Self::File(path) => f.write_str(path),
        }
    }
}
