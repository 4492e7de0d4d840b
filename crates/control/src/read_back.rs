//! Whether the machine reads as it was written.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::journal::TaskBefore;
use crate::perform::MachineError;
use crate::schemata;
use crate::settings::Settings;
use crate::snapshot::{Snapshot, file};
use crate::undo::name;
use crate::{MachineAccess, ResctrlTree};

/// A setting that does not read as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Which one, such as `target/schemata L3:0`.
    pub setting: String,
    /// What was written.
    pub wrote: String,
    /// What it reads.
    pub reads: String,
    /// Whether the machine may have rounded it: a share, or bits of a register.
    pub rounded: bool,
}

/// What a step makes, and no value that it writes.
const MOUNTED: &str = "mounted";
const MADE: &str = "made";

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if matches!(self.wrote.as_str(), MOUNTED | MADE) {
            return write!(f, "{} was {}, and is {}", self.setting, self.wrote, self.reads);
        }
        write!(f, "{}: {} was written, it reads {}", self.setting, self.wrote, self.reads)
    }
}

/// Reads every setting, and returns those that differ.
pub(crate) fn read_back(
    machine: &mut MachineAccess<'_>,
    settings: &Settings,
    tasks: &BTreeMap<i32, TaskBefore>,
) -> Result<Vec<Difference>, MachineError> {
    let mut differences = Vec::new();
    for (place, bits) in &settings.registers {
        let reads = machine.registers.read(place.cpu, place.register)? & bits.mask;
        if reads != bits.value {
            differences.push(Difference {
                setting: format!("register {:#x} of CPU {} (mask {:#x})", place.register, place.cpu, bits.mask),
                wrote: format!("{:#x}", bits.value),
                reads: format!("{reads:#x}"),
                rounded: true,
            });
        }
    }
    if settings.registers.is_empty() {
        let mounted = machine.tree.mounted()?;
        match mounted {
            Some(found) if settings.mount.is_none_or(|wanted| wanted == found) => {
                tree(machine.tree, settings, tasks, &mut differences)?;
                differences.retain(|difference| !is_dead(machine, tasks, difference));
            }
            _ => differences.push(differs("resctrl", MOUNTED, mounted.map_or("not mounted", |_| "mounted otherwise"))),
        }
    }
    Ok(differences)
}

fn differs(setting: impl Into<String>, wrote: impl Into<String>, reads: impl Into<String>) -> Difference {
    Difference { setting: setting.into(), wrote: wrote.into(), reads: reads.into(), rounded: false }
}

fn task_setting(tid: i32) -> String {
    format!("group of task {tid}")
}

/// Tasks end; that is no difference.
fn is_dead(machine: &MachineAccess<'_>, tasks: &BTreeMap<i32, TaskBefore>, difference: &Difference) -> bool {
    let mut dead = tasks.iter().filter(|(tid, before)| has_ended(machine, **tid, before));
    dead.any(|(tid, _)| difference.setting == task_setting(*tid))
}

fn has_ended(machine: &MachineAccess<'_>, tid: i32, before: &TaskBefore) -> bool {
    machine.system.task(tid).is_none_or(|facts| facts.began != before.began)
}

/// A task that the plan names by number, and that has ended since: nothing is applied to it any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndedTask {
    /// Its number.
    pub tid: i32,
    /// The group that it was put into.
    pub group: String,
}

impl std::fmt::Display for EndedTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "task {}, which was put into {}, has ended since", self.tid, name(&self.group))
    }
}

/// The tasks of the plan that have ended since.
pub(crate) fn ended(
    machine: &MachineAccess<'_>,
    settings: &Settings,
    tasks: &BTreeMap<i32, TaskBefore>,
) -> Vec<EndedTask> {
    let named =
        settings.tasks.iter().filter(|(tid, _)| tasks.get(tid).is_some_and(|before| has_ended(machine, **tid, before)));
    named.map(|(tid, group)| EndedTask { tid: *tid, group: group.clone() }).collect()
}

fn tree(
    tree: &mut dyn ResctrlTree,
    settings: &Settings,
    tasks: &BTreeMap<i32, TaskBefore>,
    differences: &mut Vec<Difference>,
) -> Result<(), MachineError> {
    let now = Snapshot::take(tree)?;
    for group in settings.groups.iter().filter(|group| !now.groups.contains_key(*group)) {
        differences.push(differs(name(group), MADE, "not there"));
    }
    let there = |group: &str| now.groups.get(group);
    for (group, wanted) in &settings.modes {
        let reads = there(group).and_then(|group| group.mode.as_deref()).unwrap_or("nothing");
        if reads != wanted {
            differences.push(differs(file(group, "mode"), wanted, reads));
        }
    }
    for (group, wanted) in &settings.shares {
        let reads = there(group).map(|group| group.shares()).unwrap_or_default();
        for (domain, value) in wanted {
            let resource = &domain.resource;
            let read = reads.get(domain);
            if read != Some(value) {
                let shown = read.map_or("nothing".into(), |read| schemata::show(resource, *read));
                let setting = format!("{} {resource}:{}", file(group, "schemata"), domain.id);
                let difference = differs(setting, schemata::show(resource, *value), shown);
                differences.push(Difference { rounded: read.is_some(), ..difference });
            }
        }
    }
    for (cpu, wanted) in &settings.cpus {
        let reads = now.home_of_cpu(*cpu).map(|home| home.control);
        if reads.as_ref() != Some(wanted) {
            let reads = reads.map_or("none".into(), |group| name(&group));
            differences.push(differs(format!("group of CPU {cpu}"), name(wanted), reads));
        }
    }
    for (tid, wanted) in settings.tasks.iter().filter(|(tid, _)| tasks.contains_key(tid)) {
        let reads = now.home_of_task(*tid).map(|home| home.control);
        if reads.as_ref() != Some(wanted) {
            let reads = reads.map_or("none".into(), |group| name(&group));
            differences.push(differs(task_setting(*tid), name(wanted), reads));
        }
    }
    Ok(())
}
