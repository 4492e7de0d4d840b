//! What is looked at before anything is written: a plan that cannot work ends here, and says why.

use std::collections::{BTreeMap, BTreeSet};

use waykeeper_policy::MountSettings;

use crate::cgroups;
use crate::change::{BadStep, Change, describe_mount};
use crate::journal::{PriorState, RegisterBefore, TaskBefore};
use crate::perform::MachineError;
use crate::registers::belongs_to_resctrl;
use crate::schemata::show;
use crate::settings::Settings;
use crate::snapshot::{Snapshot, file};
use crate::{MachineAccess, ResctrlTree, TreeError};

/// Why a plan is not carried out. Nothing has been written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotCarriedOut {
    /// A step that cannot be part of any plan.
    #[error("{0}")]
    BadStep(#[from] BadStep),
    /// The plan names what is not there, or asks for more than there is.
    #[error("{0}")]
    Input(String),
    /// This machine, or its state, does not allow it.
    #[error("{0}")]
    Cannot(String),
}

impl From<TreeError> for NotCarriedOut {
    fn from(error: TreeError) -> Self {
        Self::Cannot(error.to_string())
    }
}

impl From<MachineError> for NotCarriedOut {
    fn from(error: MachineError) -> Self {
        Self::Cannot(error.to_string())
    }
}

fn input<T>(text: String) -> Result<T, NotCarriedOut> {
    Err(NotCarriedOut::Input(text))
}

fn cannot<T>(text: String) -> Result<T, NotCarriedOut> {
    Err(NotCarriedOut::Cannot(text))
}

/// What was found: the mount, and everything that was there before as far as it can be known yet.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub mounted: Option<MountSettings>,
    pub before: PriorState,
    /// What is there of each cgroup of the plan, in words; those that are not there are absent.
    pub cgroups: BTreeMap<String, String>,
}

/// Looks at everything that can be looked at without a change.
pub(crate) fn check(machine: &mut MachineAccess<'_>, changes: &[Change]) -> Result<Found, NotCarriedOut> {
    if changes.is_empty() {
        return input("the plan has no steps: there is nothing to apply".into());
    }
    let settings = Settings::of(changes);
    let resctrl = changes.iter().any(Change::is_resctrl);
    if resctrl && !settings.registers.is_empty() {
        return input(
            "the plan writes to resctrl and to registers that the kernel manages for it; one of both would do".into(),
        );
    }
    check_cpus(machine, &settings)?;
    match resctrl {
        true => check_resctrl(machine, changes, &settings),
        false => check_registers(machine, &settings),
    }
}

fn check_cpus(machine: &MachineAccess<'_>, settings: &Settings) -> Result<(), NotCarriedOut> {
    let online: BTreeSet<u32> = machine.system.online_cpus().into_iter().collect();
    let named = settings.cpus.keys().copied().chain(settings.registers.keys().map(|place| place.cpu));
    let missing: BTreeSet<u32> = named.filter(|cpu| !online.contains(cpu)).collect();
    let list = |cpus: &BTreeSet<u32>| crate::cpus::format_list(cpus).trim().to_owned();
    match missing.is_empty() {
        true => Ok(()),
        false => input(format!("no CPU {} is online here; expected some of {}", list(&missing), list(&online))),
    }
}

fn check_resctrl(
    machine: &mut MachineAccess<'_>,
    changes: &[Change],
    settings: &Settings,
) -> Result<Found, NotCarriedOut> {
    if let Some(reason) = machine.tree.unusable() {
        return cannot(reason);
    }
    let mounts = changes.iter().enumerate().filter(|(_, change)| matches!(change, Change::Mount(_)));
    if let Some((place, _)) = mounts.clone().find(|(place, _)| *place != 0) {
        return input(format!("step {} mounts resctrl; only the first step can", place + 1));
    }
    let mounted = machine.tree.mounted()?;
    match (settings.mount, mounted) {
        (Some(wanted), Some(found)) if wanted != found => {
            return cannot(format!(
                "resctrl is mounted {}, and the plan needs it {}; unmounting it would reset the settings of others, so do that yourself",
                describe_mount(found),
                describe_mount(wanted)
            ));
        }
        (None, None) => {
            return cannot("resctrl is not mounted, and the plan does not mount it; `mount -t resctrl resctrl /sys/fs/resctrl` would do".into());
        }
        _ => {}
    }
    let locks = settings.modes.values().any(|mode| mode.starts_with("pseudo-lock"));
    if let Some(reason) = machine.system.refuses_pseudo_lock().filter(|_| locks) {
        return cannot(reason);
    }
    if let Some(tid) = settings.tasks.keys().find(|tid| machine.system.task(**tid).is_none()) {
        return input(format!("there is no task {tid}"));
    }
    let before = if mounted.is_some() { check_tree(machine, changes, settings)? } else { PriorState::default() };
    let cgroups = mounted.map(|_| cgroups::now(machine.system, settings, &before)).unwrap_or_default();
    Ok(Found { mounted, before, cgroups })
}

/// Looks at the groups of resctrl that is mounted.
pub(crate) fn check_tree(
    machine: &mut MachineAccess<'_>,
    changes: &[Change],
    settings: &Settings,
) -> Result<PriorState, NotCarriedOut> {
    let tree = Snapshot::take(machine.tree)?;
    if let Some(group) = settings.groups.iter().find(|group| tree.groups.contains_key(*group)) {
        return input(format!(
            "the group {group} is there already, and Waykeeper did not make it; another name, or its removal, would do"
        ));
    }
    check_classes(machine.tree, &tree, settings)?;
    check_domains(&tree, changes)?;
    check_values(machine.tree, changes)?;
    check_monitoring(&tree, changes)?;
    let mut before = PriorState { tree, ..PriorState::default() };
    for tid in settings.tasks.keys() {
        let facts = machine.system.task(*tid);
        let Some((facts, home)) = facts.zip(before.tree.home_of_task(*tid)) else {
            return input(format!(
                "task {tid} is in no group of resctrl; it has ended, or lives in another PID namespace"
            ));
        };
        before.tasks.insert(*tid, TaskBefore { began: facts.began, home });
    }
    Ok(before)
}

/// Every group needs a class of its own, of every resource.
fn check_classes(tree: &mut dyn ResctrlTree, now: &Snapshot, settings: &Settings) -> Result<(), NotCarriedOut> {
    let mut classes = None;
    for resource in tree.directories("info")? {
        // Monitoring has no classes.
        let Ok(text) = tree.read(&format!("info/{resource}/num_closids")) else { continue };
        let number: Option<usize> = text.trim().parse().ok();
        classes = classes.into_iter().chain(number).min();
    }
    // A region that is locked has given its class back.
    let held = |mode: Option<&str>| mode != Some("pseudo-locked");
    let taken = now.control().filter(|(_, group)| held(group.mode.as_deref())).count();
    let wanted = settings.groups.iter().filter(|group| held(settings.modes.get(*group).map(String::as_str))).count();
    match classes {
        Some(classes) if taken + wanted > classes => {
            let free = classes.saturating_sub(taken);
            input(format!("the plan makes {wanted} groups, and of {classes} classes {free} are free"))
        }
        _ => Ok(()),
    }
}

/// The kernel returns no reason for an unknown domain, so that it is looked for here.
fn check_domains(now: &Snapshot, changes: &[Change]) -> Result<(), NotCarriedOut> {
    let root = now.groups.get("").map(|root| root.shares()).unwrap_or_default();
    for (place, change) in changes.iter().enumerate() {
        let Change::Shares { shares, .. } = change else { continue };
        let Some(missing) = shares.keys().find(|domain| !root.contains_key(domain)) else { continue };
        let there: Vec<_> = root.keys().map(|domain| format!("{}:{}", domain.resource, domain.id)).collect();
        let (resource, id) = (&missing.resource, missing.id);
        return input(format!(
            "step {}: there is no {resource}:{id}; expected some of {}",
            place + 1,
            there.join(", ")
        ));
    }
    Ok(())
}

/// What `info` says of masks and percentages, so that a dry run finds it too; the kernel has the last word.
fn check_values(tree: &mut dyn ResctrlTree, changes: &[Change]) -> Result<(), NotCarriedOut> {
    for (place, change) in changes.iter().enumerate() {
        let Change::Shares { shares, .. } = change else { continue };
        for (domain, value) in shares {
            let mut info =
                |file: &str| Some(tree.read(&format!("info/{}/{file}", domain.resource)).ok()?.trim().to_owned());
            let step =
                format!("step {}: {}:{}={}", place + 1, domain.resource, domain.id, show(&domain.resource, *value));
            if let Some(all) = info("cbm_mask").and_then(|all| u64::from_str_radix(&all, 16).ok()) {
                if value & !all != 0 {
                    return input(format!("{step} has bits beyond {all:x}, which is all that there are"));
                }
                // Kernels that do not say whether masks may have holes allow them on some processors.
                let contiguous = info("sparse_masks").as_deref() == Some("0");
                let run = value.checked_shr(value.trailing_zeros()).unwrap_or(0);
                if contiguous && run & run.wrapping_add(1) != 0 {
                    return input(format!("{step} has a hole, and masks are one run of bits here"));
                }
                let least = info("min_cbm_bits").and_then(|least| least.parse::<u32>().ok()).unwrap_or(0);
                if contiguous && value.count_ones() < least {
                    return input(format!("{step} has fewer bits than the {least} that a mask needs here"));
                }
            }
        }
    }
    Ok(())
}

/// Whoever assigns CPUs to the root takes all CPUs from its monitoring groups.
fn check_monitoring(now: &Snapshot, changes: &[Change]) -> Result<(), NotCarriedOut> {
    for change in changes {
        let Change::Cpus { group, cpus } = change else { continue };
        let mut inside = now.monitoring().filter(|(path, _)| path.starts_with("mon_groups/"));
        if let Some((path, _)) = inside.find(|(_, inner)| group.is_empty() && !inner.cpus.is_subset(cpus)) {
            return cannot(format!(
                "a write to {} would take CPUs that the plan does not name from {path}, which Waykeeper did not make",
                file(group, "cpus_list")
            ));
        }
    }
    Ok(())
}

fn check_registers(machine: &mut MachineAccess<'_>, settings: &Settings) -> Result<Found, NotCarriedOut> {
    let resctrls = settings.registers.keys().any(|place| belongs_to_resctrl(place.register));
    if resctrls && machine.tree.mounted()?.is_some() {
        return cannot(
            "resctrl is mounted: the kernel writes these registers itself; unmount it, or use its files".into(),
        );
    }
    let mut found = Found::default();
    for place in &settings.register_order {
        if let Some(reason) = machine.registers.unusable(place.cpu) {
            return cannot(reason);
        }
        let value = machine.registers.read(place.cpu, place.register).map_err(MachineError::from)?;
        found.before.registers.push(RegisterBefore { place: *place, value });
    }
    Ok(found)
}
