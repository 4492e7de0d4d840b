//! The parts of a platform.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::param::Param;

/// The number of a core, as Linux numbers it.
pub type CoreId = u32;

/// A machine as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    /// The name that experiments use; the file's name without its ending.
    pub name: String,
    /// One line for `waykeeper list`.
    pub title: String,
    /// Short names for the documents that the parameters cite.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
    /// Bytes in a cache line.
    pub line_bytes: Param<u64>,
    /// The cores, by kind.
    pub cores: Vec<CoreKind>,
    /// Caches that several cores share, inner ones first.
    #[serde(default)]
    pub shared_caches: Vec<SharedCache>,
    /// Named assignments of this platform's controls: what an experiment can list as a mitigation.
    #[serde(default)]
    pub mitigations: BTreeMap<String, Mitigation>,
}

/// Cores of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreKind {
    /// The part's name, such as `Cortex-A55`.
    pub kind: String,
    /// The numbers of these cores.
    pub ids: Vec<CoreId>,
    /// Clock in GHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ghz: Option<Param<f64>>,
    /// First-level data cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l1d: Option<PrivateCache>,
    /// First-level instruction cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l1i: Option<PrivateCache>,
    /// Private second-level cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2: Option<PrivateCache>,
}

/// A cache of one core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrivateCache {
    /// Capacity in KiB.
    pub size_kib: Param<u64>,
    /// Associativity.
    pub ways: Param<u64>,
}

/// A cache that several cores share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedCache {
    /// Level: 2 or 3.
    pub level: u8,
    /// The cores that share it.
    pub cores: Vec<CoreId>,
    /// Capacity in KiB.
    pub size_kib: Param<u64>,
    /// Associativity.
    pub ways: Param<u64>,
}

/// A named assignment of controls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mitigation {
    /// One line: what it does.
    pub title: String,
}

impl Platform {
    /// All core numbers, ascending.
    pub fn core_ids(&self) -> Vec<CoreId> {
        let mut ids: Vec<_> = self.cores.iter().flat_map(|kind| kind.ids.iter().copied()).collect();
        ids.sort_unstable();
        ids
    }

    /// The kind of a core.
    pub fn core_kind(&self, core: CoreId) -> Option<&CoreKind> {
        self.cores.iter().find(|kind| kind.ids.contains(&core))
    }
}
