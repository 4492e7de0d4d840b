//! The case matrix: every target, with and without each group of neighbours, under every mitigation.

use waykeeper_platform::CoreId;
use waykeeper_workload::{CacheShapes, Pattern, Workload, find_bundled};

use crate::cores::{NeighbourCores, TargetCore};
use crate::describe::{Neighbour, Target};
use crate::error::InputError;
use crate::load::Loaded;
use crate::mitigation::{self, NONE};
use crate::reference::{Reference, reference_for};
use crate::run::Refusal;
use crate::site::{Offer, Site};

/// A workload on a core.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The workload's name.
    pub workload: String,
    /// What it does there.
    pub pattern: Pattern,
    /// The core.
    pub core: CoreId,
}

/// What a case is measured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A case of the experiment.
    Case,
    /// The sentinel: it only witnesses whether the neighbours have an effect.
    Sentinel,
}

/// One target x neighbours x mitigation.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Unique within the experiment.
    pub name: String,
    /// What it is for.
    pub purpose: Purpose,
    /// The workload whose latency counts.
    pub target: Placed,
    /// What runs beside it; empty for a solo case.
    pub neighbours: Vec<Placed>,
    /// The group of neighbours, also on solo cases of experiments without any.
    pub group: Option<String>,
    /// `none`, or the mitigations joined by `+`.
    pub mitigation: String,
    /// Published figures, where this is a published case.
    pub reference: Option<Reference>,
}

impl Case {
    /// Whether nothing runs beside the target.
    pub fn solo(&self) -> bool {
        self.neighbours.is_empty()
    }
}

/// All cases of an experiment at a site, in the order in which they run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The cases; sentinel cases last.
    pub cases: Vec<Case>,
    /// What the site cannot do.
    pub refused: Vec<Refusal>,
}

impl Plan {
    /// Works out the cases.
    ///
    /// # Errors
    /// Unknown workloads or mitigations, cores that do not exist, a core that is given to two workloads, sizes that have
    /// no value here.
    pub fn new(loaded: &Loaded, site: &Site) -> Result<Self, InputError> {
        let experiment = &loaded.experiment;
        let (mitigations, mut refused) = offered_mitigations(loaded, site)?;
        check_references(loaded, site)?;
        let targets = experiment
            .targets
            .iter()
            .enumerate()
            .map(|(index, target)| place_target(loaded, site, index, target))
            .collect::<Result<Vec<_>, _>>()?;
        let groups = group_names(&experiment.neighbours);
        let mut cases = Vec::new();
        for (index, target) in targets.iter().enumerate() {
            if let Some(before) = targets[..index].iter().position(|before| before == target) {
                let message = format!(
                    "found `{}` on core {} again, as in targets.{before}; expected each target once",
                    target.workload, target.core
                );
                return Err(loaded.error(&format!("targets.{index}"), message));
            }
            let prefix = prefix(&targets, target);
            let mut settings = vec![(None, Vec::new())];
            for group in &groups {
                settings.push((group.clone(), place_group(loaded, site, target, group)?));
            }
            for mitigation in &mitigations {
                let part_means_nothing = |part| site.means_nothing(part, &target.pattern);
                if let Some(why) = mitigation::parts(mitigation).into_iter().find_map(part_means_nothing) {
                    refused.push(Refusal { what: format!("mitigation {mitigation} for {}", target.workload), why });
                    continue;
                }
                for (group, neighbours) in &settings {
                    cases.push(Case {
                        name: case_name(&prefix, mitigation, group.as_deref(), neighbours.is_empty()),
                        purpose: Purpose::Case,
                        reference: reference_for(experiment, site, target, neighbours, mitigation),
                        target: target.clone(),
                        neighbours: neighbours.clone(),
                        group: group.clone(),
                        mitigation: mitigation.clone(),
                    });
                }
            }
        }
        if experiment.sentinel && !groups.is_empty() {
            let sentinels = sentinel_cases(loaded, site, &cases)?;
            cases.extend(sentinels);
        }
        Ok(Self { cases, refused })
    }
}

/// A reference for a mitigation that is not known would never be shown.
fn check_references(loaded: &Loaded, site: &Site) -> Result<(), InputError> {
    for (index, reference) in loaded.experiment.references.iter().enumerate() {
        let unknown =
            mitigation::parts(&reference.mitigation).into_iter().find(|part| !site.mitigations.contains_key(*part));
        if let Some(part) = unknown {
            let message =
                format!("found `{part}`, which no mitigation is called; expected none, or mitigations joined by `+`");
            return Err(loaded.error(&format!("references.{index}.mitigation"), message));
        }
    }
    Ok(())
}

fn prefix(targets: &[Placed], target: &Placed) -> String {
    let twins = targets.iter().filter(|other| other.workload == target.workload).count();
    match (targets.len(), twins) {
        (1, _) => String::new(),
        (_, 1) => format!("{}: ", target.workload),
        _ => format!("{}@{}: ", target.workload, target.core),
    }
}

fn case_name(prefix: &str, mitigation: &str, group: Option<&str>, solo: bool) -> String {
    let versus = group.map(|group| format!(" vs {group}")).unwrap_or_default();
    match (mitigation, solo) {
        (NONE, true) => format!("{prefix}idle"),
        (_, true) => format!("{prefix}{mitigation}, idle"),
        (_, false) => format!("{prefix}{mitigation}{versus}"),
    }
}

fn offered_mitigations(loaded: &Loaded, site: &Site) -> Result<(Vec<String>, Vec<Refusal>), InputError> {
    let experiment = &loaded.experiment;
    let listed = experiment.mitigations.as_slice();
    if experiment.combine == crate::describe::Combine::Cross && listed.len() > mitigation::MOST_CROSSED {
        let message =
            format!("{} mitigations cannot be crossed; at most {} can", listed.len(), mitigation::MOST_CROSSED);
        return Err(loaded.error("mitigations", message));
    }
    for (index, name) in listed.iter().enumerate() {
        for part in mitigation::parts(name) {
            if !site.mitigations.contains_key(part) {
                let known: Vec<_> = site
                    .mitigations
                    .iter()
                    .filter(|(_, offer)| matches!(offer, Offer::Applied(_)))
                    .map(|(name, _)| name.as_str())
                    .collect();
                let key = if experiment.mitigations.as_slice().len() > 1 {
                    format!("mitigations.{index}")
                } else {
                    "mitigations".into()
                };
                let expected = if known.is_empty() {
                    "`[]`, for there are none".into()
                } else {
                    format!("{}, or several joined by `+`", known.join(", "))
                };
                let message = if part.is_empty() {
                    format!("found `{name}`, in which a name is missing; expected {expected}")
                } else {
                    format!("found `{part}`, which no mitigation of {} is called; expected {expected}", site.called)
                };
                return Err(loaded.error(&key, message));
            }
        }
    }
    let mut refused: Vec<Refusal> = Vec::new();
    let offered = mitigation::expand(listed, experiment.combine)
        .into_iter()
        .filter(|name| {
            let why = mitigation::parts(name).into_iter().find_map(|part| match &site.mitigations[part] {
                Offer::Refused(why) => Some(why.clone()),
                Offer::Applied(_) => None,
            });
            if let Some(why) = &why {
                refused.push(Refusal { what: format!("mitigation {name}"), why: why.clone() });
            }
            why.is_none()
        })
        .collect();
    Ok((offered, refused))
}

fn place_target(loaded: &Loaded, site: &Site, index: usize, target: &Target) -> Result<Placed, InputError> {
    let key = format!("targets.{index}");
    let core = match target.core {
        TargetCore::Number(core) => core,
        TargetCore::Auto => site.auto_core,
    };
    let caches = caches_of(loaded, site, &format!("{key}.core"), core)?;
    let pattern = pattern_for(loaded, &format!("{key}.workload"), &target.workload, caches)?;
    if let Some(why) = site.refuses_target(&pattern) {
        return Err(loaded.error(&format!("{key}.workload"), format!("found `{}`: {why}", target.workload)));
    }
    Ok(Placed { workload: target.workload.clone(), pattern, core })
}

fn place_group(
    loaded: &Loaded,
    site: &Site,
    target: &Placed,
    group: &Option<String>,
) -> Result<Vec<Placed>, InputError> {
    let mut placed: Vec<Placed> = Vec::new();
    for (index, neighbour) in loaded.experiment.neighbours.iter().enumerate().filter(|(_, n)| n.group == *group) {
        let key = format!("neighbours.{index}");
        let cores = match &neighbour.cores {
            NeighbourCores::Numbers(cores) => cores.clone(),
            NeighbourCores::Others => {
                let taken: Vec<_> = placed.iter().map(|p| p.core).collect();
                site.others(target.core).into_iter().filter(|core| !taken.contains(core)).collect()
            }
        };
        let cores_key = format!("{key}.cores");
        if neighbour.cores == NeighbourCores::Numbers(Vec::new()) {
            let message = format!("found an empty list; expected cores of {} ({})", site.called, site.core_list());
            return Err(loaded.error(&cores_key, message));
        }
        if cores.is_empty() {
            let message = format!(
                "no core is left for `{}` beside the target on core {}; {} has {}",
                neighbour.workload,
                target.core,
                site.called,
                site.core_list()
            );
            return Err(loaded.error(&cores_key, message));
        }
        for core in cores {
            let caches = caches_of(loaded, site, &cores_key, core)?;
            if core == target.core {
                let message = format!(
                    "found core {core}, which is the core of the target `{}`; a neighbour needs a core of its own",
                    target.workload
                );
                return Err(loaded.error(&cores_key, message));
            }
            if let Some(other) = placed.iter().find(|p| p.core == core) {
                let message = format!(
                    "found core {core}, which is already given to `{}`; one core runs one workload",
                    other.workload
                );
                return Err(loaded.error(&cores_key, message));
            }
            let pattern = pattern_for(loaded, &format!("{key}.workload"), &neighbour.workload, caches)?;
            if let Some(why) = site.refuses_neighbour(&pattern) {
                return Err(loaded.error(&format!("{key}.workload"), format!("found `{}`: {why}", neighbour.workload)));
            }
            placed.push(Placed { workload: neighbour.workload.clone(), pattern, core });
        }
    }
    Ok(placed)
}

fn caches_of<'s>(loaded: &Loaded, site: &'s Site, key: &str, core: CoreId) -> Result<&'s CacheShapes, InputError> {
    let found = site.core(core).ok_or_else(|| {
        loaded.error(
            key,
            format!("found core {core}, which {} does not have; expected {}", site.called, site.core_list()),
        )
    })?;
    Ok(&found.caches)
}

fn group_names(neighbours: &[Neighbour]) -> Vec<Option<String>> {
    let mut names = Vec::new();
    for neighbour in neighbours {
        if !names.contains(&neighbour.group) {
            names.push(neighbour.group.clone());
        }
    }
    names
}

/// A workload by name: the experiment's own, or a bundled one.
pub(crate) fn bundled_workload(name: &str) -> Option<Workload> {
    // A bundled file that does not parse fails a test, so it cannot reach a user.
    find_bundled(name).and_then(|found| toml::from_str(found.text).ok())
}

fn pattern_for(loaded: &Loaded, key: &str, name: &str, caches: &CacheShapes) -> Result<Pattern, InputError> {
    if let Some(own) = loaded.experiment.workloads.get(name) {
        return own
            .resolve(caches)
            .map_err(|refused| loaded.error(&format!("workloads.{name}.{}", refused.key), refused.why));
    }
    let workload = bundled_workload(name).ok_or_else(|| {
        let own = loaded.experiment.workloads.keys().map(String::as_str);
        let known: Vec<_> = own.chain(waykeeper_workload::bundled().iter().map(|b| b.name)).collect();
        loaded.error(key, format!("found `{name}`, which no workload is called; expected one of {}", known.join(", ")))
    })?;
    workload.resolve(caches).map_err(|refused| {
        loaded.error(key, format!("workload `{name}` does not fit here: {}: {}", refused.key, refused.why))
    })
}

/// The workload that witnesses whether neighbours have an effect.
pub const SENTINEL: &str = "chase_llc";

fn sentinel_cases(loaded: &Loaded, site: &Site, cases: &[Case]) -> Result<Vec<Case>, InputError> {
    let mut sentinels: Vec<Case> = Vec::new();
    for case in cases.iter().filter(|case| case.mitigation == NONE) {
        let core = case.target.core;
        // On a machine whose caches are unknown there is nothing to fill: the target alone must witness.
        let Some(pattern) = bundled_workload(SENTINEL).and_then(|w| w.resolve(&site.core(core)?.caches).ok()) else {
            continue;
        };
        let target = Placed { workload: SENTINEL.into(), pattern, core };
        if sentinels.iter().any(|s| s.target == target && s.neighbours == case.neighbours) {
            continue;
        }
        let several = loaded.experiment.targets.len() > 1;
        let prefix = if several { format!("sentinel@{core}: ") } else { "sentinel: ".into() };
        sentinels.push(Case {
            name: case_name(&prefix, NONE, case.group.as_deref(), case.solo()),
            purpose: Purpose::Sentinel,
            target,
            neighbours: case.neighbours.clone(),
            group: case.group.clone(),
            mitigation: NONE.into(),
            reference: None,
        });
    }
    Ok(sentinels)
}
