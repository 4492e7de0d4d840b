//! How the ways of a cache are given to classes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The registers behind a cache's `way_groups`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WayControl {
    /// Intel CAT that CPUID enumerates: Linux shows it in resctrl.
    Cat,
    /// Intel CAT that CPUID does not enumerate: its registers are there, and resctrl does not know of them.
    CatNotEnumerated,
    /// Arm MPAM cache portions.
    MpamPortions,
    /// Scheme IDs of an Arm DynamIQ Shared Unit, set by firmware.
    DsuSchemes,
    /// Lockdown registers by master of an Arm PL310, set by firmware or bare metal: a bit forbids.
    Lockdown,
}

impl std::fmt::Display for WayControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cat => "Intel CAT, enumerated by CPUID",
            Self::CatNotEnumerated => "Intel CAT that CPUID does not enumerate",
            Self::MpamPortions => "Arm MPAM cache portions",
            Self::DsuSchemes => "scheme IDs of an Arm DSU",
            Self::Lockdown => "lockdown registers of an Arm PL310",
        })
    }
}
