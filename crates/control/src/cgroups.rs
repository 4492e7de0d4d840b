//! The tasks of cgroups: which are in their group, and which are to be put there.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::MachineAccess;
use crate::journal::{Journal, JournalError, PriorState, Record, TaskBefore};
use crate::perform::{MachineError, PASSES, lineage};
use crate::read_back::Difference;
use crate::settings::Settings;
use crate::snapshot::{self, Home, Snapshot, file};
use crate::store::Store;
use crate::system::System;
use crate::undo::name;

/// What is there of a cgroup of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FollowedCgroup {
    /// Its path.
    pub cgroup: String,
    /// The group that its tasks belong to.
    pub group: String,
    /// How many tasks it has, with those below it; `None` where it is not there.
    pub tasks: Option<usize>,
    /// The tasks of it that are in another group.
    pub outside: Vec<i32>,
}

impl std::fmt::Display for FollowedCgroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cgroup, group, tasks, outside } = self;
        let there = name(group);
        match (tasks, outside.len()) {
            (None, _) => write!(f, "cgroup {cgroup} is not there: it has no task that could be in {there}"),
            (Some(0), _) => write!(f, "cgroup {cgroup} has no tasks now"),
            (Some(count), 0) => write!(f, "cgroup {cgroup}: all tasks ({count}) are in {there}"),
            (Some(count), missing) => {
                write!(f, "cgroup {cgroup}: of {count} tasks {missing} are not in {there}: {}", listed(outside))
            }
        }
    }
}

/// Tasks of a group that is for cgroups, which are in none of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Strays {
    /// The group.
    pub group: String,
    /// The tasks.
    pub tasks: Vec<i32>,
}

impl std::fmt::Display for Strays {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { group, tasks } = self;
        write!(
            f,
            "{} has tasks of none of its cgroups: {}; they have left them since, or somebody put them there, and they keep what the group has",
            name(group),
            listed(tasks)
        )
    }
}

/// How the cgroups of a plan stand.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    pub cgroups: Vec<FollowedCgroup>,
    pub strays: Vec<Strays>,
    /// Tasks that are outside of their group.
    pub differences: Vec<Difference>,
}

/// A task of a cgroup that is not in its group.
#[derive(Debug, Clone)]
pub(crate) struct Outside {
    pub tid: i32,
    pub began: u64,
    pub home: Home,
    /// Whether it is in the root while an ancestor is in a group of others: where that one goes says nothing about this task.
    pub follows_others: bool,
}

/// What was looked at of one cgroup.
pub(crate) struct Look {
    pub cgroup: String,
    pub group: String,
    /// How many tasks it has; `None` where it is not there.
    pub tasks: Option<usize>,
    pub outside: Vec<Outside>,
}

impl Look {
    pub fn followed(&self) -> FollowedCgroup {
        FollowedCgroup {
            cgroup: self.cgroup.clone(),
            group: self.group.clone(),
            tasks: self.tasks,
            outside: self.outside.iter().map(|task| task.tid).collect(),
        }
    }
}

/// A few numbers of tasks in a sentence.
fn listed(tids: &[i32]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<_> = tids.iter().take(SHOWN).map(i32::to_string).collect();
    let more = tids.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

/// The tasks of a cgroup that belong to its group: not those of cgroups within it that another step names, nor those that
/// the plan names by number, nor threads of these.
fn tasks_of(
    system: &dyn System,
    settings: &Settings,
    named: &BTreeMap<i32, TaskBefore>,
    cgroup: &str,
) -> Option<Vec<(i32, u64)>> {
    let others: Vec<&str> = settings.cgroups.keys().map(String::as_str).collect();
    let alive = |tid: i32| Some((tid, system.task(tid)?));
    let all = system.cgroup(cgroup, &others)?.into_iter().filter_map(alive);
    let own = all.filter(|(tid, facts)| {
        !is_named(system, settings, named, *tid) && !is_named(system, settings, named, facts.process)
    });
    Some(own.map(|(tid, facts)| (tid, facts.began)).collect())
}

/// Whether the plan names this very task by number.
fn is_named(system: &dyn System, settings: &Settings, named: &BTreeMap<i32, TaskBefore>, tid: i32) -> bool {
    let is_same = |before: &TaskBefore| system.task(tid).is_some_and(|facts| facts.began == before.began);
    settings.tasks.contains_key(&tid) && named.get(&tid).is_some_and(is_same)
}

/// Tasks that are in groups for cgroups, and neither in a cgroup of the plan nor born of a task that it names by number.
fn strays(
    machine: &mut MachineAccess<'_>,
    settings: &Settings,
    named: &BTreeMap<i32, TaskBefore>,
) -> Result<Vec<Strays>, MachineError> {
    let groups: BTreeSet<&String> = settings.cgroups.values().collect();
    let mut held = Vec::new();
    for group in groups {
        match machine.tree.read(&file(group, "tasks")) {
            Ok(text) => held.push((group, snapshot::tasks(&text))),
            Err(error) if error.is_absent() => {}
            Err(error) => return Err(error.into()),
        }
    }
    // The cgroups after the groups: a child that is born meanwhile is in its cgroup already.
    let system = machine.system;
    let inside: BTreeSet<i32> =
        settings.cgroups.keys().filter_map(|cgroup| system.cgroup(cgroup, &[])).flatten().collect();
    let is_born_of_named = |tid: i32| lineage(system, tid).any(|ancestor| is_named(system, settings, named, ancestor));
    let is_stray = |tid: &i32| {
        !inside.contains(tid) && system.task(*tid).is_some() && !system.is_zombie(*tid) && !is_born_of_named(*tid)
    };
    let of = |(group, tids): (&String, Vec<i32>)| Strays {
        group: group.clone(),
        tasks: tids.into_iter().filter(is_stray).collect(),
    };
    Ok(held.into_iter().map(of).filter(|strays| !strays.tasks.is_empty()).collect())
}

/// Looks at every cgroup of some settings. Changes nothing.
///
/// # Errors
/// What cannot be read.
pub(crate) fn look(
    machine: &mut MachineAccess<'_>,
    settings: &Settings,
    named: &BTreeMap<i32, TaskBefore>,
) -> Result<Vec<Look>, MachineError> {
    if settings.cgroups.is_empty() {
        return Ok(Vec::new());
    }
    // The tasks first: one that is born after that is looked at the next time.
    let cgroups = settings.cgroups.iter();
    let tasks: Vec<_> =
        cgroups.map(|(cgroup, group)| (cgroup, group, tasks_of(machine.system, settings, named, cgroup))).collect();
    let tree = Snapshot::take(machine.tree)?;
    let control: BTreeMap<i32, &String> =
        tree.control().flat_map(|(path, group)| group.tasks.iter().map(move |tid| (*tid, path))).collect();
    let is_elsewhere = |tid: i32| {
        tree.home_of_task(tid).is_some_and(|home| home != Home::default() && !settings.groups.contains(&home.control))
    };
    let system = machine.system;
    let looks = tasks.into_iter().map(|(cgroup, group, tasks)| {
        // One that resctrl does not show has ended meanwhile, or is another PID namespace's.
        let strangers = tasks.iter().flatten().filter(|(tid, _)| control.get(tid).is_some_and(|there| *there != group));
        let home = |(tid, began): &(i32, u64)| {
            let home = tree.home_of_task(*tid)?;
            // One that comes from elsewhere itself is noted in any case.
            let follows_others = home == Home::default() && lineage(system, *tid).any(is_elsewhere);
            Some(Outside { tid: *tid, began: *began, home, follows_others })
        };
        let outside = strangers.filter_map(home).collect();
        Look { cgroup: cgroup.clone(), group: group.clone(), tasks: tasks.map(|it| it.len()), outside }
    });
    Ok(looks.collect())
}

/// How the cgroups of a plan stand now. Changes nothing.
///
/// # Errors
/// What cannot be read.
pub(crate) fn standing(
    machine: &mut MachineAccess<'_>,
    settings: &Settings,
    named: &BTreeMap<i32, TaskBefore>,
) -> Result<Standing, MachineError> {
    if settings.cgroups.is_empty() || machine.tree.mounted()?.is_none() {
        return Ok(Standing::default());
    }
    let strays = strays(machine, settings, named)?;
    let mut looks = look(machine, settings, named)?;
    // A task that has ended since is no difference.
    for look in &mut looks {
        look.outside.retain(|task| machine.system.task(task.tid).is_some_and(|facts| facts.began == task.began));
    }
    let difference = |look: &Look| {
        let mut homes: Vec<String> = look.outside.iter().map(|task| name(&task.home.control)).collect();
        homes.sort();
        homes.dedup();
        let tids: Vec<i32> = look.outside.iter().map(|task| task.tid).collect();
        Difference {
            setting: format!("group of cgroup {}, tasks {}", look.cgroup, listed(&tids)),
            wrote: name(&look.group),
            reads: homes.join(", "),
            rounded: false,
        }
    };
    let differences = looks.iter().filter(|look| !look.outside.is_empty()).map(difference).collect();
    Ok(Standing { cgroups: looks.iter().map(Look::followed).collect(), strays, differences })
}

/// What is there of each cgroup before a plan, in words.
pub(crate) fn now(system: &dyn System, settings: &Settings, before: &PriorState) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for cgroup in settings.cgroups.keys() {
        let Some(tasks) = tasks_of(system, settings, &before.tasks, cgroup) else { continue };
        let mut homes: BTreeMap<String, usize> = BTreeMap::new();
        for home in tasks.iter().filter_map(|(tid, _)| before.tree.home_of_task(*tid)) {
            *homes.entry(home.control).or_default() += 1;
        }
        let homes: Vec<_> = homes.iter().map(|(group, count)| format!("{count} in {}", name(group))).collect();
        let text = if homes.is_empty() { "no tasks".into() } else { format!("tasks: {}", homes.join(", ")) };
        found.insert(cgroup.clone(), text);
    }
    found
}

/// Why tasks of a cgroup could not be put into its group.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GatherError {
    #[error("{0}")]
    Machine(#[from] MachineError),
    #[error("{0}")]
    Journal(#[from] JournalError),
    #[error(
        "cgroup {cgroup} had tasks outside of the group {group} in each of {PASSES} looks ({left} in the last one): it gets new ones \
         faster than they can be moved; a cgroup that is calmer, or the cgroup of whoever starts them, would do"
    )]
    Restless { cgroup: String, group: String, left: usize },
}

/// Puts the tasks that were found outside into their group, after the journal says where they come from. Returns how many.
///
/// # Errors
/// What the machine answered for a task that lives; a journal that cannot be written.
pub(crate) fn put(
    machine: &mut MachineAccess<'_>,
    store: &mut dyn Store,
    journal: &mut Journal,
    look: &Look,
) -> Result<usize, GatherError> {
    let known = |task: &Outside| journal.moved.get(&task.tid).is_some_and(|moved| moved.began == task.began);
    // One that comes from another group of the plan has its note, or goes where its ancestors came from.
    let groups = Settings::of(&journal.changes).groups;
    let strangers: Vec<_> = look.outside.iter().filter(|task| !groups.contains(&task.home.control)).collect();
    // Without a note a task goes where its ancestors came from. Where nothing comes from elsewhere than the root, and no
    // ancestor is elsewhere, this is the root: nothing is written then, so that the journal of machines that start containers
    // for months does not grow.
    let elsewhere = |home: &Home| *home != Home::default();
    let from_elsewhere = strangers.iter().any(|task| elsewhere(&task.home))
        || journal.head.before.tasks.values().chain(journal.moved.values()).any(|before| elsewhere(&before.home));
    let note: BTreeMap<i32, TaskBefore> = strangers
        .iter()
        .filter(|task| (from_elsewhere || task.follows_others) && !known(task))
        .map(|task| (task.tid, TaskBefore { began: task.began, home: task.home.clone() }))
        .collect();
    if !note.is_empty() {
        journal.note_more(store, Record::Moved(note))?;
    }
    let mut moved = 0;
    for task in &look.outside {
        let lives =
            |machine: &MachineAccess<'_>| machine.system.task(task.tid).is_some_and(|it| it.began == task.began);
        if !lives(machine) {
            continue;
        }
        match machine.tree.write(&file(&look.group, "tasks"), &format!("{}\n", task.tid)) {
            Ok(()) => moved += 1,
            // It ended just now.
            Err(_) if !lives(machine) => {}
            Err(error) => return Err(MachineError::from(error).into()),
        }
    }
    Ok(moved)
}

/// Puts all tasks of one cgroup into its group, and looks again until none is outside: a task that forks while it is moved
/// leaves a child behind.
///
/// # Errors
/// As [`put`]; a cgroup that never comes to rest.
pub(crate) fn gather(
    machine: &mut MachineAccess<'_>,
    store: &mut dyn Store,
    journal: &mut Journal,
    cgroup: &str,
) -> Result<(), GatherError> {
    let (settings, named) = (Settings::of(&journal.changes), journal.head.before.tasks.clone());
    let mut left = 0;
    for _ in 0..PASSES {
        let looks = look(machine, &settings, &named)?;
        let Some(look) = looks.iter().find(|look| look.cgroup == cgroup && !look.outside.is_empty()) else {
            return Ok(());
        };
        left = look.outside.len();
        put(machine, store, journal, look)?;
    }
    let group = settings.cgroups.get(cgroup).cloned().unwrap_or_default();
    Err(GatherError::Restless { cgroup: cgroup.into(), group, left })
}
