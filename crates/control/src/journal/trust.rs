//! Whether a line of the journal is one that this program writes after those before it. A journal decides what is written
//! to a machine; one that somebody has changed must not reach further than the plan that it begins with.

use std::collections::BTreeMap;

use super::{Head, Journal, PriorState, Record, TaskBefore};
use crate::change::Change;
use crate::cpus::Cpus;
use crate::registers;
use crate::remainder::Setting;
use crate::schemata;
use crate::settings::Settings;
use crate::snapshot::{Home, control_of};
use crate::undo::Action;

/// The highest number of a CPU that Linux can be built for (NR_CPUS of x86 and arm64 with CPUMASK_OFFSTACK).
const LAST_CPU: u32 = 8191;

/// What a record is about, and what is wrong with it.
type Wrong = (String, String);

fn wrong<T>(record: impl Into<String>, reason: impl Into<String>) -> Result<T, Wrong> {
    Err((record.into(), reason.into()))
}

/// Checks the first line; its steps are understood already.
pub(super) fn head(head: &Head, changes: &[Change]) -> Result<(), Wrong> {
    if head.boot.is_empty() {
        return wrong("the head", "it does not say which boot it belongs to");
    }
    before(&head.before, changes)
}

/// Checks any other line.
pub(super) fn record(journal: &Journal, record: &Record) -> Result<(), Wrong> {
    let Journal { head, changes, begun, done, trying, applied, undo, remains, .. } = journal;
    let applying = !applied && undo.is_none() && remains.is_none();
    match record {
        Record::Before(found) => {
            let mounts = matches!(changes.first(), Some(Change::Mount(_))) && head.mounted.is_none();
            if !applying || !mounts || (*begun, *done) != (1, 0) {
                return wrong("before", "it does not follow on a mount of resctrl");
            }
            before(found, changes)
        }
        Record::Trying if !applying || *begun > 0 || *trying => wrong("trying", "steps have begun already"),
        Record::Tried if !applying || !trying => wrong("tried", "nothing was being tried"),
        Record::Trying | Record::Tried => Ok(()),
        Record::Begin(step) if !applying || *trying || begun != done || step != begun || *step >= changes.len() => {
            wrong(format!("begin of step {}", step + 1), format!("{done} of {} steps are done", changes.len()))
        }
        Record::Begin(_) => Ok(()),
        Record::Done(step, left) => {
            let what = || format!("end of step {}", step.saturating_add(1));
            if !applying || step.checked_add(1) != Some(*begun) || step != done {
                return wrong(what(), format!("{begun} steps have begun, {done} are done"));
            }
            let change = &changes[*step];
            let fits = (left.schemata.is_none() || matches!(change, Change::Shares { .. }))
                && (left.register.is_none() || matches!(change, Change::Register { .. }))
                && (left.mount.is_none() || matches!(change, Change::Mount(_)));
            if fits { Ok(()) } else { wrong(what(), "what it says to have left is not of what the step writes") }
        }
        Record::Moved(tasks) => moved(journal, tasks),
        Record::Applied if !applying || *done != changes.len() => {
            wrong("applied", format!("{done} of {} steps are done", changes.len()))
        }
        Record::Applied => Ok(()),
        Record::Undo { actions, left, .. } => {
            if undo.is_some() {
                return wrong("undo", "another one has not come to its end");
            }
            let planned = Settings::of(changes);
            for (index, action) in actions.iter().enumerate() {
                action_of(head, &planned, action)
                    .map_err(|reason| (format!("undo, action {}: {}", index + 1, describe(action)), reason))?;
            }
            left.iter().try_for_each(|remainder| of_plan(&planned, &remainder.setting))
        }
        Record::Undone(action) => match undo.as_ref().and_then(|undo| undo.actions.get(*action)) {
            Some((_, false)) => Ok(()),
            _ => wrong(format!("undone {action}"), "no such action is to be done"),
        },
        Record::Remains(_) if undo.is_none() => wrong("remains", "no undo came before it"),
        Record::Remains(settings) => {
            let planned = Settings::of(changes);
            settings.iter().try_for_each(|setting| of_plan(&planned, setting))
        }
    }
}

/// Tasks that are followed come while the step is done or later, from a group that is none of the plan's.
fn moved(journal: &Journal, tasks: &BTreeMap<i32, TaskBefore>) -> Result<(), Wrong> {
    let is_cgroup = |change: &Change| matches!(change, Change::Cgroup { .. });
    let Journal { changes, begun, undo, remains, .. } = journal;
    if undo.is_some() || remains.is_some() || !changes[..*begun].iter().any(is_cgroup) {
        return wrong("moved", "no step for a cgroup has begun, or all of it is being undone");
    }
    let groups = Settings::of(changes).groups;
    for (tid, TaskBefore { home: Home { control, monitoring }, .. }) in tasks {
        let fits = monitoring.as_ref().is_none_or(|path| is_group(path) && control_of(path) == control);
        let is_control = is_group(control) && control_of(control) == control;
        if *tid <= 0 || !is_control || !fits || groups.contains(control) {
            return wrong(format!("moved, task {tid}"), "this is no group that it can have come from");
        }
    }
    Ok(())
}

fn before(before: &PriorState, changes: &[Change]) -> Result<(), Wrong> {
    let planned = Settings::of(changes);
    for (path, group) in &before.tree.groups {
        let what = || format!("before, group `{}`", path.escape_debug());
        if !is_group(path) {
            return wrong(what(), "this is no path of a group: expected NAME, mon_groups/NAME or NAME/mon_groups/NAME");
        }
        cpus(&group.cpus).map_err(|reason| (what(), reason))?;
    }
    for (tid, task) in &before.tasks {
        let Home { control, monitoring } = &task.home;
        let known = |path: &str| before.tree.groups.contains_key(path);
        let fits = monitoring.as_ref().is_none_or(|path| known(path) && control_of(path) == control);
        if *tid <= 0 || !known(control) || !fits {
            return wrong(format!("before, task {tid}"), "its group is none of those that were there");
        }
    }
    for register in &before.registers {
        let place = register.place;
        if registers::purpose(place.register).is_none() || !planned.registers.contains_key(&place) {
            let what = format!("before, register {:#x} of CPU {}", place.register, place.cpu);
            return wrong(what, "the plan does not write it");
        }
    }
    Ok(())
}

fn cpus(cpus: &Cpus) -> Result<(), String> {
    match cpus.last() {
        Some(cpu) if *cpu > LAST_CPU => Err(format!("found CPU {cpu}; the last one that there can be is {LAST_CPU}")),
        _ => Ok(()),
    }
}

/// Whether a path is the root's or that of a group of either kind, and leads nowhere else.
fn is_group(path: &str) -> bool {
    /// NAME_MAX of Linux.
    const LONGEST: usize = 255;
    const NO_GROUPS: [&str; 6] = ["", ".", "..", "info", "mon_groups", "mon_data"];
    let is_name = |name: &str| !NO_GROUPS.contains(&name) && name.len() <= LONGEST && !name.contains(['\0', '\n']);
    match path.split('/').collect::<Vec<_>>()[..] {
        [""] => true,
        [name] | ["mon_groups", name] => is_name(name),
        [control, "mon_groups", name] => is_name(control) && is_name(name),
        _ => false,
    }
}

/// Whether a restore of this plan can come to an action.
fn action_of(head: &Head, planned: &Settings, action: &Action) -> Result<(), String> {
    let must = |fits: bool, reason: &str| if fits { Ok(()) } else { Err(reason.to_owned()) };
    match action {
        Action::Register { place, value, mask } => {
            let bits = planned.registers.get(place).filter(|_| registers::purpose(place.register).is_some());
            let old = head.before.registers.iter().find(|before| before.place == *place);
            let (Some(bits), Some(old)) = (bits, old) else {
                return Err("the plan does not write this register".into());
            };
            must(*mask == bits.mask, "these are not the bits that the plan writes")?;
            must(*value == old.value & mask, "this is not what was there before")
        }
        Action::Cpus { group, cpus: them } => {
            must(!group.is_empty() && is_group(group), "this is no path of a group other than the root")?;
            cpus(them)
        }
        Action::Task { tid, began, home } => {
            let Some(old) = head.before.tasks.get(tid).filter(|old| old.began == *began) else {
                return Err("the plan does not name this task".into());
            };
            let within = home.monitoring.is_none() || home.monitoring == old.home.monitoring;
            let back = home.control == old.home.control && within;
            must(back || *home == Home::default(), "it was in another group before")
        }
        Action::RemoveGroup { group } => must(planned.groups.contains(group), "the plan does not make this group"),
        Action::RootShares { text } => {
            let shares = schemata::parse(text)?;
            let old = head.before.tree.groups.get("").map(|root| root.shares()).unwrap_or_default();
            let of_plan = planned.root_shares();
            must(*text == schemata::format(&shares), "this is not how this program writes shares")?;
            must(
                shares.keys().all(|domain| of_plan.contains_key(domain)),
                "the plan does not write all of these shares",
            )?;
            must(
                shares.iter().all(|(domain, value)| old.get(domain) == Some(value)),
                "this is not what was there before",
            )
        }
        Action::Unmount => {
            must(planned.mount.is_some() && head.mounted.is_none(), "resctrl was not mounted for this plan")
        }
    }
}

/// Whether a setting that is said to be left is one of the plan.
fn of_plan(planned: &Settings, setting: &Setting) -> Result<(), Wrong> {
    let (fits, what) = match setting {
        Setting::Register(place) => {
            let what = format!("register {:#x} of CPU {}", place.register, place.cpu);
            (planned.registers.contains_key(place), what)
        }
        Setting::Cpu(cpu) => (planned.cpus.contains_key(cpu), format!("CPU {cpu}")),
        Setting::Task(tid) => (planned.tasks.contains_key(tid), format!("task {tid}")),
        Setting::RootShare(domain) => {
            let what = format!("{}:{} of the root", domain.resource.escape_debug(), domain.id);
            (planned.root_shares().contains_key(domain), what)
        }
        Setting::Mount => (planned.mount.is_some(), "the mount of resctrl".into()),
    };
    if fits { Ok(()) } else { wrong(format!("what is left, {what}"), "the plan does not set it") }
}

fn describe(action: &Action) -> String {
    match action {
        Action::Register { place, value, mask } => {
            format!("register {:#x} of CPU {} to {value:#x} (mask {mask:#x})", place.register, place.cpu)
        }
        Action::Cpus { group, cpus } => {
            format!("CPUs {} to group `{}`", crate::cpus::format_list(cpus).trim(), group.escape_debug())
        }
        Action::Task { tid, home, .. } => format!("task {tid} to group `{}`", home.control.escape_debug()),
        Action::RemoveGroup { group } => format!("remove group `{}`", group.escape_debug()),
        Action::RootShares { text } => {
            format!("`{}` to the root's schemata", text.trim_end().escape_debug())
        }
        Action::Unmount => "unmount resctrl".into(),
    }
}
