//! Named settings of a platform's controls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named assignment of controls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mitigation {
    /// One line: what it does.
    pub title: String,
    /// The settings, by control. An empty set is a mitigation that changes nothing here.
    #[serde(default)]
    pub set: Settings,
}

/// Settings of controls; what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Whether the shared cache may enter its no-allocate mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_allocate_mode: Option<bool>,
    /// Which way groups of the shared cache each class fills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way_groups: Option<WayGroups>,
    /// The class whose requests go first before the memory controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Memory of two colours, one for the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colouring: Option<Colouring>,
}

/// Groups of ways by class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WayGroups {
    /// Groups that the target's core fills.
    pub target: Vec<u8>,
    /// Groups that all other cores fill.
    pub others: Vec<u8>,
}

/// Who goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Nobody.
    Equal,
    /// The target's core.
    TargetFirst,
}

/// Two colours of memory, told apart by one address bit: the target gets those addresses in which it is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Colouring {
    /// The bit of the physical address. It separates in those caches and filters whose set index contains it.
    pub address_bit: u8,
}

impl Settings {
    /// These settings, with those of `later` in place of what both set.
    pub fn then(&self, later: &Self) -> Self {
        Self {
            no_allocate_mode: later.no_allocate_mode.or(self.no_allocate_mode),
            way_groups: later.way_groups.clone().or_else(|| self.way_groups.clone()),
            priority: later.priority.or(self.priority),
            colouring: later.colouring.or(self.colouring),
        }
    }
}
