//! Groups that others made since, and whose masks reach into ways that a class of the policy was given alone.

use crate::MachineAccess;
use crate::journal::Journal;
use crate::perform::MachineError;
use crate::read_back::Difference;
use crate::schemata::{self, DomainShare};
use crate::settings::Settings;
use crate::snapshot::{Snapshot, file};

/// Each mask of the policy that no other of its masks overlaps, with each group that does since. Nothing keeps a group from it
/// that is made later, unless the class is in resctrl's exclusive mode.
pub(crate) fn intrusions(
    machine: &mut MachineAccess<'_>,
    journal: &Journal,
    settings: &Settings,
) -> Result<Vec<Difference>, MachineError> {
    if !settings.registers.is_empty() || machine.tree.mounted()?.is_none() {
        return Ok(Vec::new());
    }
    let (before, now) = (&journal.head.before.tree, Snapshot::take(machine.tree)?);
    let others = now.control().filter(|(group, _)| !group.is_empty() && !settings.groups.contains(group));
    let mut found = Vec::new();
    for (other, snapshot) in others {
        let theirs = snapshot.shares();
        let had = before.groups.get(other).map(|group| group.shares()).unwrap_or_default();
        for (group, domain, mask) in alone(settings) {
            let overlap = theirs.get(domain).map_or(0, |their| their & mask);
            if overlap & !had.get(domain).copied().unwrap_or(0) != 0 {
                let show = |mask| schemata::show(&domain.resource, mask);
                found.push(Difference {
                    setting: format!("{} {}:{}", file(group, "schemata"), domain.resource, domain.id),
                    wrote: format!("{}, which no other group of the policy has,", show(mask)),
                    reads: format!("the same, and the group `{other}` of others has {} of it", show(overlap)),
                    rounded: false,
                });
            }
        }
    }
    Ok(found)
}

/// The masks of the policy's groups that overlap no other one, nor that of the root.
fn alone(settings: &Settings) -> Vec<(&String, &DomainShare, u64)> {
    let masks = settings.shares.iter().filter(|(group, _)| !group.is_empty()).flat_map(|(group, shares)| {
        let masks = shares.iter().filter(|(domain, _)| schemata::is_mask(&domain.resource));
        masks.map(move |(domain, mask)| (group, domain, *mask))
    });
    masks.filter(|(group, domain, mask)| is_alone(settings, group, domain, *mask)).collect()
}

fn is_alone(settings: &Settings, group: &str, domain: &DomainShare, mask: u64) -> bool {
    // A root that the policy does not write has all ways.
    let root = settings.shares.get("").and_then(|shares| shares.get(domain)).copied().unwrap_or(u64::MAX);
    let mut others = settings.shares.iter().filter(|(other, _)| *other != group && !other.is_empty());
    root & mask == 0 && !others.any(|(_, shares)| shares.get(domain).is_some_and(|other| other & mask != 0))
}
