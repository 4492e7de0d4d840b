//! One physical parameter: its value and how far it can be trusted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// How a parameter is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// A public document states it.
    Documented,
    /// Someone measured it on the part or on a close relative; the source says who.
    Measured,
    /// Assumed before any comparison, with a range and a reason.
    Assumed,
    /// Chosen so that named published figures come out; those figures are then no evidence.
    Fitted,
    /// Put into the model because nothing in it yields it; figures that depend on it earn nothing.
    Imposed,
}

impl std::fmt::Display for Basis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Documented => "documented",
            Self::Measured => "measured",
            Self::Assumed => "assumed",
            Self::Fitted => "fitted",
            Self::Imposed => "imposed",
        })
    }
}

/// A value with its basis. The unit is part of the key's name (`_ns`, `_cycles`, `_kib`).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    bound(deserialize = "T: Deserialize<'de>"),
    expecting = "a parameter: { value = ..., is = \"documented\", source = \"...\" }, or measured, assumed, fitted, imposed"
)]
pub struct Param<T> {
    /// The value, in the unit that the key names.
    pub value: T,
    /// How it is known.
    pub is: Basis,
    /// A key of the file's `sources`, or a citation; required unless assumed or imposed.
    pub source: Option<String>,
    /// The range of an assumed value.
    pub range: Option<[T; 2]>,
    /// Why this value was assumed, fitted or imposed, or how it was derived.
    pub reason: Option<String>,
    /// The published figures a fitted value was chosen for.
    pub fitted_on: Option<Vec<String>>,
}

impl<T> Param<T> {
    /// A documented value, for platforms that are discovered rather than read from a file.
    pub fn documented(value: T, source: &str) -> Self {
        Self { value, is: Basis::Documented, source: Some(source.into()), range: None, reason: None, fitted_on: None }
    }
}

/// One parameter of a platform, flattened for printing.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterRow {
    /// Path of the key, such as `clusters.0.cache.hit_ns`.
    pub path: String,
    /// The value as TOML text.
    pub value: String,
    /// How it is known.
    pub is: Basis,
    /// Its source, reason, range or rows, whichever there are.
    pub note: String,
}
