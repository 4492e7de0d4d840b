//! What of a machine a search varies.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What of a machine a search varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TuneOver {
    /// Ways of caches.
    Ways,
    /// Memory locked into caches and TLBs.
    Lock,
    /// Memory bandwidth.
    Bandwidth,
    /// Page colours.
    Colours,
    /// Priority on the bus.
    Priority,
    /// Clocks.
    Clock,
    /// Whether the last cache may be bypassed.
    Allocation,
}

impl TuneOver {
    /// Each, with its name.
    pub const NAMES: [(&'static str, Self); 7] = [
        ("ways", Self::Ways),
        ("lock", Self::Lock),
        ("bandwidth", Self::Bandwidth),
        ("colours", Self::Colours),
        ("priority", Self::Priority),
        ("clock", Self::Clock),
        ("allocation", Self::Allocation),
    ];
}

impl fmt::Display for TuneOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::NAMES.iter().find(|(_, it)| it == self).map_or("", |(name, _)| name))
    }
}

impl FromStr for TuneOver {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Self::NAMES.iter().map(|(name, _)| *name).collect();
        if text == "prefetch" {
            return Err(format!("no policy sets prefetchers; expected some of {}", names.join(", ")));
        }
        let found = Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, it)| *it);
        found.ok_or_else(|| format!("found `{text}`; expected some of {}, with commas", names.join(", ")))
    }
}
