//! How the passes of an external program are known, where it is a target.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a pass of an external program is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PassSource {
    /// Markers in its source: `waykeeper.h`, `waykeeper.rs` or `waykeeper.py`.
    #[default]
    Markers,
    /// Functions that it calls: a pass begins where one is entered and ends where another, or the same, returns.
    Functions,
    /// A cyclic program's activations: a pass begins where its first thread gets the core after a sleep and ends where that
    /// thread goes to sleep.
    Period,
    /// The whole program, from its start to its end, again and again.
    Process,
    /// The program is cyclictest: what it counts are the samples. Its length, core and output are added to `argv`.
    Cyclictest,
}

impl fmt::Display for PassSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Markers => "markers",
            Self::Functions => "functions",
            Self::Period => "period",
            Self::Process => "process",
            Self::Cyclictest => "cyclictest",
        })
    }
}

/// A phase of a program: its number, or the name that it has in the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Phase {
    /// Its number, 0 to 63.
    Number(u32),
    /// Its name.
    Name(String),
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

impl Default for Passes {
    fn default() -> Self {
        Self::Markers { phase: None }
    }
}

/// The passes of an external program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Passes {
    /// Of a phase, or of the only one that the program marks.
    Markers {
        /// Which.
        phase: Option<Phase>,
    },
    /// From the entry of one function to the return of another.
    Functions {
        /// The function at whose entry a pass begins.
        begin: String,
        /// The function at whose return it ends.
        end: String,
    },
    /// From each switch to the first thread after a sleep to its next sleep.
    Period,
    /// From the program's start to its end.
    Process,
    /// Those that cyclictest counts.
    Cyclictest,
}
