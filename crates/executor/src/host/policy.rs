//! Policies as mitigations of this machine: applied before a measurement, put back after it.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use waykeeper_control::host::HostFiles as Acting;
use waykeeper_control::{
    ApplyRequest, ApplyState, Files, OthersChanges, Restored, StateDirectory, Status, WAYS_ON, apply, restore, status,
};
use waykeeper_linux::Root;
use waykeeper_platform::CoreId;
use waykeeper_policy::{Form, Membership, Offer, Refusal, Step, lower, plan};

use super::refused;
use crate::measure::ExecutorError;
use crate::policies::{PolicyFiles, for_target, is_policy, located, the_policy};

/// What a policy comes to on this machine.
#[derive(Debug)]
pub struct Planned {
    steps: Vec<Step>,
    /// The device of a region that is locked into a cache of the target's.
    region: Option<PathBuf>,
}

/// What a policy comes to on this machine, by where it is.
///
/// # Errors
/// What the machine lacks for it.
pub fn planned(path: &str, target: CoreId) -> Result<Planned, String> {
    let tree = Files(Root::default());
    let offer = Offer::of_linux(&tree).map_err(|missing| missing.to_string())?;
    let loaded = for_target(path, &offer.name, target)?;
    let refused = |refusal: Refusal| loaded.error(&refusal.key, refusal.message).to_string();
    let membership = Membership::read(&loaded.policy, &tree).map_err(refused)?;
    let assignment = plan(&loaded, &offer, &membership).map_err(refused)?;
    let region = assignment.locks.iter().find(|lock| lock.cores.contains(&target));
    Ok(Planned {
        steps: lower(&assignment, &offer, Form::Resctrl).map_err(refused)?.steps(),
        region: region.map(|lock| Path::new("/dev/pseudo_lock").join(&lock.name)),
    })
}

/// Policies that are applied, until this goes.
#[derive(Debug)]
pub struct AppliedPolicy {
    state: StateDirectory,
    name: String,
    /// Where the target's memory is to be, if a cache holds a region for it.
    pub region: Option<PathBuf>,
}

/// Applies the policy among a case's mitigations, if there is one.
///
/// # Errors
/// A policy that this machine cannot carry out; a machine that somebody else has set up with Waykeeper.
pub fn applied(
    mitigations: &[&str],
    files: &PolicyFiles,
    target: CoreId,
    stop: &AtomicBool,
) -> Result<Option<AppliedPolicy>, ExecutorError> {
    let Some(name) = the_policy(mitigations, is_policy).map_err(ExecutorError::Refused)? else { return Ok(None) };
    let planned = planned(located(files, name), target);
    let Planned { steps, region } = planned.map_err(|why| refused(&format!("policy `{name}`"), why))?;
    let state = StateDirectory::of_this_machine();
    let request = ApplyRequest { policy: name, version: env!("CARGO_PKG_VERSION"), steps: &steps };
    apply(&mut Acting::at(Path::new("/")).machine(), &state, &request, stop)
        .map_err(|error| refused(&format!("policy `{name}`"), error))?;
    Ok(Some(AppliedPolicy { state, name: name.to_owned(), region }))
}

impl AppliedPolicy {
    /// Why the repeat that has just ended does not count: the policy's settings are read again, and must be as they were
    /// left.
    pub fn lost(&self) -> Option<String> {
        let name = &self.name;
        let lost = |what: String| format!("the policy `{name}` did not hold to the end: {what}");
        match status(&mut Acting::at(Path::new("/")).machine(), &mut self.state.clone()) {
            Ok(Some(Status { phase: ApplyState::Applied, differences, .. })) if differences.is_empty() => None,
            Ok(Some(Status { phase: ApplyState::Applied, differences, .. })) => {
                let differences: Vec<_> = differences.iter().map(ToString::to_string).collect();
                Some(lost(differences.join(", ")))
            }
            Ok(_) => Some(lost("it was taken back by somebody else".into())),
            Err(error) => Some(format!("it was not seen whether the policy `{name}` held to the end: {error}")),
        }
    }

    /// Puts the former state back.
    ///
    /// # Errors
    /// What could not be put back; the journal is kept then.
    pub fn restore(self) -> Result<(), ExecutorError> {
        let name = self.name.clone();
        let outcome = self.put_back();
        std::mem::forget(self);
        outcome.map_err(|why| refused(&format!("policy `{name}` could not be taken back"), why))
    }

    fn put_back(&self) -> Result<(), String> {
        match restore(&mut Acting::at(Path::new("/")).machine(), &self.state, OthersChanges::Leave) {
            Ok(Restored::Partly { failures, .. }) => Err(failures.join("; ")),
            Ok(Restored::Left { left, .. }) => Err(format!("{}; {WAYS_ON}", left.join("; "))),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for AppliedPolicy {
    fn drop(&mut self) {
        // A measurement that failed says why; what is left behind stands in the journal, for `waykeeper restore`.
        let _ = self.put_back();
    }
}
