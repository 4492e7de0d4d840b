//! Which settings of a policy reduce which channel.

use std::collections::{BTreeMap, BTreeSet};

use waykeeper_control::{ApplyState, Journal, MachineAccess, Store, describe, status};
use waykeeper_platform::CoreId;
use waykeeper_policy::{
    AssignedClass, AssignedMask, Assignment, DividedCache, Lowered, Step, parse_schemata, register,
};

use crate::list::list;
use crate::table::{ChannelAnswer, PolicyStanding, ReducingSetting, Reduction};

/// A policy as the table sees it.
#[derive(Debug, Clone)]
pub struct ChannelPolicy {
    /// Whether it is planned, applied, or neither.
    pub standing: PolicyStanding,
    /// Its settings that reduce channels.
    pub settings: Vec<PolicySettings>,
    /// What its plan says that it leaves open.
    pub left_open: Vec<String>,
    /// The lowest core of its first class, where a plan names one: the core that it is for.
    pub core: Option<CoreId>,
}

/// A setting and the channels that it reduces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySettings {
    /// The setting.
    pub setting: ReducingSetting,
    /// Ids of channels.
    pub channels: Vec<String>,
}

impl ChannelPolicy {
    /// No policy; how that is known.
    pub fn none(why: impl Into<String>) -> Self {
        Self::without(PolicyStanding::None { why: why.into() })
    }

    /// Whether one is applied cannot be seen.
    pub fn not_seen(why: impl Into<String>) -> Self {
        Self::without(PolicyStanding::NotSeen { why: why.into() })
    }

    fn without(standing: PolicyStanding) -> Self {
        Self { standing, settings: Vec::new(), left_open: Vec::new(), core: None }
    }

    /// A plan.
    pub fn planned(assignment: &Assignment, lowered: &Lowered) -> Self {
        let lines = lowered.lines.iter().flat_map(|line| line.steps.iter().map(move |step| (step, line.why.as_str())));
        let mut settings = of_steps(lines);
        settings.extend(lowered.writes.iter().filter_map(|write| {
            let channels = list().by_register(&write.register)?.to_vec();
            let bits = if write.is_whole() { String::new() } else { format!(" in the bits {:#x}", write.mask) };
            let text = format!("{} = {:#x}{bits}", write.register, write.value);
            Some(PolicySettings { setting: ReducingSetting { write: text, about: write.why.clone() }, channels })
        }));
        settings.extend(beside_writes(assignment));
        // Commands of `pqos` are neither steps nor registers.
        let is_known = |it: &PolicySettings| settings.iter().any(|own| own.channels == it.channels);
        let masks: Vec<_> = masks(assignment).into_iter().filter(|it| !is_known(it)).collect();
        settings.extend(masks);
        let open = assignment.leaves_open.iter().map(|gap| format!("{}: {}", gap.what, gap.why));
        Self {
            standing: PolicyStanding::Planned { policy: assignment.policy.clone(), form: lowered.form.to_string() },
            settings,
            left_open: open.collect(),
            core: core_of(assignment),
        }
    }

    /// What the journal and the machine say is applied.
    pub fn applied(machine: &mut MachineAccess<'_>, store: &mut dyn Store) -> Self {
        let found = match status(machine, store) {
            Ok(Some(found)) => found,
            Ok(None) => return Self::none("nothing is applied: there is no journal"),
            Err(error) => return Self::not_seen(error.to_string()),
        };
        let steps = match Journal::load(store) {
            Ok(Some(journal)) => journal.head.steps,
            Ok(None) => return Self::not_seen("the journal went away while it was read"),
            Err(error) => return Self::not_seen(error.to_string()),
        };
        let policy = found.policy.clone();
        let uncertain = |why: String| PolicyStanding::Uncertain { policy: policy.clone(), why };
        let standing = match found.phase {
            ApplyState::Rebooted => {
                return Self::none(format!("{policy} was applied, and the machine was started again since"));
            }
            ApplyState::Applied if found.differences.is_empty() => {
                PolicyStanding::Applied { policy: policy.clone(), since: found.began.clone() }
            }
            ApplyState::Applied => {
                uncertain(format!("{} settings do not read as they were written", found.differences.len()))
            }
            ApplyState::Applying => uncertain("applying it has not ended".into()),
            ApplyState::Restoring => uncertain("undoing it has not ended".into()),
            ApplyState::Remains => uncertain("it was undone, but for what others have changed since".into()),
        };
        Self { standing, settings: of_steps(steps.iter().map(|step| (step, ""))), left_open: Vec::new(), core: None }
    }

    /// What it does to a channel.
    pub(crate) fn reduction(&self, channel: &str) -> Reduction {
        let own = self.settings.iter().filter(|it| it.channels.iter().any(|id| id == channel));
        let settings: Vec<ReducingSetting> = own.map(|it| it.setting.clone()).collect();
        let (answer, why) = match &self.standing {
            PolicyStanding::Planned { .. } | PolicyStanding::Applied { .. } if !settings.is_empty() => {
                (ChannelAnswer::Yes, String::new())
            }
            PolicyStanding::Planned { policy, .. } | PolicyStanding::Applied { policy, .. } => {
                (ChannelAnswer::No, format!("no setting of {policy} acts on it"))
            }
            PolicyStanding::Uncertain { policy, .. } if settings.is_empty() => {
                (ChannelAnswer::No, format!("no setting of {policy} acts on it"))
            }
            PolicyStanding::Uncertain { why, .. } | PolicyStanding::NotSeen { why } => {
                (ChannelAnswer::NotSeen, why.clone())
            }
            PolicyStanding::None { why } => (ChannelAnswer::No, why.clone()),
        };
        Reduction { answer, settings, why }
    }
}

/// What a step sets: the resource, where it is, and the value.
struct Sets {
    resource: String,
    domain: u32,
    value: String,
}

fn sets(step: &Step) -> Vec<Sets> {
    match step {
        Step::Write { path, text } if path.rsplit('/').next() == Some("schemata") => {
            let lines = parse_schemata(text).unwrap_or_default();
            let values = lines.into_iter().flat_map(|line| {
                let name = line.name;
                line.values.into_iter().map(move |(domain, value)| Sets { resource: name.clone(), domain, value })
            });
            values.collect()
        }
        Step::Register { cpu, register, value, mask } => {
            // Numbered registers of one kind are one resource: a number is a class.
            let named = register::find(&format!("{register:#x}")).ok();
            let resource = named.map_or_else(|| format!("{register:#x}"), |named| kind(&named));
            vec![Sets { resource, domain: *cpu, value: format!("{value:#x}/{mask:#x}") }]
        }
        _ => Vec::new(),
    }
}

fn kind(named: &register::Named) -> String {
    match named.register.count {
        1 => named.name(),
        _ => named.register.name.trim_end_matches('n').to_owned(),
    }
}

/// The channels that a resource is a control of.
fn channels(resource: &str) -> Option<&'static [String]> {
    list().by_schemata(resource).or_else(|| list().by_register(resource))
}

/// Steps that reduce channels. Values that are the same for every class of a resource keep nobody apart.
fn of_steps<'s>(steps: impl Iterator<Item = (&'s Step, &'s str)>) -> Vec<PolicySettings> {
    let steps: Vec<(&Step, &str, Vec<Sets>)> = steps.map(|(step, why)| (step, why, sets(step))).collect();
    let mut values: BTreeMap<(&str, u32), Vec<&str>> = BTreeMap::new();
    for set in steps.iter().flat_map(|(_, _, sets)| sets) {
        values.entry((&set.resource, set.domain)).or_default().push(&set.value);
    }
    let parts = |set: &Sets| {
        let all = &values[&(set.resource.as_str(), set.domain)];
        all.len() < 2 || all.iter().any(|value| *value != all[0])
    };
    let of_step = |(step, why, sets): &(&Step, &str, Vec<Sets>)| {
        let own = sets.iter().filter(|set| parts(set)).filter_map(|set| channels(&set.resource));
        let channels: BTreeSet<String> = own.flatten().cloned().collect();
        let setting = ReducingSetting { write: describe(step), about: (*why).to_owned() };
        (!channels.is_empty()).then(|| PolicySettings { setting, channels: channels.into_iter().collect() })
    };
    steps.iter().filter_map(of_step).collect()
}

/// The core that a plan is for.
fn core_of(assignment: &Assignment) -> Option<CoreId> {
    let classes = assignment.classes.iter().filter(|class| class.number > 0).map(|class| &class.cores);
    let locks = assignment.locks.iter().map(|lock| &lock.cores);
    let lockdown = assignment.controls.lockdown.as_ref().map(|lockdown| lockdown.core);
    let listed = classes.chain(locks).find_map(|cores| cores.iter().min().copied());
    listed.or(lockdown)
}

/// The masks of the classes, cache by cache, where they differ.
fn masks(assignment: &Assignment) -> Vec<PolicySettings> {
    let of_cache = |cache: &DividedCache| {
        let classes = assignment.classes.iter().flat_map(|class| class.masks.iter().map(move |mask| (class, mask)));
        let here: Vec<_> =
            classes.filter(|(_, mask)| (mask.level, mask.domain) == (cache.level, cache.domain)).collect();
        let apart = here.iter().any(|(_, mask)| mask.mask != here[0].1.mask);
        let setting = |(class, mask): &(&AssignedClass, &AssignedMask)| PolicySettings {
            setting: ReducingSetting {
                write: format!("mask {} of L{} {} for {}", mask.mask, cache.level, cache.domain, class.name),
                about: String::new(),
            },
            channels: vec![format!("l{}_ways", cache.level)],
        };
        here.iter().filter(|_| apart).map(setting).collect::<Vec<_>>()
    };
    assignment.divided.iter().flat_map(of_cache).collect()
}

/// What a plan configures without steps: page colours, and lines and pages that are locked by code.
fn beside_writes(assignment: &Assignment) -> Vec<PolicySettings> {
    let controls = &assignment.controls;
    let setting = |write: String, channel: String| PolicySettings {
        setting: ReducingSetting { write, about: String::new() },
        channels: vec![channel],
    };
    let mut found = Vec::new();
    if let Some(colours) = &controls.colours {
        let share = |class: u32| colours.share(class).map(|share| format!("{} to {}", share.first, share.last()));
        for class in &assignment.classes {
            let Some(own) = share(class.number) else { continue };
            let write = format!("page colours {own} for {}", class.name);
            found.push(setting(write, format!("l{}_ways", colours.level)));
        }
    }
    if let Some(lockdown) = &controls.lockdown {
        if !lockdown.ways.is_empty() {
            found
                .push(setting(format!("lines locked into {} of the L2", lockdown.ways.named("way")), "l2_ways".into()));
        }
        if !lockdown.pages.is_empty() {
            found.push(setting(format!("{} pages locked in the TLB", lockdown.pages.len()), "tlb_walks".into()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &str, text: &str) -> Step {
        Step::Write { path: path.into(), text: text.into() }
    }

    fn reduced(steps: &[Step]) -> Vec<Vec<String>> {
        of_steps(steps.iter().map(|step| (step, ""))).into_iter().map(|setting| setting.channels).collect()
    }

    #[test]
    fn a_mask_that_every_class_has_divides_nothing() {
        let apart = [write("schemata", "L3:0=3f\n"), write("rt/schemata", "L3:0=fc0\n")];
        assert_eq!(reduced(&apart), [["l3_ways"], ["l3_ways"]]);
        let same = [write("schemata", "L3:0=fff\nMB:0=50\n"), write("rt/schemata", "L3:0=fff\nMB:0=100\n")];
        assert_eq!(reduced(&same), [["dram_bus", "interconnect"], ["dram_bus", "interconnect"]]);
        // Apart in one of two caches is apart.
        let one = [write("schemata", "L2:0=f;1=f\n"), write("rt/schemata", "L2:0=f;1=f0\n")];
        assert_eq!(reduced(&one), [["l2_ways"], ["l2_ways"]]);
    }

    #[test]
    fn registers_count_by_what_they_are_for() {
        let register = |register, value| Step::Register { cpu: 0, register, value, mask: 0xfff };
        // IA32_L3_QOS_MASK_0 and _1, then IA32_PQR_ASSOC, which is a label and no share.
        let apart = [register(0xc90, 0x3f), register(0xc91, 0xfc0), register(0xc8f, 1)];
        assert_eq!(reduced(&apart), [["l3_ways"], ["l3_ways"]]);
        assert_eq!(reduced(&[register(0xc90, 0xfff), register(0xc91, 0xfff)]), [[""; 0]; 0]);
        assert_eq!(reduced(&[write("rt/cpus_list", "2,3\n"), write("rt/mode", "exclusive\n")]), [[""; 0]; 0]);
    }

    #[test]
    fn what_is_not_known_to_hold_is_not_seen() {
        let settings = of_steps([write("rt/schemata", "L3:0=fc0\n")].iter().map(|step| (step, "")));
        let policy =
            |standing| ChannelPolicy { standing, settings: settings.clone(), left_open: Vec::new(), core: None };
        let (name, why) = ("halves".to_owned(), "1 settings do not read as they were written".to_owned());
        let uncertain = policy(PolicyStanding::Uncertain { policy: name.clone(), why: why.clone() });
        assert_eq!(uncertain.reduction("l3_ways").answer, ChannelAnswer::NotSeen);
        assert_eq!(uncertain.reduction("l2_ways").answer, ChannelAnswer::No);
        let applied = policy(PolicyStanding::Applied { policy: name, since: "2026-01-01T00:00:00Z".into() });
        assert_eq!(applied.reduction("l3_ways").answer, ChannelAnswer::Yes);
        assert_eq!(ChannelPolicy::not_seen(why).reduction("l2_ways").answer, ChannelAnswer::NotSeen);
    }
}
