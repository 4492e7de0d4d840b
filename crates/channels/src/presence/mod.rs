//! Whether each channel is there.

mod machine;
mod platform;

use std::collections::BTreeMap;

use waykeeper_doctor::Finding;

use crate::list::{ListedChannel, list};
use crate::policy::ChannelPolicy;
use crate::table::{ChannelRow, ChannelTable, CheckOutcome, Presence};

pub use machine::of_machine;
pub use platform::of_platform;

/// A place whose channels were looked for.
#[derive(Debug, Clone)]
pub struct ChannelPlace {
    pub(crate) place: String,
    pub(crate) called: Option<String>,
    pub(crate) is_platform_file: bool,
    pub(crate) presences: BTreeMap<String, Presence>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) notes: Vec<String>,
}

impl ChannelPlace {
    /// The table, with what a policy does.
    pub fn table(&self, policy: ChannelPolicy) -> ChannelTable {
        let channels = list().channel.iter().map(|channel| self.row(channel, &policy)).collect();
        ChannelTable {
            format: 1,
            place: self.place.clone(),
            called: self.called.clone(),
            is_platform_file: self.is_platform_file,
            channels,
            policy: policy.standing,
            left_open: policy.left_open,
            notes: self.notes.clone(),
            assumptions: list().assumptions(),
            anomalies: list().anomalies(),
        }
    }

    fn row(&self, channel: &ListedChannel, policy: &ChannelPolicy) -> ChannelRow {
        let checks = self.findings.iter().filter(|finding| channel.checks.contains(&finding.id));
        ChannelRow {
            id: channel.id.clone(),
            name: channel.name.clone(),
            how: channel.how.clone(),
            present: self.presences.get(&channel.id).cloned().unwrap_or_else(unknown),
            reduced: policy.reduction(&channel.id),
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
