//! Which target a search is for, where its experiment has several.

use std::collections::BTreeMap;

use waykeeper_experiment::InputError;
use waykeeper_experiment::cases::{Case, Placed};

/// Refuses cases of several targets, with the options that choose each of them. Which one counts is the user's to say: the first one
/// is no default.
pub(crate) fn one_target(cases: &[&Case]) -> Result<(), InputError> {
    let targets = distinct(cases.iter().map(|case| (case.target.workload.as_str(), case.target.core)));
    if targets.len() < 2 {
        return Ok(());
    }
    Err(InputError::in_option("--target", format!("the experiment has several targets; expected {}", choices(cases))))
}

/// Refuses cases of several targets or points, with the options that choose each of them.
pub(crate) fn one_case(cases: &[&Case]) -> Result<(), InputError> {
    if cases.len() < 2 {
        return Ok(());
    }
    let message = format!("the experiment has several targets or points; expected {}", choices(cases));
    Err(InputError::in_option("--target", message))
}

/// The options that choose one: a target where there are several at one point, and a point of each sweep that has several.
fn choices(cases: &[&Case]) -> String {
    // A case says nothing of sweeps that do not matter to it.
    let (mut point, mut targets) = (BTreeMap::new(), Vec::new());
    for case in cases {
        let own = case.point.to_map();
        if own.iter().all(|(sweep, label)| point.get(sweep).is_none_or(|known| known == label)) {
            point.extend(own);
            targets.push(&case.target);
        }
    }
    let targets: Vec<&Placed> = distinct(targets.into_iter());
    let mut parts = Vec::new();
    if targets.len() > 1 {
        let is_alone = |target: &Placed| {
            let same = |other: &&&Placed| (&other.workload, other.core) == (&target.workload, target.core);
            targets.iter().filter(same).count() == 1
        };
        parts.push(one_of(targets.iter().map(|target| target_option(target, is_alone(target))).collect()));
    }
    let mut sweeps: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (sweep, label) in cases.iter().flat_map(|case| case.point.to_map()) {
        let labels = sweeps.entry(sweep).or_default();
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    for (sweep, labels) in sweeps.into_iter().filter(|(_, labels)| labels.len() > 1) {
        parts.push(one_of(labels.iter().map(|label| format!("`--set 'sweep.{sweep}.only={label}'`")).collect()));
    }
    parts.join(", with ")
}

fn one_of(options: Vec<String>) -> String {
    match options.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// The option that makes it the only one. `--target` keeps the keys of the targets that it names: all of that workload on that core.
fn target_option(target: &Placed, is_alone: bool) -> String {
    if is_alone {
        return format!("`--target {}@{}`", target.workload, target.core);
    }
    let is_bare = |value: &str| value.parse::<f64>().is_ok_and(f64::is_finite) || value.parse::<bool>().is_ok();
    let written = |value: &str| if is_bare(value) { value.to_owned() } else { format!("{value:?}") };
    let with: Vec<String> = target.with.iter().map(|(key, value)| format!("{key} = {}", written(value))).collect();
    let (workload, core, with) = (&target.workload, target.core, with.join(", "));
    format!("`--set 'targets=[{{ workload = {workload:?}, core = {core}, with = {{ {with} }} }}]'`")
}

/// Each once, in the order of the experiment.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for one in all {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}
