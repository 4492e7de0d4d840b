//! Puts the former state back: after an apply, and after one that was cut off anywhere.

use serde::Serialize;

use crate::MachineAccess;
use crate::journal::{Journal, JournalError, PendingUndo, Record};
use crate::perform::{self, MachineError};
use crate::remainder::{OthersChanges, Remainder};
use crate::state::{LockError, StateDirectory};
use crate::store::Store;
use crate::system::{BootUnknown, this_boot};
use crate::undo::{Undo, undo};

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
        /// Settings found changed since `apply`.
        findings: Vec<String>,
    },
    /// What Waykeeper set is as it was before, but for what others had changed since. The journal is kept for that.
    Left {
        /// The policy that had been applied.
        policy: String,
        /// When.
        began: String,
        /// How many settings were put back.
        actions: usize,
        /// Other settings found changed since `apply`.
        findings: Vec<String>,
        /// What was left, and how it reads.
        left: Vec<String>,
    },
    /// Something could not be put back. The journal is kept, so that it can be tried again, unless it was forced.
    Partly {
        /// The policy that had been applied.
        policy: String,
        /// When.
        began: String,
        /// Settings found changed since `apply`.
        findings: Vec<String>,
        /// What was left, because others had changed it since.
        left: Vec<String>,
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
    /// The journal may be of an earlier boot.
    #[error("{0}")]
    Boot(#[from] BootUnknown),
}

/// Restores under the lock of a state directory.
///
/// # Errors
/// Where it could not begin.
pub fn restore(
    machine: &mut MachineAccess<'_>,
    state: &StateDirectory,
    others: OthersChanges,
) -> Result<Restored, RestoreError> {
    let _held = state.lock("restore")?;
    restore_with(machine, &mut state.clone(), others)
}

/// Restores from a journal. Whoever calls it holds the lock.
///
/// # Errors
/// Where it could not begin.
pub fn restore_with(
    machine: &mut MachineAccess<'_>,
    store: &mut dyn Store,
    others: OthersChanges,
) -> Result<Restored, RestoreError> {
    let Some(mut journal) = Journal::load(store)? else { return Ok(Restored::Nothing) };
    let (policy, began) = (journal.head.policy.clone(), journal.head.began.clone());
    if journal.head.boot != this_boot(machine.system)? {
        store.remove().map_err(JournalError::from)?;
        return Ok(Restored::Rebooted { policy, began });
    }
    let undone = put_back(machine, store, &mut journal, others)?;
    close(store, &mut journal, &undone, others)?;
    let left = undone.left.iter().map(Remainder::stays).collect();
    let Undone { actions, mut findings, failures, .. } = undone;
    if !failures.is_empty() {
        return Ok(Restored::Partly { policy, began, findings, left, failures });
    }
    if others == OthersChanges::Leave && !left.is_empty() {
        return Ok(Restored::Left { policy, began, actions, findings, left });
    }
    findings.extend(left);
    Ok(Restored::Back { policy, began, actions, findings })
}

/// Ends the journal, or keeps what is still to be done with it.
pub(crate) fn close(
    store: &mut dyn Store,
    journal: &mut Journal,
    undone: &Undone,
    others: OthersChanges,
) -> Result<(), JournalError> {
    if !undone.failures.is_empty() && others != OthersChanges::Overwrite {
        return Ok(());
    }
    if others == OthersChanges::Leave && !undone.left.is_empty() {
        return leave(store, journal, &undone.left);
    }
    Ok(store.remove()?)
}

/// From now on the journal is about what was left, and nothing else.
fn leave(store: &mut dyn Store, journal: &mut Journal, left: &[Remainder]) -> Result<(), JournalError> {
    if journal.undo.is_none() {
        return Ok(());
    }
    journal.note(store, Record::Remains(left.iter().map(|remainder| remainder.setting.clone()).collect()))
}

#[derive(Debug, Default)]
pub(crate) struct Undone {
    pub actions: usize,
    pub findings: Vec<String>,
    pub left: Vec<Remainder>,
    pub failures: Vec<String>,
}

/// Works out what is to be done, writes that down, and does it. A restore that was cut off goes on where it was; what it
/// was to leave comes after that where it is to be overwritten now.
pub(crate) fn put_back(
    machine: &mut MachineAccess<'_>,
    store: &mut dyn Store,
    journal: &mut Journal,
    others: OthersChanges,
) -> Result<Undone, RestoreError> {
    let mut all = Undone::default();
    loop {
        let undone = put_back_once(machine, store, journal, others)?;
        all.actions += undone.actions;
        all.findings.extend(undone.findings);
        all.failures.extend(undone.failures);
        all.left = undone.left;
        if others != OthersChanges::Overwrite || all.left.is_empty() {
            return Ok(all);
        }
        leave(store, journal, &all.left)?;
    }
}

fn put_back_once(
    machine: &mut MachineAccess<'_>,
    store: &mut dyn Store,
    journal: &mut Journal,
    others: OthersChanges,
) -> Result<Undone, RestoreError> {
    let goes_on = journal.undo.is_some();
    if !goes_on {
        let now = perform::look(machine, journal)?;
        let Undo { actions, findings, left } = undo(journal, &now, others);
        let as_before = journal
            .remains
            .as_ref()
            .is_some_and(|remains| actions.is_empty() && left.iter().map(|remainder| &remainder.setting).eq(remains));
        if as_before {
            // Asked again and again, the journal does not grow.
            return Ok(Undone { findings, left, ..Undone::default() });
        }
        journal.note(store, Record::Undo { actions, findings, left })?;
    }
    let Some(PendingUndo { actions, findings, left }) = journal.undo.clone() else { return Ok(Undone::default()) };
    let mut failures = Vec::new();
    for (index, (action, done)) in actions.iter().enumerate() {
        if *done {
            continue;
        }
        match perform::action(machine, journal, action, goes_on) {
            Ok(()) => journal.note(store, Record::Undone(index))?,
            Err(error) => failures.push(error.to_string()),
        }
    }
    Ok(Undone { actions: actions.len(), findings, left, failures })
}
