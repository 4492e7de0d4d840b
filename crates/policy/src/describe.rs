//! A policy as it is written: who gets which share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::bandwidth::BandwidthLimit;
use crate::cache_shares::CacheShares;
use crate::clock::{ClockRange, CoreFrequency};
use crate::colours::Colours;
use crate::cores::Cores;
use crate::lockdown::Lockdown;
use crate::priority::BusPriority;
use crate::share::CacheShare;

/// Who gets which share of which resource, in terms that hold on any machine.
#[skip_serializing_none]
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
    /// Memory that software without an operating system locks into a cache and a TLB.
    pub lockdown: Option<Lockdown>,
    /// Whether the cluster may enter the mode in which evictions from the cores bypass the last shared cache: `false`
    /// switches it off.
    pub no_allocate_mode: Option<bool>,
    /// Clock of the ring and the last shared cache.
    pub ring: Option<CoreFrequency>,
    /// Everyone else: every core and task that no class names. They get what is left unless this says less.
    #[serde(default, skip_serializing_if = "Others::is_default")]
    pub others: Others,
}

/// Some cores and tasks, and what they get.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name; resctrl's group is called so.
    pub name: String,
    /// Its cores: "4,5", "0-3,8", [4, 5], or one list for each platform, { NAME = "4,5" }.
    pub cores: Option<Cores>,
    /// Its processes and threads, by number. A process is all its threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<u32>,
    /// Its cgroups: all their tasks and those of the cgroups below them, as paths below the mount of cgroup v2 or
    /// /sys/fs/cgroup. They need not be there yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cgroups: Vec<String>,
    /// Its share of every L2 that it uses, or a list of shares by cache; what is left of them where absent.
    pub l2: Option<CacheShares>,
    /// Its share of every L3 that it uses, or a list of shares by cache; what is left of them where absent.
    pub l3: Option<CacheShares>,
    /// The most that it may take of the memory bandwidth; no limit where absent.
    pub bandwidth: Option<BandwidthLimit>,
    /// Priority of its requests on the bus: "highest", "lowest", or a level; as it is where absent.
    pub priority: Option<BusPriority>,
    /// How much of the bandwidth it gets when not all can have what they want, against the others' weights; 1 where
    /// absent, if anybody has one.
    pub weight: Option<u32>,
    /// Clock of its cores: "3.6 GHz", or "0.4 GHz to base"; as it is where absent.
    pub clock: Option<ClockRange>,
    /// Share of the last shared cache by page colour, for hypervisors.
    pub colours: Option<Colours>,
}

/// What is said of everyone else.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Others {
    /// Their share of every L2, or a list of shares by cache, within what the classes leave; all of that where absent.
    pub l2: Option<CacheShares>,
    /// Their share of every L3, or a list of shares by cache, within what the classes leave; all of that where absent.
    pub l3: Option<CacheShares>,
    /// The most that they may take of the memory bandwidth; no limit where absent.
    pub bandwidth: Option<BandwidthLimit>,
    /// Priority of their requests on the bus: "highest", "lowest", or a level; as it is where absent.
    pub priority: Option<BusPriority>,
    /// How much of the bandwidth they get when not all can have what they want, against the others' weights; 1 where
    /// absent, if anybody has one.
    pub weight: Option<u32>,
    /// Clock of their cores: "3.6 GHz", or "0.4 GHz to base"; as it is where absent.
    pub clock: Option<ClockRange>,
    /// Share of the last shared cache by page colour, for hypervisors.
    pub colours: Option<Colours>,
}

impl Class {
    /// Whether it gets anything.
    pub(crate) fn gets_something(&self) -> bool {
        let shares = self.l2.is_some() || self.l3.is_some() || self.bandwidth.is_some() || self.colours.is_some();
        shares || self.priority.is_some() || self.weight.is_some() || self.clock.is_some()
    }
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
