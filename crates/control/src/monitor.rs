//! What groups hold and move now: the counters of `mon_data` beside masks, CPUs and tasks.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::schemata::DomainShare;
use crate::snapshot::file;
use crate::{ResctrlTree, Snapshot, TreeError};

/// Everything at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MonitorReading {
    /// Groups by path; the root is the empty text, a monitoring group `GROUP/mon_groups/NAME`.
    pub groups: BTreeMap<String, MonitoredGroup>,
    /// Bits of a whole mask, by resource.
    pub mask_bits: BTreeMap<String, u32>,
}

/// One group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MonitoredGroup {
    /// `shareable` and so on; absent in monitoring groups.
    pub mode: Option<String>,
    /// Its CPUs.
    pub cpus: Vec<u32>,
    /// How many tasks are in it.
    pub tasks: usize,
    /// Its masks and limits.
    pub shares: Vec<Share>,
    /// Its counters.
    pub counters: Vec<MonitorCounter>,
}

/// A mask or limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Of what.
    #[serde(flatten)]
    pub domain: DomainShare,
    /// The mask, or the limit in the resource's units.
    pub value: u64,
}

/// One counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MonitorCounter {
    /// The domain, as its folder is called: `mon_L3_00`.
    pub domain: String,
    /// The event: `llc_occupancy`, `mbm_total_bytes`, `mbm_local_bytes`.
    pub event: String,
    /// Bytes; absent where the kernel says a word instead, such as `Unavailable`: that is no 0.
    pub bytes: Option<u64>,
}

impl MonitorReading {
    /// Reads every group.
    ///
    /// # Errors
    /// A file that cannot be read. A group that vanishes meanwhile is left out.
    pub fn take(tree: &mut dyn ResctrlTree) -> Result<Self, TreeError> {
        let snapshot = Snapshot::take(tree)?;
        let mut monitored = Self::default();
        for (path, group) in &snapshot.groups {
            let shares = group.shares().into_iter().map(|(domain, value)| Share { domain, value }).collect();
            let counters = match counters(tree, path) {
                Ok(counters) => counters,
                Err(error) if error.is_absent() => continue,
                Err(error) => return Err(error),
            };
            let cpus = group.cpus.iter().copied().collect();
            let found = MonitoredGroup { mode: group.mode.clone(), cpus, tasks: group.tasks.len(), shares, counters };
            monitored.groups.insert(path.clone(), found);
        }
        for resource in ["L3", "L3DATA", "L3CODE", "L2", "L2DATA", "L2CODE"] {
            let Ok(text) = tree.read(&format!("info/{resource}/cbm_mask")) else { continue };
            if let Ok(mask) = u64::from_str_radix(text.trim(), 16) {
                monitored.mask_bits.insert(resource.into(), mask.count_ones());
            }
        }
        Ok(monitored)
    }

    /// A counter of a group.
    pub fn bytes(&self, group: &str, domain: &str, event: &str) -> Option<u64> {
        let counters = &self.groups.get(group)?.counters;
        counters.iter().find(|counter| counter.domain == domain && counter.event == event)?.bytes
    }

    /// Bytes that a group moved since an earlier look; none where one of the two is not known, or where the counter was
    /// begun again meanwhile.
    pub fn moved_since(&self, earlier: &Self, group: &str, domain: &str, event: &str) -> Option<u64> {
        self.bytes(group, domain, event)?.checked_sub(earlier.bytes(group, domain, event)?)
    }
}

fn counters(tree: &mut dyn ResctrlTree, group: &str) -> Result<Vec<MonitorCounter>, TreeError> {
    let folder = file(group, "mon_data");
    let mut counters = Vec::new();
    for domain in tree.directories(&folder)? {
        for event in ["llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"] {
            match tree.read(&format!("{folder}/{domain}/{event}")) {
                Ok(text) => {
                    let (domain, event) = (domain.clone(), event.to_owned());
                    counters.push(MonitorCounter { domain, event, bytes: text.trim().parse().ok() });
                }
                Err(error) if error.is_absent() => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(counters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(bytes: Option<u64>) -> MonitorReading {
        let counter = MonitorCounter { domain: "mon_L3_00".into(), event: "mbm_total_bytes".into(), bytes };
        let group = MonitoredGroup { counters: vec![counter], ..MonitoredGroup::default() };
        MonitorReading { groups: [("rt".to_owned(), group)].into(), ..MonitorReading::default() }
    }

    #[test]
    fn what_moved_is_told_only_between_two_numbers_that_grew() {
        let moved = |now, then| with(now).moved_since(&with(then), "rt", "mon_L3_00", "mbm_total_bytes");
        assert_eq!(moved(Some(700), Some(200)), Some(500));
        assert_eq!(moved(Some(200), Some(200)), Some(0));
        // A group that was made anew counts from 0; a word such as `Unavailable` is no number.
        assert_eq!(moved(Some(100), Some(200)), None);
        assert_eq!(moved(None, Some(200)), None);
        assert_eq!(moved(Some(700), None), None);
        assert_eq!(with(Some(1)).moved_since(&with(Some(0)), "other", "mon_L3_00", "mbm_total_bytes"), None);
    }
}
