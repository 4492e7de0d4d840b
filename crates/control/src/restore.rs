//! Puts the former state back: after an apply, and after one that was cut off anywhere.

use serde::Serialize;

use crate::Machine;
use crate::journal::{Journal, JournalError, Record};
use crate::perform::{self, MachineError};
use crate::store::{LockError, StateDirectory, Store};
use crate::undo::undo;

/// What a restore came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Restored {
    /// Nothing was applied.
    Nothing,
    /// The machine has been started again since: its settings went then. The journal is cleared.
    Rebooted {
        /// The policy that had been applied.
        policy: String,
        /// When.
        began: String,
    },
    /// What Waykeeper set is as it was before.
    Back {
        /// The policy that had been applied.
        policy: String,
        /// When.
        began: String,
        /// How many settings were put back.
        actions: usize,
        /// What others had changed since.
        findings: Vec<String>,
    },
    /// Something could not be put back. The journal is kept, so that it can be tried again, unless it was forced.
    Partly {
        /// The policy that had been applied.
        policy: String,
        /// When.
        began: String,
        /// What others had changed since.
        findings: Vec<String>,
        /// What could not be put back, and why.
        failures: Vec<String>,
    },
}

/// Why a restore could not begin.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Another Waykeeper is at work, or the state directory cannot be used.
    #[error("{0}")]
    Lock(#[from] LockError),
    /// The journal cannot be used.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// The machine cannot be looked at.
    #[error("the machine cannot be looked at: {0}")]
    Machine(#[from] MachineError),
}

/// Restores under the lock of a state directory.
///
/// # Errors
/// Where it could not begin.
pub fn restore(machine: &mut Machine<'_>, state: &StateDirectory, force: bool) -> Result<Restored, RestoreError> {
    let _held = state.lock("restore")?;
    restore_with(machine, &mut state.clone(), force)
}

/// Restores from a journal. Whoever calls it holds the lock.
///
/// # Errors
/// Where it could not begin.
pub fn restore_with(machine: &mut Machine<'_>, store: &mut dyn Store, force: bool) -> Result<Restored, RestoreError> {
    let Some(mut journal) = Journal::load(store)? else { return Ok(Restored::Nothing) };
    let (policy, began) = (journal.head.policy.clone(), journal.head.began.clone());
    if journal.head.boot != machine.system.boot_id() {
        store.remove().map_err(JournalError::from)?;
        return Ok(Restored::Rebooted { policy, began });
    }
    let Undone { actions, findings, failures } = put_back(machine, store, &mut journal, force)?;
    if failures.is_empty() || force {
        store.remove().map_err(JournalError::from)?;
    }
    match failures.is_empty() {
        true => Ok(Restored::Back { policy, began, actions, findings }),
        false => Ok(Restored::Partly { policy, began, findings, failures }),
    }
}

pub(crate) struct Undone {
    pub actions: usize,
    pub findings: Vec<String>,
    pub failures: Vec<String>,
}

/// Works out what is to be done, writes that down, and does it. A restore that was cut off goes on where it was.
pub(crate) fn put_back(
    machine: &mut Machine<'_>,
    store: &mut dyn Store,
    journal: &mut Journal,
    force: bool,
) -> Result<Undone, RestoreError> {
    if journal.undo.is_none() {
        let now = perform::look(machine, journal)?;
        let planned = undo(journal, &now, force);
        journal.note(store, Record::Undo { actions: planned.actions, findings: planned.findings })?;
    }
    let pending = journal.undo.clone();
    let (actions, findings) = pending.map_or_else(Default::default, |pending| (pending.actions, pending.findings));
    let mut failures = Vec::new();
    for (index, (action, done)) in actions.iter().enumerate() {
        if *done {
            continue;
        }
        match perform::action(machine, journal, action) {
            Ok(()) => journal.note(store, Record::Undone(index))?,
            Err(error) => failures.push(error.to_string()),
        }
    }
    Ok(Undone { actions: actions.len(), findings, failures })
}
