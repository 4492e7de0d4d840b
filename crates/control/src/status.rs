//! What is applied, and whether the machine still reads as it was written.

use serde::Serialize;

use crate::MachineAccess;
use crate::cgroups::{FollowedCgroup, Strays};
use crate::change::describe;
use crate::journal::{Journal, JournalError};
use crate::perform::{self, MachineError};
use crate::read_back::{Difference, EndedTask};
use crate::remainder::{OthersChanges, Remainder};
use crate::settings::{Bits, Settings};
use crate::since_apply::SinceApply;
use crate::store::Store;
use crate::system::{BootUnknown, this_boot};
use crate::undo::undo;

/// How far what is applied has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplyState {
    /// All steps are done.
    Applied,
    /// An apply has begun and not ended: it is at work, or was cut off.
    Applying,
    /// A restore has begun and not ended: it is at work, or was cut off, or could not put everything back.
    Restoring,
    /// A restore has left what others had changed since; everything else is as it was before.
    Remains,
    /// The machine has been started again since; nothing of it holds any more.
    Rebooted,
}

/// What the journal and the machine say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The policy.
    pub policy: String,
    /// When it was applied, RFC 3339.
    pub began: String,
    /// The process that applied it.
    pub pid: u32,
    /// The version of the program that did.
    pub version: String,
    /// How far it has come.
    pub phase: ApplyState,
    /// The steps that were begun.
    pub steps: Vec<String>,
    /// How many steps there are in all.
    pub of: usize,
    /// Settings that have changed since `apply`.
    pub differences: Vec<Difference>,
    /// What is there of each cgroup that the plan names; absent where it names none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cgroups: Vec<FollowedCgroup>,
    /// Tasks of groups for cgroups that are in none of these; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strays: Vec<Strays>,
    /// Tasks that the plan names and that have ended since; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedTask>,
    /// What a restore has left, because others had changed it since, and how it reads now.
    pub left: Vec<String>,
}

/// Why there is no status.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
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

/// Returns what is applied; `None` where nothing is. Changes nothing, and takes no lock.
///
/// # Errors
/// Where the journal or the machine cannot be read.
pub fn status(machine: &mut MachineAccess<'_>, store: &mut dyn Store) -> Result<Option<Status>, StatusError> {
    let Some(journal) = Journal::load(store)? else { return Ok(None) };
    let rebooted = journal.head.boot != this_boot(machine.system)?;
    let phase = match (rebooted, &journal.undo, &journal.remains, journal.applied) {
        (true, ..) => ApplyState::Rebooted,
        (_, Some(_), ..) => ApplyState::Restoring,
        (_, None, Some(_), _) => ApplyState::Remains,
        (_, None, None, true) => ApplyState::Applied,
        (_, None, None, false) => ApplyState::Applying,
    };
    let since = match phase {
        ApplyState::Applied => SinceApply::read(machine, &journal, &left(&journal))?,
        _ => SinceApply::default(),
    };
    let left = match (phase, &journal.undo) {
        (ApplyState::Restoring, Some(pending)) => pending.left.clone(),
        (ApplyState::Remains, _) => undo(&journal, &perform::look(machine, &journal)?, OthersChanges::Leave).left,
        _ => Vec::new(),
    };
    let head = &journal.head;
    Ok(Some(Status {
        policy: head.policy.clone(),
        began: head.began.clone(),
        pid: head.pid,
        version: head.version.clone(),
        phase,
        steps: head.steps[..journal.begun].iter().map(describe).collect(),
        of: head.steps.len(),
        differences: since.differences,
        cgroups: since.cgroups,
        strays: since.strays,
        ended: since.ended,
        left: left.into_iter().map(|Remainder { text, .. }| text).collect(),
    }))
}

/// The settings as the steps left them: what the machine rounded is no difference any more.
pub(crate) fn left(journal: &Journal) -> Settings {
    let mut settings = journal.done_settings();
    for (change, left) in journal.changes.iter().zip(&journal.left) {
        let crate::change::Change::Shares { group, .. } = change else { continue };
        let read = left.schemata.as_deref().and_then(|text| crate::schemata::parse(text).ok()).unwrap_or_default();
        if let Some(shares) = settings.shares.get_mut(group) {
            for (domain, value) in read {
                shares.entry(domain).and_modify(|share| *share = value);
            }
        }
    }
    for (place, value) in journal.registers_left() {
        settings.registers.entry(place).and_modify(|bits| *bits = Bits { value: value & bits.mask, ..*bits });
    }
    settings
}
