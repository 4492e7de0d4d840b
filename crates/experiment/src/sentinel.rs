//! The sentinel: a second witness of whether neighbours have an effect.

use std::collections::BTreeMap;

use toml::Table;

use crate::cases::{Case, Purpose, case_name};
use crate::describe::NeighbourBuffer;
use crate::mitigation::NONE;
use crate::place::{Placed, bundled_workload};
use crate::site::Site;

/// The workload that witnesses whether neighbours have an effect.
pub const SENTINEL: &str = "chase_llc";

/// A sentinel for each set of neighbours, and one without any, on each target's core.
pub(crate) fn sentinels(site: &Site, cases: &[Case], several: bool) -> Vec<Case> {
    let mut sentinels: Vec<Case> = Vec::new();
    for case in cases.iter().filter(|case| case.mitigation == NONE) {
        let core = case.target.core;
        // On a machine whose caches are unknown there is nothing to fill: the target alone must witness.
        let Some(pattern) =
            bundled_workload(SENTINEL, &Table::new()).and_then(|w| w.resolve(&site.core(core)?.caches).ok())
        else {
            continue;
        };
        let target =
            Placed { workload: SENTINEL.into(), with: BTreeMap::new(), pattern, core, buffer: NeighbourBuffer::Own };
        if sentinels.iter().any(|s| s.target == target && s.neighbours == case.neighbours) {
            continue;
        }
        let prefix = if several { format!("sentinel@{core}: ") } else { "sentinel: ".into() };
        sentinels.push(Case {
            name: case_name(&prefix, NONE, case.group.as_deref(), case.solo(), &case.point),
            purpose: Purpose::Sentinel,
            target,
            companions: Vec::new(),
            neighbours: case.neighbours.clone(),
            group: case.group.clone(),
            mitigation: NONE.into(),
            assignments: BTreeMap::new(),
            point: case.point.clone(),
            throughput: false,
            sampled: None,
            reference: None,
        });
    }
    sentinels
}
