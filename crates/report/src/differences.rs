//! What differs between two runs that stand side by side.

use std::collections::BTreeMap;

use waykeeper_experiment::cases::called;
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_platform::CoreId;
use waykeeper_run::folder::Definitions;
use waykeeper_run::{CaseRecord, Run};
use waykeeper_workload::format_ns;

use crate::comparison::ComparedRun;
use crate::figure::{cores, counted};
use crate::length::Length;
use crate::pairs::Pair;

/// So many parameters and cases are named; the rest is counted.
const NAMED: usize = 3;

/// A sentence or two for each thing that differs; `pairs` are the cases that stand side by side.
pub fn differences(sides: [&ComparedRun<'_>; 2], pairs: &[Pair<'_>]) -> Vec<String> {
    let [a, b] = sides.map(|side| side.run);
    let differs = |what: &str, a: String, b: String| (a != b).then(|| format!("The {what} differ: {a} and {b}."));
    let found = [
        differs("experiments", a.experiment.clone(), b.experiment.clone()),
        differs("platforms", a.platform.clone(), b.platform.clone()),
        differs("executors", a.executor.to_string(), b.executor.to_string()),
        differs("lengths", Length::of(a).of_repeat(), Length::of(b).of_repeat())
            .map(|text| text + " Maxima of different lengths do not compare."),
        // On a machine a seed decides on little, and two runs differ in much else.
        (a.executor == ExecutorKind::Sim && b.executor == ExecutorKind::Sim)
            .then(|| differs("seeds", a.seed.to_string(), b.seed.to_string()))
            .flatten()
            .map(|text| text + " Memory lies elsewhere, and neighbours begin at other times."),
        a.machine.processor.clone().zip(b.machine.processor.clone()).and_then(|(a, b)| differs("processors", a, b)),
        parameters(a, b),
    ];
    let mut all: Vec<String> = found.into_iter().flatten().collect();
    all.extend(of_cases("targets", pairs, target));
    all.extend(of_cases("neighbours", pairs, neighbours));
    all.extend(of_cases("paths", pairs, path));
    all.extend(of_cases("warm-ups", pairs, warm_up));
    all.extend(definitions(sides, pairs));
    all.extend(rounded([a, b]));
    all.extend(a.cut_short.then(|| "The first run was cut short.".to_owned()));
    all.extend(b.cut_short.then(|| "The second run was cut short.".to_owned()));
    all
}

/// What ratios of imported figures are worth.
fn rounded(runs: [&Run; 2]) -> Option<String> {
    let step_ns = runs.iter().filter(|run| run.imported.is_some()).map(|run| run.clock.step_ns()).fold(0.0, f64::max);
    (step_ns > 0.0).then(|| {
        format!(
            "Imported samples are rounded down to whole steps ({}): means, maxima and their ratios are known to a step only.",
            format_ns(step_ns)
        )
    })
}

/// Whether the target of a case is another one in the other run.
pub fn another_target(a: &CaseRecord, b: &CaseRecord) -> bool {
    (&a.target, &a.target_with, a.core) != (&b.target, &b.target_with, b.core)
}

/// The neighbours of a case, each with its core and as it is called, where those of the other run are called alike on the same cores.
pub fn same_neighbours(a: &CaseRecord, b: &CaseRecord) -> Option<Vec<(CoreId, String)>> {
    let named = |case: &CaseRecord| -> Vec<(CoreId, String)> {
        let each = case.neighbours.iter().flat_map(|neighbour| {
            let called = called(&neighbour.workload, &neighbour.with);
            neighbour.cores.iter().map(move |core| (*core, format!("{called} on core {core}")))
        });
        let mut each: Vec<_> = each.collect();
        each.sort_unstable();
        each
    };
    let of_a = named(a);
    (of_a == named(b)).then_some(of_a)
}

fn target(case: &CaseRecord) -> String {
    format!("{} on core {}", called(&case.target, &case.target_with), case.core)
}

/// How neighbours, or a background, were simulated.
fn path(case: &CaseRecord) -> String {
    if case.skipped_accesses > 0 { "on the fast path".into() } else { "in full".into() }
}

/// How caches filled before the first sample.
fn warm_up(case: &CaseRecord) -> String {
    if case.functional_warm_up_s.is_some() { "mostly without time".into() } else { "in time".into() }
}

fn neighbours(case: &CaseRecord) -> String {
    let each = case.neighbours.iter().map(|neighbour| {
        let mut numbers = neighbour.cores.clone();
        numbers.sort_unstable();
        format!("{} on {}", called(&neighbour.workload, &neighbour.with), cores(&numbers))
    });
    let each: Vec<_> = each.collect();
    if each.is_empty() { "none".into() } else { each.join(" with ") }
}

/// What of cases of one name differs, each difference once with the cases that have it.
fn of_cases(what: &str, pairs: &[Pair<'_>], tell: fn(&CaseRecord) -> String) -> Vec<String> {
    let mut found: Vec<([String; 2], Vec<&str>)> = Vec::new();
    for (a, b) in pairs {
        let both = [tell(a), tell(b)];
        if both[0] == both[1] {
            continue;
        }
        match found.iter_mut().find(|(known, _)| *known == both) {
            Some((_, names)) => names.push(&a.name),
            None => found.push((both, vec![&a.name])),
        }
    }
    let say = |([a, b], names): ([String; 2], Vec<&str>)| {
        let names = some(names.iter().map(|name| format!("`{name}`")).collect(), "case");
        format!("The {what} of {names} differ: {a}, and {b}.")
    };
    found.into_iter().map(say).collect()
}

/// The first few, and how many more there are.
fn some(list: Vec<String>, one: &str) -> String {
    let more = list.len().saturating_sub(NAMED);
    let named = list.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match more {
        0 => named,
        more => format!("{named} and {}", counted(more as u64, &format!("more {one}"), &format!("more {one}s"))),
    }
}

/// Parameters of one platform that have other values; those of another platform differ at any rate.
fn parameters(a: &Run, b: &Run) -> Option<String> {
    if a.platform != b.platform {
        return None;
    }
    let values = |run: &Run| -> Option<BTreeMap<String, String>> {
        let list = &run.parameters.as_ref()?.list;
        Some(list.iter().map(|parameter| (parameter.key.clone(), parameter.value.clone())).collect())
    };
    let (of_a, of_b) = (values(a)?, values(b)?);
    let differing = unequal(&of_a, &of_b);
    let what = format!("parameters of {}", a.platform);
    (!differing.is_empty()).then(|| format!("The {what} differ: {}.", some(differing, "parameter")))
}

/// Workloads and mitigations of the cases that the experiments define themselves, and differently.
fn definitions(sides: [&ComparedRun<'_>; 2], pairs: &[Pair<'_>]) -> Vec<String> {
    let [Some(of_a), Some(of_b)] = sides.map(|side| side.definitions.as_ref()) else { return Vec::new() };
    let mut workloads: Vec<&str> = Vec::new();
    let mut mitigations: Vec<&str> = Vec::new();
    for (case, _) in pairs {
        workloads.push(&case.target);
        workloads.extend(case.neighbours.iter().map(|neighbour| neighbour.workload.as_str()));
        mitigations.extend(case.mitigation.split('+'));
    }
    let [workloads_of_a, mitigations_of_a] = of_a;
    let [workloads_of_b, mitigations_of_b] = of_b;
    let mut found = defined_differently(workloads, workloads_of_a, workloads_of_b);
    found.extend(defined_differently(mitigations, mitigations_of_a, mitigations_of_b));
    found
}

fn defined_differently(mut names: Vec<&str>, of_a: &Definitions, of_b: &Definitions) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    let say = |name: &str| match (of_a.get(name), of_b.get(name)) {
        (None, None) => None,
        (Some(_), None) => Some(format!("Only the first run's experiment defines `{name}` itself.")),
        (None, Some(_)) => Some(format!("Only the second run's experiment defines `{name}` itself.")),
        (Some(a), Some(b)) => {
            let differing = unequal(a, b);
            let what = format!("definitions of `{name}`");
            (!differing.is_empty()).then(|| format!("The {what} differ: {}.", some(differing, "key")))
        }
    };
    names.into_iter().filter_map(say).collect()
}

/// Keys with other values, each with both.
fn unequal(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<String> {
    let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let value = |of: &BTreeMap<String, String>, key: &String| of.get(key).cloned().unwrap_or_else(|| "nothing".into());
    let differ = keys.into_iter().filter(|key| a.get(*key) != b.get(*key));
    differ.map(|key| format!("{key} {} and {}", value(a, key), value(b, key))).collect()
}
