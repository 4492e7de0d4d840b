//! OpenMetrics of a machine: what is applied, and what groups of resctrl hold and move.
//!
//! Names and labels are kept by later versions. Labels are groups, caches and fixed words. The metrics of the two functions have
//! different names: both files can be collected.

use waykeeper_report::live::{GroupLook, Look};

use crate::NotExported;
use crate::openmetrics::Text;

/// More groups than this have no hardware.
pub const MOST_GROUPS: usize = 1000;

/// How far a policy is applied: the words of `waykeeper status --json`.
pub const PHASES: [&str; 5] = ["applied", "applying", "restoring", "remains", "rebooted"];

/// What is applied to a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppliedMetrics {
    /// Nothing is.
    Nothing,
    /// It cannot be seen.
    NotSeen,
    /// A policy is.
    Policy {
        /// Its name.
        policy: String,
        /// One of [`PHASES`].
        phase: String,
        /// Settings that do not read as they were written.
        changed: usize,
    },
}

/// The metrics of `waykeeper status`.
pub fn status(applied: &AppliedMetrics) -> String {
    let mut text = Text::default();
    let one = |is: bool| Some(f64::from(u8::from(is)));
    let mut gauge = |name: &str, help: &str, value: Option<f64>| {
        text.family(name, "", help);
        text.sample(name, &[], value);
    };
    gauge("waykeeper_status_seen", "1 if it could be seen what is applied.", one(*applied != AppliedMetrics::NotSeen));
    let policy = match applied {
        AppliedMetrics::Policy { policy, phase, changed } => Some((policy, phase, *changed)),
        AppliedMetrics::Nothing | AppliedMetrics::NotSeen => None,
    };
    let is_applied = one(policy.is_some()).filter(|_| *applied != AppliedMetrics::NotSeen);
    gauge("waykeeper_policy_applied", "1 if a policy is applied, or was not wholly applied or restored.", is_applied);
    let changed = policy.map(|(_, _, changed)| changed as f64);
    gauge("waykeeper_settings_changed", "Settings that do not read as they were written.", changed);
    let holds = policy.and_then(|(_, phase, changed)| one(phase == "applied" && changed == 0));
    gauge("waykeeper_policy_holds", "1 if all of the policy is applied and reads as it was written.", holds);
    text.family("waykeeper_policy_phase", "", "1 for how far the policy is applied, 0 for the other phases.");
    if let Some((policy, now, _)) = policy {
        for phase in PHASES {
            text.sample("waykeeper_policy_phase", &[("policy", policy.as_str()), ("phase", phase)], one(phase == now));
        }
    }
    text.0 + "# EOF\n"
}

/// A figure of a group in a cache or memory controller.
type OfDomain = fn(&waykeeper_report::live::Usage) -> Option<f64>;

/// The metrics of one look of `waykeeper watch`.
///
/// # Errors
/// More than [`MOST_GROUPS`] groups.
pub fn look(look: &Look) -> Result<String, NotExported> {
    if look.groups.len() > MOST_GROUPS {
        let found = look.groups.len();
        return Err(NotExported(format!("found {found} groups; expected {MOST_GROUPS} at most")));
    }
    let mut text = Text::default();
    text.family("waykeeper_group_tasks", "", "Tasks of a group.");
    for group in &look.groups {
        text.sample("waykeeper_group_tasks", &[("group", &name(group))], Some(group.tasks as f64));
    }
    text.family("waykeeper_group_ways", "", "Cache ways that a group may fill.");
    shares(&mut text, look, "waykeeper_group_ways", |value, bits| bits.map(|_| f64::from(value.count_ones())));
    text.family(
        "waykeeper_group_limit",
        "",
        "Other limits of a group, as schemata has them: of MB percent, MiB/s or eighths of a GB/s.",
    );
    shares(&mut text, look, "waykeeper_group_limit", |value, bits| bits.is_none().then_some(value as f64));
    let figures: [(&str, &str, &str, OfDomain); 3] = [
        ("waykeeper_group_occupancy_bytes", "bytes", "Bytes that a group holds in a cache.", |it| {
            it.occupancy_bytes.map(|bytes| bytes as f64)
        }),
        ("waykeeper_group_total_bytes_per_second", "", "Bytes a second between a group's cache and memory.", |it| {
            it.total_bytes_s
        }),
        ("waykeeper_group_local_bytes_per_second", "", "The same, to and from the domain's own memory.", |it| {
            it.local_bytes_s
        }),
    ];
    for (metric, unit, help, figure) in figures {
        text.family(metric, unit, help);
        for group in &look.groups {
            for usage in &group.usage {
                text.sample(metric, &[("group", &name(group)), ("domain", &usage.domain)], figure(usage));
            }
        }
    }
    Ok(text.0 + "# EOF\n")
}

fn shares(text: &mut Text, look: &Look, metric: &str, figure: impl Fn(u64, Option<u32>) -> Option<f64>) {
    for group in &look.groups {
        for share in &group.shares {
            let labels = [("group", &*name(group)), ("domain", share.what.as_str())];
            text.sample(metric, &labels, figure(share.value, share.bits));
        }
    }
}

/// A group as the live view calls it.
fn name(group: &GroupLook) -> String {
    if group.group.is_empty() { "(root)".into() } else { group.group.clone() }
}
