//! What has become of what was applied: for `status` and `verify` alike.

use crate::MachineAccess;
use crate::cgroups::{self, FollowedCgroup, Strays};
use crate::intrusion::intrusions;
use crate::journal::Journal;
use crate::perform::MachineError;
use crate::read_back::{Difference, EndedTask, ended, read_back};
use crate::settings::Settings;

/// How the machine reads beside what was left there.
#[derive(Debug, Default)]
pub(crate) struct SinceApply {
    /// Settings that have changed since `apply`.
    pub differences: Vec<Difference>,
    /// What is there of each cgroup that the plan names.
    pub cgroups: Vec<FollowedCgroup>,
    /// Tasks of groups for cgroups that are in none of these.
    pub strays: Vec<Strays>,
    /// Tasks that the plan names and that have ended.
    pub ended: Vec<EndedTask>,
}

impl SinceApply {
    /// Reads it; `settings` are those that the journal's steps left.
    pub fn read(machine: &mut MachineAccess<'_>, journal: &Journal, settings: &Settings) -> Result<Self, MachineError> {
        let tasks = &journal.head.before.tasks;
        let mut differences = read_back(machine, settings, tasks)?;
        differences.extend(intrusions(machine, journal, settings)?);
        let standing = cgroups::standing(machine, settings, tasks)?;
        differences.extend(standing.differences);
        let ended = ended(machine, settings, tasks);
        Ok(Self { differences, cgroups: standing.cgroups, strays: standing.strays, ended })
    }
}
