//! Carries a plan out: look, write down what was there, write, read back; and undo all of it where one step fails.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use waykeeper_policy::Step;

use crate::MachineAccess;
use crate::cgroups::{self, FollowedCgroup, GatherError};
use crate::change::{Change, describe};
use crate::check::{Found, NotCarriedOut, check, check_tree};
use crate::journal::{FORMAT, Head, Journal, JournalError, PriorState, Record};
use crate::perform::{self, MachineError};
use crate::read_back::{Difference, read_back};
use crate::remainder::{OthersChanges, Remainder};
use crate::restore::{close, put_back};
use crate::settings::Settings;
use crate::state::{LockError, StateDirectory};
use crate::store::Store;
use crate::system::{BootUnknown, this_boot};
use crate::trial;

/// What is to be applied.
#[derive(Debug, Clone, Copy)]
pub struct ApplyRequest<'r> {
    /// The name of the policy.
    pub policy: &'r str,
    /// The version of the program.
    pub version: &'r str,
    /// The plan.
    pub steps: &'r [Step],
}

/// What an apply came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// The name of the policy.
    pub policy: String,
    /// How many steps were done.
    pub steps: usize,
    /// Whether resctrl was mounted for it.
    pub mounted: bool,
    /// Values that the machine silently rounded.
    pub rounded: Vec<Difference>,
    /// What is there of each cgroup that the plan names; absent where it names none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cgroups: Vec<FollowedCgroup>,
}

/// Why a plan is not applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Another Waykeeper is at work, or the state directory cannot be used.
    #[error("{0}")]
    Lock(#[from] LockError),
    /// The journal cannot be used. Nothing has been written to the machine.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// A setting of Waykeeper is applied already, or was left behind.
    #[error(
        "`{policy}` is applied already, since {began}; `waykeeper restore` puts back what was there before, do that first"
    )]
    Already {
        /// Its policy.
        policy: String,
        /// Since when.
        began: String,
    },
    /// Most of what Waykeeper set is put back; what others have changed since was left.
    #[error(
        "`{policy}`, applied {began}, is undone but for what others have changed since: `waykeeper restore --force` puts that \
         back too, `waykeeper restore --keep` accepts it as it is; do one of them first"
    )]
    Remains {
        /// Its policy.
        policy: String,
        /// Since when.
        began: String,
    },
    /// The plan cannot work here. Nothing has been written to the machine.
    #[error("{0}")]
    Refused(#[from] NotCarriedOut),
    /// What would be applied could not be distinguished from what a reboot has reset.
    #[error("{0}")]
    Boot(#[from] BootUnknown),
    /// Something failed midway, and everything is as it was before.
    #[error("{cause}; everything was put back as it was")]
    RolledBack {
        /// What failed.
        cause: ApplyFailure,
    },
    /// Something failed midway, and so did putting it back.
    #[error("{cause}; then not everything could be put back: {}; the journal is kept, `waykeeper restore` tries again", failures.join("; "))]
    Stuck {
        /// What failed first.
        cause: ApplyFailure,
        /// What failed then.
        failures: Vec<String>,
    },
}

/// Why an apply ended midway.
#[derive(Debug, thiserror::Error)]
pub enum ApplyFailure {
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// A step failed.
    #[error("step {number} ({step}) failed: {error}")]
    Step {
        /// Its place, from 1.
        number: usize,
        /// What it does.
        step: String,
        /// What the machine answered.
        error: Box<MachineError>,
    },
    /// What only a mounted resctrl shows stands against it.
    #[error("{0}")]
    Refused(#[from] NotCarriedOut),
    /// A setting does not hold.
    #[error("a setting does not read as it was written: {0}")]
    ReadBack(Box<Difference>),
    /// A register that takes writes and does nothing.
    #[error("{0}")]
    Inert(String),
    /// A cgroup that never comes to rest.
    #[error("{0}")]
    Restless(String),
    /// The machine could not be read.
    #[error("{0}")]
    Machine(Box<MachineError>),
    /// The journal could not be written.
    #[error("{0}")]
    Journal(#[from] JournalError),
}

impl From<MachineError> for ApplyFailure {
    fn from(error: MachineError) -> Self {
        Self::Machine(Box::new(error))
    }
}

/// Applies a plan under the lock of a state directory. `stop` is looked at before every step.
///
/// # Errors
/// See [`ApplyError`]: whatever the error, the machine is as it was before, but for [`ApplyError::Stuck`].
pub fn apply(
    machine: &mut MachineAccess<'_>,
    state: &StateDirectory,
    request: &ApplyRequest<'_>,
    stop: &AtomicBool,
) -> Result<Applied, ApplyError> {
    let _held = state.lock(&format!("apply {}", request.policy))?;
    apply_with(machine, &mut state.clone(), request, stop)
}

/// Applies a plan with a journal. Whoever calls it holds the lock.
///
/// # Errors
/// As [`apply`].
pub fn apply_with(
    machine: &mut MachineAccess<'_>,
    store: &mut dyn Store,
    request: &ApplyRequest<'_>,
    stop: &AtomicBool,
) -> Result<Applied, ApplyError> {
    if let Some(journal) = Journal::load(store)? {
        let Head { policy, began, .. } = journal.head;
        return Err(match journal.remains {
            Some(_) => ApplyError::Remains { policy, began },
            None => ApplyError::Already { policy, began },
        });
    }
    let changes = Change::all_of(request.steps).map_err(NotCarriedOut::from)?;
    let Found { mounted, before, .. } = check(machine, &changes)?;
    let boot = this_boot(machine.system)?;
    let head = Head {
        format: FORMAT,
        version: request.version.into(),
        policy: request.policy.into(),
        boot,
        began: jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string(),
        pid: std::process::id(),
        steps: request.steps.to_vec(),
        mounted,
        before,
    };
    let mut journal = Journal::begin(store, head)?;
    let cause = match carry_out(machine, store, &mut journal, stop) {
        Ok(applied) => return Ok(applied),
        Err(cause) => cause,
    };
    let undone = match put_back(machine, store, &mut journal, OthersChanges::Leave) {
        Ok(undone) => undone,
        Err(error) => return Err(ApplyError::Stuck { cause, failures: vec![error.to_string()] }),
    };
    close(store, &mut journal, &undone, OthersChanges::Leave)?;
    let left = undone.left.iter().map(Remainder::stays);
    let failures: Vec<String> = undone.failures.into_iter().chain(left).collect();
    if failures.is_empty() { Err(ApplyError::RolledBack { cause }) } else { Err(ApplyError::Stuck { cause, failures }) }
}

fn carry_out(
    machine: &mut MachineAccess<'_>,
    store: &mut dyn Store,
    journal: &mut Journal,
    stop: &AtomicBool,
) -> Result<Applied, ApplyFailure> {
    let go_on = || if stop.load(Ordering::Relaxed) { Err(ApplyFailure::Interrupted) } else { Ok(()) };
    let (steps, changes) = (journal.head.steps.clone(), journal.changes.clone());
    let settings = Settings::of(&changes);
    if !settings.registers.is_empty() {
        go_on()?;
        journal.note(store, Record::Trying)?;
        trial::try_registers(machine, &settings, &journal.head.before.registers)?;
        journal.note(store, Record::Tried)?;
    }
    for (index, (step, change)) in steps.iter().zip(&changes).enumerate() {
        go_on()?;
        journal.note(store, Record::Begin(index))?;
        let failed = |error| ApplyFailure::Step { number: index + 1, step: describe(step), error: Box::new(error) };
        let left = perform::step(machine, step, change).map_err(failed)?;
        if let Change::Cgroup { cgroup, .. } = change {
            cgroups::gather(machine, store, journal, cgroup).map_err(|error| match error {
                GatherError::Machine(error) => failed(error),
                GatherError::Journal(error) => ApplyFailure::Journal(error),
                restless => ApplyFailure::Restless(restless.to_string()),
            })?;
        }
        if matches!(change, Change::Mount(_)) && journal.head.mounted.is_none() {
            let before: PriorState = check_tree(machine, &changes, &settings)?;
            journal.note(store, Record::Before(before))?;
        }
        journal.note(store, Record::Done(index, left))?;
    }
    go_on()?;
    let differences = read_back(machine, &settings, &journal.head.before.tasks)?;
    if let Some(difference) = differences.iter().find(|difference| !difference.rounded) {
        return Err(ApplyFailure::ReadBack(Box::new(difference.clone())));
    }
    let cgroups = cgroups::standing(machine, &settings, &journal.head.before.tasks)?.cgroups;
    journal.note(store, Record::Applied)?;
    let mounted = settings.mount.is_some() && journal.head.mounted.is_none();
    Ok(Applied { policy: journal.head.policy.clone(), steps: steps.len(), mounted, rounded: differences, cgroups })
}

/// A step, and what it would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// What would be done.
    pub step: String,
    /// What is there now.
    pub now: String,
}

/// What [`apply`] would do: every write, with the value that is there now. Writes nothing.
///
/// # Errors
/// Where the plan would be refused.
pub fn preview(machine: &mut MachineAccess<'_>, steps: &[Step]) -> Result<Vec<Preview>, NotCarriedOut> {
    let changes = Change::all_of(steps)?;
    let found = check(machine, &changes)?;
    let now = |change: &Change| crate::preview::now(change, &found);
    Ok(steps.iter().zip(&changes).map(|(step, change)| Preview { step: describe(step), now: now(change) }).collect())
}
