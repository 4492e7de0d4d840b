//! How a cache chooses the set of a line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::param::Param;

/// How a cache chooses the set of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// Slices: each holds an equal part of the sets, and a hash of the whole line address chooses one; 1 where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<Param<u64>>,
    /// Whether the set within a slice is a hash of the line address too, not just its lowest bits.
    pub hashed: Param<bool>,
}
