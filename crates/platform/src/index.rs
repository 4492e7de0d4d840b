//! How a cache chooses the set of a line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::param::Param;

/// How a cache chooses the set of a line.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// Slices: each holds an equal part of the sets, and a hash of the whole line address chooses one; 1 where absent.
    pub slices: Option<Param<u64>>,
    /// Whether the set within a slice is a hash of the line address too, not just its lowest bits.
    pub hashed: Param<bool>,
}
