//! Whether each channel is there.

mod machine;
mod platform;

use std::collections::BTreeMap;

use waykeeper_doctor::Finding;

use crate::list::{ListedChannel, list};
use crate::policy::ChannelPolicy;
use crate::reach::CoreReach;
use crate::runs::ChannelRuns;
use crate::table::{ChannelAnswer, ChannelRow, ChannelTable, CheckOutcome, Exercised, Presence};

pub use machine::of_machine;
pub use platform::of_platform;

/// What a place is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// A machine, with its processor's name.
    Machine { processor: Option<String> },
    /// A platform file.
    Platform,
}

/// A place whose channels were looked for.
#[derive(Debug, Clone)]
pub struct ChannelPlace {
    pub(crate) place: String,
    pub(crate) called: Option<String>,
    pub(crate) kind: PlaceKind,
    pub(crate) cores: Vec<CoreReach>,
    pub(crate) presences: BTreeMap<String, Presence>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) notes: Vec<String>,
}

impl ChannelPlace {
    /// The table, with what a policy does and what runs show.
    pub fn table(&self, policy: ChannelPolicy, runs: &ChannelRuns) -> ChannelTable {
        let mut exercised = runs.exercised(self);
        let row = |channel: &ListedChannel| {
            let exercised = exercised.remove(&channel.id).unwrap_or_else(Exercised::unknown);
            self.row(channel, &policy, exercised)
        };
        let channels = list().channel.iter().map(row).collect();
        ChannelTable {
            format: crate::table::FORMAT,
            place: self.place.clone(),
            called: self.called.clone(),
            is_platform_file: self.kind == PlaceKind::Platform,
            runs: runs.records(),
            channels,
            policy: policy.standing,
            left_open: policy.left_open,
            notes: self.notes.clone(),
            assumptions: list().assumptions(),
            anomalies: list().anomalies(),
        }
    }

    /// Whether a channel can be exercised here: it is there, or on a machine it was not seen to be absent. What a platform
    /// file does not describe, its model does not have.
    pub(crate) fn can_have(&self, channel: &str) -> bool {
        match self.presences.get(channel).map(|presence| presence.answer) {
            Some(ChannelAnswer::Yes) => true,
            Some(ChannelAnswer::NotSeen) => self.kind != PlaceKind::Platform,
            Some(ChannelAnswer::No) | None => false,
        }
    }

    /// Whether something shows that a channel is not there.
    pub(crate) fn is_absent(&self, channel: &str) -> bool {
        self.presences.get(channel).is_some_and(|presence| presence.answer == ChannelAnswer::No)
    }

    fn row(&self, channel: &ListedChannel, policy: &ChannelPolicy, exercised: Exercised) -> ChannelRow {
        let checks = self.findings.iter().filter(|finding| channel.checks.contains(&finding.id));
        ChannelRow {
            id: channel.id.clone(),
            name: channel.name.clone(),
            how: channel.how.clone(),
            present: self.presences.get(&channel.id).cloned().unwrap_or_else(unknown),
            reduced: policy.reduction(&channel.id),
            exercised,
            checks: checks.map(outcome).collect(),
            external: channel.external.clone(),
            not_covered: channel.not_covered.clone(),
        }
    }
}

/// A channel that is listed and that nothing looks for; a test finds it.
fn unknown() -> Presence {
    Presence::not_seen("waykeeper", "this version does not look for it")
}

fn outcome(finding: &Finding) -> CheckOutcome {
    CheckOutcome { id: finding.id.clone(), outcome: finding.outcome, what: finding.what.clone() }
}
