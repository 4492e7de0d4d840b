//! A policy as it is written: who gets which share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bandwidth::BandwidthLimit;
use crate::cores::Cores;
use crate::share::CacheShare;

/// Who gets which share of which resource, in terms that hold on any machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// One line for `waykeeper list`.
    pub title: String,
    /// Those who get something of their own, in the order in which they choose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    /// Memory that is loaded into a cache once and stays there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pseudo_locks: Vec<PseudoLock>,
    /// Everyone else: every core and task that no class names. They get what is left unless this says less.
    #[serde(default, skip_serializing_if = "Others::is_default")]
    pub others: Others,
}

/// Some cores and tasks, and what they get.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name; resctrl's group is called so.
    pub name: String,
    /// Its cores: "4,5", "0-3,8", [4, 5], or one list for each platform, { NAME = "4,5" }.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<Cores>,
    /// Its processes and threads, by number. A process is all its threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<u32>,
    /// Its cgroups: all their tasks, as paths below /sys/fs/cgroup.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cgroups: Vec<String>,
    /// Its share of every L2 that it uses; what is left of them where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2: Option<CacheShare>,
    /// Its share of every L3 that it uses; what is left of them where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l3: Option<CacheShare>,
    /// The most that it may take of the memory bandwidth; no limit where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BandwidthLimit>,
}

/// What is said of everyone else.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Others {
    /// Their share of every L2, within what the classes leave; all of that where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2: Option<CacheShare>,
    /// Their share of every L3, within what the classes leave; all of that where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l3: Option<CacheShare>,
    /// The most that they may take of the memory bandwidth; no limit where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BandwidthLimit>,
}

impl Others {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Memory that is loaded into a cache once; the ways that hold it are then left alone by everyone (pseudo-locking).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PseudoLock {
    /// Its name: programs map /dev/pseudo_lock/NAME.
    pub name: String,
    /// The cache: 2 or 3.
    pub level: u8,
    /// The core whose cache of that level it is; programs that use the memory run on the cores of that cache.
    pub core: Cores,
    /// How much of the cache, from its lowest ways unless it is a mask or `at` says otherwise.
    pub size: CacheShare,
}
