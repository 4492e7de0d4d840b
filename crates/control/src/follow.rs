//! Follows the cgroups of what is applied: tasks that come into them later are put into their groups.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::MachineAccess;
use crate::cgroups::{self, FollowedCgroup, GatherError, Look};
use crate::journal::{Journal, JournalError};
use crate::perform::MachineError;
use crate::state::{LockError, StateDirectory};
use crate::status::left;
use crate::store::Store;
use crate::system::{BootUnknown, this_boot};

/// Why cgroups are not followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The state directory cannot be used.
    #[error("{0}")]
    Lock(#[from] LockError),
    /// The journal cannot be used, or has no space for where a task comes from. The task was not moved.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// The machine cannot be looked at, or a task cannot be moved.
    #[error("{0}")]
    Machine(#[from] MachineError),
    /// The journal may be of an earlier boot.
    #[error("{0}")]
    Boot(#[from] BootUnknown),
    /// Nothing is applied.
    #[error("nothing is applied: there is nothing to follow; `waykeeper apply` comes first")]
    Nothing,
    /// What is applied names no cgroup.
    #[error("`{0}` is applied, and names no cgroup: there is nothing to follow")]
    NoCgroup(String),
    /// A group that the plan made is not there.
    #[error(
        "somebody has removed the group {0}: its cgroups cannot be followed; `waykeeper restore`, and then `apply`"
    )]
    NoGroup(String),
}

impl From<GatherError> for FollowError {
    fn from(error: GatherError) -> Self {
        match error {
            GatherError::Journal(error) => Self::Journal(error),
            GatherError::Machine(error) => Self::Machine(error),
            GatherError::Restless { .. } => unreachable!("one look is no gathering"),
        }
    }
}

/// What one look came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Followed {
    /// Nothing is applied, or it is being undone: there is nothing to follow any more.
    Nothing,
    /// Another Waykeeper is at work; what is outside is moved after that.
    Busy,
    /// Every cgroup was looked at.
    Looked {
        /// The cgroups, as they are afterwards.
        cgroups: Vec<FollowedCgroup>,
        /// How many tasks were moved.
        moved: usize,
        /// Tasks that were moved earlier and that somebody has taken out of the group since: they stay where they are.
        left: Vec<i32>,
    },
}

/// Follows cgroups, look by look.
#[derive(Debug, Default)]
pub struct Follower {
    /// Tasks that it has moved, and when each began: none is moved twice.
    moved: BTreeMap<i32, u64>,
}

impl Follower {
    /// Looks once, and moves what has come since. The lock of the state directory is held only while tasks are moved.
    ///
    /// # Errors
    /// See [`FollowError`].
    pub fn look(&mut self, machine: &mut MachineAccess<'_>, state: &StateDirectory) -> Result<Followed, FollowError> {
        let mut store = state.clone();
        let first = self.look_with(machine, &mut store, false)?;
        let missing = |it: &FollowedCgroup, left: &[i32]| it.outside.iter().any(|tid| !left.contains(tid));
        let Followed::Looked { cgroups, left, .. } = &first else { return Ok(first) };
        if !cgroups.iter().any(|cgroup| missing(cgroup, left)) {
            return Ok(first);
        }
        match state.lock("follow") {
            Ok(_held) => self.look_with(machine, &mut store, true),
            Err(LockError::Taken(_)) => Ok(Followed::Busy),
            Err(error) => Err(error.into()),
        }
    }

    /// Looks once with a journal; moves tasks where `moves` says so. Whoever lets it move holds the lock.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn look_with(
        &mut self,
        machine: &mut MachineAccess<'_>,
        store: &mut dyn Store,
        moves: bool,
    ) -> Result<Followed, FollowError> {
        match self.try_look(machine, store, moves) {
            // A restore has begun since the journal was read, and removed a group or the mount.
            Err(FollowError::NoGroup(_) | FollowError::Machine(_)) if !is_applied(store)? => Ok(Followed::Nothing),
            looked => looked,
        }
    }

    fn try_look(
        &mut self,
        machine: &mut MachineAccess<'_>,
        store: &mut dyn Store,
        moves: bool,
    ) -> Result<Followed, FollowError> {
        let Some(mut journal) = Journal::load(store)? else { return Ok(Followed::Nothing) };
        if journal.head.boot != this_boot(machine.system)? || journal.undo.is_some() || journal.remains.is_some() {
            return Ok(Followed::Nothing);
        }
        if !journal.applied {
            return Ok(Followed::Busy);
        }
        let settings = left(&journal);
        if settings.cgroups.is_empty() {
            return Err(FollowError::NoCgroup(journal.head.policy));
        }
        if machine.tree.mounted().map_err(MachineError::from)?.is_none() {
            return Ok(Followed::Nothing);
        }
        let groups = machine.tree.directories("").map_err(MachineError::from)?;
        if let Some(gone) = settings.cgroups.values().find(|group| !groups.contains(group)) {
            return Err(FollowError::NoGroup(gone.clone()));
        }
        let named = journal.head.before.tasks.clone();
        let mut looks = cgroups::look(machine, &settings, &named)?;
        self.moved.retain(|tid, began| machine.system.task(*tid).is_some_and(|facts| facts.began == *began));
        let followed = |looks: &[Look]| looks.iter().map(Look::followed).collect();
        let mut cgroups: Vec<FollowedCgroup> = followed(&looks);
        let left = self.leave(&mut looks);
        let mut moved = 0;
        if moves {
            for look in looks.iter().filter(|look| !look.outside.is_empty()) {
                moved += cgroups::put(machine, store, &mut journal, look)?;
                self.moved.extend(look.outside.iter().map(|task| (task.tid, task.began)));
            }
            cgroups = followed(&cgroups::look(machine, &settings, &named)?);
        }
        Ok(Followed::Looked { cgroups, moved, left })
    }

    /// Takes out what was moved once: whoever has moved it on since wants it there.
    fn leave(&self, looks: &mut [Look]) -> Vec<i32> {
        let mut left = Vec::new();
        for look in looks {
            look.outside.retain(|task| {
                let again = self.moved.get(&task.tid) == Some(&task.began);
                if again {
                    left.push(task.tid);
                }
                !again
            });
        }
        left
    }
}

/// Whether something is applied, and nobody has begun to undo it.
fn is_applied(store: &mut dyn Store) -> Result<bool, JournalError> {
    let journal = Journal::load(store)?;
    Ok(journal.is_some_and(|it| it.applied && it.undo.is_none() && it.remains.is_none()))
}
