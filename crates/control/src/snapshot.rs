//! What the tree shows now: every group with its mode, shares, CPUs and tasks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::cpus::{self, Cpus};
use crate::schemata::{self, DomainShares};
use crate::{ResctrlTree, TreeError};

/// Directories of the root that are no groups.
const NO_GROUPS: [&str; 3] = ["info", "mon_groups", "mon_data"];

/// All groups by path: the root is the empty text, a monitoring group `GROUP/mon_groups/NAME` or `mon_groups/NAME`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The groups.
    pub groups: BTreeMap<String, GroupSnapshot>,
}

/// One group.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSnapshot {
    /// `shareable` and so on; absent in monitoring groups.
    pub mode: Option<String>,
    /// Its CPUs; none of a group that is pseudo-locked, which only names those of its cache.
    pub cpus: Cpus,
    /// Its tasks, those of monitoring groups within included. They come and go, and stand in no journal.
    #[serde(skip)]
    pub tasks: Vec<i32>,
    /// Its line-by-line settings, as text; absent in monitoring groups.
    pub schemata: Option<String>,
}

/// Where a CPU or a task is: its control group, and the monitoring group within where there is one.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Home {
    /// Path of the control group, empty for the root.
    pub control: String,
    /// Path of the monitoring group.
    pub monitoring: Option<String>,
}

/// The path of a file of a group.
pub(crate) fn file(group: &str, name: &str) -> String {
    if group.is_empty() { name.into() } else { format!("{group}/{name}") }
}

/// The control group that a group belongs to.
pub(crate) fn control_of(path: &str) -> &str {
    if path.starts_with("mon_groups/") {
        ""
    } else {
        path.split_once("/mon_groups/").map_or(path, |(control, _)| control)
    }
}

fn is_monitoring(path: &str) -> bool {
    path.starts_with("mon_groups/") || path.contains("/mon_groups/")
}

impl GroupSnapshot {
    /// Whether it is pseudo-locked or on the way to it: its files for CPUs and tasks are closed then.
    pub fn is_locking(&self) -> bool {
        self.mode.as_deref().is_some_and(|mode| mode.starts_with("pseudo-lock"))
    }

    /// Its shares.
    pub fn shares(&self) -> DomainShares {
        self.schemata.as_deref().and_then(|text| schemata::parse(text).ok()).unwrap_or_default()
    }
}

impl Snapshot {
    /// Looks at every group.
    ///
    /// # Errors
    /// A file that cannot be read. A group that vanishes meanwhile is left out.
    pub fn take(tree: &mut dyn ResctrlTree) -> Result<Self, TreeError> {
        let mut snapshot = Self::default();
        let names = tree.directories("")?;
        let groups = names.into_iter().filter(|name| !NO_GROUPS.contains(&name.as_str()));
        for control in std::iter::once(String::new()).chain(groups) {
            match GroupSnapshot::read(tree, &control, true) {
                Ok(group) if group.is_locking() => {
                    snapshot.groups.insert(control, group);
                }
                Ok(group) => {
                    snapshot.groups.insert(control.clone(), group);
                    let folder = file(&control, "mon_groups");
                    for name in tree.directories(&folder)? {
                        let path = format!("{folder}/{name}");
                        match GroupSnapshot::read(tree, &path, false) {
                            Ok(group) => drop(snapshot.groups.insert(path, group)),
                            Err(error) if error.is_absent() => {}
                            Err(error) => return Err(error),
                        }
                    }
                }
                Err(error) if error.is_absent() && !control.is_empty() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(snapshot)
    }

    /// Control groups, the root first.
    pub fn control(&self) -> impl Iterator<Item = (&String, &GroupSnapshot)> {
        self.groups.iter().filter(|(path, _)| !is_monitoring(path))
    }

    /// Monitoring groups.
    pub fn monitoring(&self) -> impl Iterator<Item = (&String, &GroupSnapshot)> {
        self.groups.iter().filter(|(path, _)| is_monitoring(path))
    }

    /// Where a CPU is; `None` where it is in no group, because it is offline.
    pub fn home_of_cpu(&self, cpu: u32) -> Option<Home> {
        self.home(|group| group.cpus.contains(&cpu))
    }

    /// Where a task is.
    pub fn home_of_task(&self, tid: i32) -> Option<Home> {
        self.home(|group| group.tasks.contains(&tid))
    }

    fn home(&self, holds: impl Fn(&GroupSnapshot) -> bool) -> Option<Home> {
        let control = self.control().find(|(_, group)| holds(group))?.0.clone();
        let mut within = self.monitoring().filter(|(path, _)| control_of(path) == control);
        let monitoring = within.find(|(_, group)| holds(group)).map(|(path, _)| path.clone());
        Some(Home { control, monitoring })
    }
}

impl GroupSnapshot {
    fn read(tree: &mut dyn ResctrlTree, path: &str, control: bool) -> Result<Self, TreeError> {
        let mut group = Self::default();
        if control {
            group.mode = Some(tree.read(&file(path, "mode"))?.trim().to_owned());
            group.schemata = Some(tree.read(&file(path, "schemata"))?);
        }
        if !group.is_locking() {
            let text = tree.read(&file(path, "cpus_list"))?;
            group.cpus = cpus::parse_list(&text).unwrap_or_default();
            group.tasks = tasks(&tree.read(&file(path, "tasks"))?);
        }
        Ok(group)
    }
}

/// The numbers in a file `tasks`.
pub(crate) fn tasks(text: &str) -> Vec<i32> {
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}
