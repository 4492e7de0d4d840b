//! The case matrix: every target, with and without each group of neighbours, under every mitigation, at every point of the
//! sweeps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use waykeeper_platform::Settings;
use waykeeper_workload::{Passes, Pattern};

use crate::describe::{Measure, Neighbour};
use crate::error::InputError;
use crate::expectation::Statement;
use crate::load::{Loaded, Variant};
use crate::mitigation::{self, NONE};
use crate::offers;
use crate::place;
pub use crate::place::{Placed, called, flat};
use crate::point::Point;
use crate::published::Reference;
use crate::reference::Published;
use crate::sampled::Sampling;
pub use crate::sentinel::SENTINEL;
use crate::sentinel::sentinels;
use crate::site::RefusalRecord;
use crate::site::{ExecutorKind, Site};

/// What a case is measured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// A case of the experiment.
    Case,
    /// The sentinel: it only witnesses whether the neighbours have an effect.
    Sentinel,
}

/// One target x neighbours x mitigation, at one point of the sweeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Unique within the experiment.
    pub name: String,
    /// What it is for.
    pub purpose: Purpose,
    /// The workload whose latency counts.
    pub target: Placed,
    /// Its throughput counts, not the latency of its samples.
    pub throughput: bool,
    /// The windows in which its passes are measured, where they are.
    pub sampled: Option<Sampling>,
    /// Targets of other cases that are measured at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub companions: Vec<Placed>,
    /// What runs beside it; empty for a solo case.
    pub neighbours: Vec<Placed>,
    /// The group of neighbours, also on solo cases of experiments without any.
    pub group: Option<String>,
    /// `none`, or the mitigations joined by `+`.
    pub mitigation: String,
    /// The settings of those mitigations that are the experiment's own, by name.
    pub assignments: BTreeMap<String, Settings>,
    /// The points of those sweeps that matter to it.
    pub point: Point,
    /// Published figures, where this is a published case.
    pub reference: Option<Reference>,
}

impl Case {
    /// Whether nothing runs beside the target.
    pub fn solo(&self) -> bool {
        self.neighbours.is_empty()
    }

    /// Whether another case is measured at the same time, as one of its companions.
    pub fn is_measured_with(&self, other: &Self) -> bool {
        self.companions.contains(&other.target)
            && self.purpose == other.purpose
            && self.mitigation == other.mitigation
            && self.group == other.group
            && self.neighbours == other.neighbours
            && self.point == other.point
    }

    /// Whether the same would be measured, whatever the two are called.
    fn does_the_same(&self, other: &Self) -> bool {
        self.mitigation == other.mitigation
            && self.throughput == other.throughput
            && self.sampled == other.sampled
            && self.group == other.group
            && self.target == other.target
            && self.companions == other.companions
            && self.neighbours == other.neighbours
            && self.assignments == other.assignments
    }
}

/// All cases of an experiment at a site, in the order in which they run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The cases; sentinel cases last.
    pub cases: Vec<Case>,
    /// What the site cannot do.
    pub refused: Vec<RefusalRecord>,
}

/// More cases than anyone waits for.
const MOST_CASES: usize = 10_000;

impl Plan {
    /// Works out the cases.
    ///
    /// # Errors
    /// Unknown workloads or mitigations, cores that do not exist, a core that is given to two workloads, sizes that have
    /// no value here.
    pub fn new(loaded: &Loaded, site: &Site) -> Result<Self, InputError> {
        check_names_of_mitigations(loaded, site)?;
        let variants = loaded.variants()?;
        let (mut cases, mut refused) = (Vec::new(), Vec::new());
        for variant in &variants {
            at_point(variant, site, &mut cases, &mut refused).map_err(|error| loaded.at_variant(variant, error))?;
            if cases.len() > MOST_CASES {
                let message = format!("the experiment has more than {MOST_CASES} cases; fewer points would do");
                return Err(loaded.error("sweep", message));
            }
        }
        for sweep in &loaded.experiment.sweep {
            let points = variants.iter().filter_map(|variant| variant.point.label(&sweep.name));
            let points: std::collections::BTreeSet<&str> = points.collect();
            cases = run_once(cases, &sweep.name, points.len());
        }
        for case in &mut cases {
            let point = if case.point.is_empty() { String::new() } else { format!(" [{}]", case.point) };
            case.name += &point;
        }
        if loaded.experiment.sentinel && cases.iter().any(|case| !case.solo()) {
            let sentinels = sentinels(site, &cases, loaded.experiment.targets.len() > 1);
            cases.extend(sentinels);
        }
        Ok(Self { cases, refused })
    }
}

/// The cases at one point, without the point in their names.
fn at_point(
    variant: &Variant,
    site: &Site,
    cases: &mut Vec<Case>,
    refused: &mut Vec<RefusalRecord>,
) -> Result<(), InputError> {
    let (loaded, experiment) = (&variant.loaded, &variant.loaded.experiment);
    let (mitigations, not_offered) = offers::offered(loaded, site)?;
    let mut refuse = |refusal: RefusalRecord| {
        if !refused.contains(&refusal) {
            refused.push(refusal);
        }
    };
    not_offered.into_iter().for_each(&mut refuse);
    let published = Published::new(variant, site);
    let targets =
        experiment.targets.iter().enumerate().map(|(index, target)| place::target(loaded, site, index, target));
    let targets = targets.collect::<Result<Vec<_>, _>>()?;
    let groups = group_names(&experiment.neighbours);
    if experiment.simultaneous {
        check_simultaneous(loaded, site, &targets)?;
    }
    for (index, target) in targets.iter().enumerate() {
        if let Some(before) = targets[..index].iter().position(|before| before == target) {
            let message = format!(
                "found `{}` on core {} again, as in targets.{before}; expected each target once",
                target.workload, target.core
            );
            return Err(loaded.error(&format!("targets.{index}"), message));
        }
        let prefix = prefix(&targets, target);
        let alone = experiment.solo || groups.is_empty();
        let mut settings = if alone { vec![(None, Vec::new())] } else { Vec::new() };
        for group in &groups {
            settings.push((group.clone(), place::group(loaded, site, target, group)?));
        }
        for mitigation in &mitigations {
            let part_means_nothing = |part| site.means_nothing(part, &target.pattern);
            if let Some(why) = mitigation::parts(mitigation).into_iter().find_map(part_means_nothing) {
                refuse(RefusalRecord { what: format!("mitigation {mitigation} for {}", target.workload), why });
                continue;
            }
            let own = |part: &str| Some((part.to_owned(), experiment.assignments.get(part)?.set.clone()));
            let assignments: BTreeMap<_, _> = mitigation::parts(mitigation).into_iter().filter_map(own).collect();
            for (group, neighbours) in &settings {
                let mut case = Case {
                    name: case_name(&prefix, mitigation, group.as_deref(), neighbours.is_empty(), &Point::default()),
                    purpose: Purpose::Case,
                    target: target.clone(),
                    companions: targets
                        .iter()
                        .filter(|other| experiment.simultaneous && *other != target)
                        .cloned()
                        .collect(),
                    throughput: experiment.targets[index].measure == Measure::Throughput,
                    sampled: experiment.targets[index].sampled.0.filter(|_| site.executor == ExecutorKind::Sim),
                    neighbours: neighbours.clone(),
                    group: group.clone(),
                    mitigation: mitigation.clone(),
                    assignments: assignments.clone(),
                    point: variant.point.clone(),
                    reference: None,
                };
                case.reference = published.as_ref().and_then(|published| published.figures_of(&case));
                cases.push(case);
            }
        }
    }
    Ok(())
}

/// Targets can be measured at the same time where each waits on a core of its own.
fn check_simultaneous(loaded: &Loaded, site: &Site, targets: &[Placed]) -> Result<(), InputError> {
    if site.executor != ExecutorKind::Host {
        let message = format!("found true; {} measures one target at a time; expected false", site.called);
        return Err(loaded.error("simultaneous", message));
    }
    for (index, target) in targets.iter().enumerate() {
        let cyclictest = matches!(target.pattern, Pattern::Command { passes: Passes::Cyclictest, .. });
        if !cyclictest && !matches!(target.pattern, Pattern::Wakeup { .. }) {
            let message = format!(
                "found `{}`; with `simultaneous` expected targets of kind `wakeup`, or cyclictest (`passes = \"cyclictest\"`)",
                target.workload
            );
            return Err(loaded.error(&format!("targets.{index}.workload"), message));
        }
        if targets[..index].iter().any(|before| before.core == target.core) {
            let message =
                format!("found core {} again; with `simultaneous` each target needs a core of its own", target.core);
            return Err(loaded.error(&format!("targets.{index}.core"), message));
        }
    }
    Ok(())
}

/// Cases that are the same at all of a sweep's points become one, whose point says nothing of that sweep.
fn run_once(cases: Vec<Case>, sweep: &str, points: usize) -> Vec<Case> {
    if points < 2 {
        return cases;
    }
    // Only cases of one name, at one point of the other sweeps, can be the same.
    let mut alike: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (index, case) in cases.iter().enumerate() {
        alike.entry((case.name.clone(), case.point.without(sweep).to_string())).or_default().push(index);
    }
    let mut merged_into: Vec<Option<usize>> = vec![None; cases.len()];
    for indices in alike.values() {
        for (at, first) in indices.iter().enumerate() {
            if merged_into[*first].is_some() {
                continue;
            }
            let same = indices[at..].iter().filter(|other| cases[*first].does_the_same(&cases[**other]));
            let same: Vec<usize> = same.copied().collect();
            if same.len() == points {
                same.iter().for_each(|index| merged_into[*index] = Some(*first));
            }
        }
    }
    let reference_of = |first: usize| {
        let merged = (0..cases.len()).filter(|index| merged_into[*index] == Some(first));
        merged.filter_map(|index| cases[index].reference.clone()).next()
    };
    let mut kept = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        match merged_into[index] {
            Some(first) if first != index => {}
            Some(_) => {
                let reference = reference_of(index);
                kept.push(Case { point: case.point.without(sweep), reference, ..case.clone() });
            }
            None => kept.push(case.clone()),
        }
    }
    kept
}

/// A reference or an expectation for a mitigation that is not known would never be shown.
fn check_names_of_mitigations(loaded: &Loaded, site: &Site) -> Result<(), InputError> {
    let check = |key: &str, name: &str| match mitigation::parts(name)
        .into_iter()
        .find(|part| !offers::is_known(loaded, site, part))
    {
        None => Ok(()),
        Some(part) => {
            let list = key.split('.').next().unwrap_or(key);
            let message = format!(
                "found `{part}`, which no mitigation of {} is called; expected none, or mitigations joined by `+`; `--set {list}=[]` \
                 leaves these out",
                site.called
            );
            Err(loaded.error(key, message))
        }
    };
    for (index, reference) in loaded.experiment.references.iter().enumerate() {
        check(&format!("references.{index}.mitigation"), &reference.mitigation)?;
    }
    for (index, expectation) in loaded.experiment.expectations.iter().enumerate() {
        let statements = expectation.order.as_slice().iter().filter_map(|text| text.parse::<Statement>().ok());
        for case in statements.flat_map(|statement| statement.cases().cloned().collect::<Vec<_>>()) {
            check(&format!("expectations.{index}.order"), &case.mitigation)?;
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

pub(crate) fn case_name(prefix: &str, mitigation: &str, group: Option<&str>, solo: bool, point: &Point) -> String {
    let versus = group.map(|group| format!(" vs {group}")).unwrap_or_default();
    let point = if point.is_empty() { String::new() } else { format!(" [{point}]") };
    match (mitigation, solo) {
        (NONE, true) => format!("{prefix}idle{point}"),
        (_, true) => format!("{prefix}{mitigation}, idle{point}"),
        (_, false) => format!("{prefix}{mitigation}{versus}{point}"),
    }
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
