//! Doing what a change or an action says.

use crate::change::Change;
use crate::cpus;
use crate::journal::{Journal, Left};
use crate::registers::RegisterError;
use crate::settings::CpuRegister;
use crate::snapshot::{self, Home, Snapshot, file};
use crate::system::System;
use crate::undo::{Action, Now};
use crate::{MachineAccess, ResctrlTree, TreeError};
use waykeeper_policy::Step;

/// How often a group is looked through for tasks that were born while others were moved out.
pub(crate) const PASSES: usize = 64;
/// How many generations are followed to find the parent that was moved.
const GENERATIONS: usize = 64;

/// Something that the machine did not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// In resctrl.
    #[error("{0}")]
    Tree(#[from] TreeError),
    /// In a register.
    #[error("{0}")]
    Register(#[from] RegisterError),
}

/// Does a step, and reads back what it left.
pub(crate) fn step(machine: &mut MachineAccess<'_>, step: &Step, change: &Change) -> Result<Left, MachineError> {
    match step {
        Step::Mounted(settings) => {
            if machine.tree.mounted()?.is_none() {
                machine.tree.mount(*settings)?;
            }
        }
        Step::MakeGroup { group } => machine.tree.mkdir(group)?,
        Step::Write { path, text } => machine.tree.write(path, text)?,
        // Done by `cgroups::gather`, which notes in the journal where the tasks come from.
        Step::Cgroup { .. } => {}
        Step::Register { cpu, register, value, mask } => {
            set_bits(machine, CpuRegister { cpu: *cpu, register: *register }, *value, *mask)?;
        }
    }
    let mut left = Left::default();
    match change {
        Change::Shares { group, .. } => left.schemata = Some(machine.tree.read(&file(group, "schemata"))?),
        Change::Register { cpu, register, .. } => left.register = Some(machine.registers.read(*cpu, *register)?),
        Change::Mount(_) => left.mount = machine.tree.mount_seen(),
        _ => {}
    }
    Ok(left)
}

/// Sets some bits of a register, and leaves the others.
pub(crate) fn set_bits(
    machine: &mut MachineAccess<'_>,
    place: CpuRegister,
    value: u64,
    mask: u64,
) -> Result<(), RegisterError> {
    let old = machine.registers.read(place.cpu, place.register)?;
    machine.registers.write(place.cpu, place.register, old & !mask | value)
}

/// Does an action. Doing it again changes nothing. `goes_on` where an earlier restore may have been cut off within it.
pub(crate) fn action(
    machine: &mut MachineAccess<'_>,
    journal: &Journal,
    action: &Action,
    goes_on: bool,
) -> Result<(), MachineError> {
    match action {
        Action::Register { place, value, mask } => Ok(set_bits(machine, *place, *value, *mask)?),
        Action::Cpus { group, cpus } => Ok(machine.tree.write(&file(group, "cpus_list"), &cpus::format_list(cpus))?),
        Action::Task { tid, began, home } => {
            let lives =
                |machine: &MachineAccess<'_>| machine.system.task(*tid).is_some_and(|task| task.began == *began);
            if !lives(machine) {
                return Ok(());
            }
            match send_home(machine.tree, *tid, home) {
                // It ended just now.
                Err(_) if !lives(machine) => Ok(()),
                result => Ok(result?),
            }
        }
        Action::RemoveGroup { group } => {
            if goes_on {
                bring_whole_way_home(machine, journal)?;
            }
            remove_group(machine, journal, group)
        }
        Action::RootShares { text } => Ok(machine.tree.write("schemata", text)?),
        Action::Unmount if machine.tree.mounted()?.is_none() => Ok(()),
        Action::Unmount => Ok(machine.tree.unmount()?),
    }
}

fn send_home(tree: &mut dyn ResctrlTree, tid: i32, home: &Home) -> Result<(), TreeError> {
    tree.write(&file(&home.control, "tasks"), &format!("{tid}\n"))?;
    match &home.monitoring {
        Some(monitoring) => tree.write(&file(monitoring, "tasks"), &format!("{tid}\n")),
        None => Ok(()),
    }
}

/// A task enters a monitoring group from that group's control group alone, so that it takes two writes. Where a restore was cut
/// off between them, the task is in no group that goes, and yet not home. Only tasks with a note of their own are looked at: a
/// child of one may have been in the control group all the time.
fn bring_whole_way_home(machine: &mut MachineAccess<'_>, journal: &Journal) -> Result<(), MachineError> {
    if journal.moved.values().all(|before| before.home.monitoring.is_none()) {
        return Ok(());
    }
    let tree = Snapshot::take(machine.tree)?;
    for (tid, before) in &journal.moved {
        let half_way = Home { monitoring: None, ..before.home.clone() };
        let is_same = machine.system.task(*tid).is_some_and(|facts| facts.began == before.began);
        if before.home != half_way && is_same && tree.home_of_task(*tid) == Some(half_way) {
            // One that ended just now, or whose group is gone, does not hold the others up.
            let _ = send_home(machine.tree, *tid, &before.home);
        }
    }
    Ok(())
}

/// Tasks of a group go where the task was that they come from; then the group goes, and what is left in it goes to the
/// root.
fn remove_group(machine: &mut MachineAccess<'_>, journal: &Journal, group: &str) -> Result<(), MachineError> {
    let is_open = match machine.tree.read(&file(group, "mode")) {
        Ok(mode) => !mode.starts_with("pseudo-lock"),
        Err(error) if error.is_absent() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for _ in 0..if is_open { PASSES } else { 0 } {
        let tasks = snapshot::tasks(&machine.tree.read(&file(group, "tasks"))?);
        let homes = tasks.into_iter().map(|tid| (tid, home_of(machine, journal, tid)));
        let homes: Vec<_> = homes.filter(|(_, home)| *home != Home::default()).collect();
        let mut moved = false;
        for (tid, home) in homes {
            // A task that ended, or whose group is gone, does not hold the others up.
            moved |= send_home(machine.tree, tid, &home).is_ok();
        }
        if !moved {
            break;
        }
    }
    Ok(machine.tree.rmdir(group)?)
}

/// Where a task belongs: where it was itself, or where its process or the nearest of its ancestors was; else the root.
fn home_of(machine: &MachineAccess<'_>, journal: &Journal, tid: i32) -> Home {
    let recorded = |tid: i32| {
        let facts = machine.system.task(tid)?;
        let at_first = journal.head.before.tasks.get(&tid).filter(|task| task.began == facts.began);
        let later = || journal.moved.get(&tid).filter(|task| task.began == facts.began);
        at_first.or_else(later).map(|task| task.home.clone())
    };
    lineage(machine.system, tid).find_map(recorded).unwrap_or_default()
}

/// A task, its process, its parent, that one's process and so on, as far as they live.
pub(crate) fn lineage(system: &dyn System, tid: i32) -> impl Iterator<Item = i32> {
    let alive = move |tid: i32| Some((tid, system.task(tid)?));
    let parents = std::iter::successors(alive(tid), move |(_, facts)| alive(facts.parent));
    parents.take(GENERATIONS).flat_map(|(tid, facts)| [tid, facts.process])
}

/// Looks at everything that a journal is about.
///
/// # Errors
/// What cannot be read.
pub(crate) fn look(machine: &mut MachineAccess<'_>, journal: &Journal) -> Result<Now, MachineError> {
    let mut now = Now::default();
    // One of a CPU that is offline by now does not stand in the way of those that are to be put back.
    let of_plan = journal.planned_settings().registers;
    for before in journal.head.before.registers.iter().filter(|before| of_plan.contains_key(&before.place)) {
        let CpuRegister { cpu, register } = before.place;
        now.registers.insert(before.place, machine.registers.read(cpu, register)?);
    }
    if journal.changes.iter().any(Change::is_resctrl) {
        now.mounted = machine.tree.mounted()?;
        if now.mounted.is_some() {
            now.tree = Snapshot::take(machine.tree)?;
            now.mount = machine.tree.mount_seen();
        }
        let tasks = journal.head.before.tasks.keys();
        now.tasks = tasks.filter_map(|tid| Some((*tid, machine.system.task(*tid)?.began))).collect();
    }
    Ok(now)
}
