//! The grid of a sweep: its points down, the mitigations (or another sweep) across.

use std::collections::BTreeMap;

use waykeeper_experiment::cases::called;
use waykeeper_experiment::layout::CaseMetric;
use waykeeper_experiment::mitigation::NONE;
use waykeeper_experiment::sweep::SweepRecord;
use waykeeper_run::{CaseRecord, Run};

use crate::metric::figure;
use crate::table::{Column, table};

/// What `table.columns` calls the mitigations.
const MITIGATION: &str = "mitigation";

/// One grid for each target and for each point of the other sweeps; nothing where there is no sweep.
pub fn matrix(run: &Run) -> Option<String> {
    let layout = run.table.clone().unwrap_or_default();
    let columns = layout.columns.as_deref().unwrap_or(MITIGATION);
    let sweep = |name: &str| run.sweeps.iter().find(|sweep| sweep.name == name);
    let rows = match &layout.rows {
        Some(rows) => sweep(rows)?,
        None => run.sweeps.iter().rev().find(|sweep| sweep.name != columns).or_else(|| run.sweeps.last())?,
    };
    let shown: Vec<&CaseRecord> = run.cases.iter().filter(|case| is_shown(case, run, layout.metric)).collect();
    let mut blocks: Vec<(String, String)> = Vec::new();
    for block in blocks_of(run, &shown, &rows.name, columns) {
        let heads = heads(&block.cases, sweep(columns));
        let mut spec = vec![Column { heading: rows.name.clone(), numbers: false }];
        spec.extend(heads.iter().map(|head| Column { heading: head.clone(), numbers: true }));
        let cells = |label: &String| {
            let cell = |head: &String| {
                let case = block.cases.iter().find(|case| {
                    head_of(case, sweep(columns)).as_ref().is_none_or(|own| own == head)
                        && case.point.get(&rows.name).is_none_or(|own| own == label)
                });
                figure(layout.metric, case.and_then(|case| case.figure(layout.metric)))
            };
            std::iter::once(label.clone()).chain(heads.iter().map(cell)).collect::<Vec<_>>()
        };
        let lines: Vec<Vec<String>> = rows.points.iter().map(cells).collect();
        blocks.push((block.title, table(&spec, &lines)));
    }
    let text = blocks.iter().map(|(title, table)| format!("{}{title}\n{table}", layout.metric));
    Some(text.collect::<Vec<_>>().join("\n\n"))
}

/// Slowdown is of loaded cases, cost of mitigated solo ones. For the others, of the solo cases only the unmitigated one is
/// shown beside the loaded ones.
pub fn is_shown(case: &CaseRecord, run: &Run, metric: CaseMetric) -> bool {
    let solo = case.neighbours.is_empty();
    let loaded_ones = run.cases.iter().any(|case| !case.neighbours.is_empty());
    match metric {
        CaseMetric::Slowdown => !solo,
        CaseMetric::Cost => solo && case.mitigation != NONE,
        _ => !solo || case.mitigation == NONE || !loaded_ones,
    }
}

struct Block<'r> {
    title: String,
    cases: Vec<&'r CaseRecord>,
}

/// The cases of each target at each point of the sweeps that are neither rows nor columns.
fn blocks_of<'r>(run: &Run, shown: &[&'r CaseRecord], rows: &str, columns: &str) -> Vec<Block<'r>> {
    let mut targets: Vec<&str> = Vec::new();
    let mut kinds: Vec<String> = Vec::new();
    for case in shown {
        if !targets.contains(&case.target.as_str()) {
            targets.push(&case.target);
        }
        // What would be columns of its own makes grids of its own where a sweep is the columns.
        let kind = head_of(case, None).unwrap_or_default();
        if columns != MITIGATION && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let several_targets = targets.len() > 1;
    let mut points: Vec<BTreeMap<&str, &str>> = vec![BTreeMap::new()];
    for sweep in run.sweeps.iter().filter(|sweep| sweep.name != rows && sweep.name != columns) {
        let mut further = Vec::new();
        for (point, label) in points.iter().flat_map(|point| sweep.points.iter().map(move |label| (point, label))) {
            let mut point = point.clone();
            point.insert(&sweep.name, label);
            further.push(point);
        }
        points = further;
    }
    let mut blocks = Vec::new();
    for target in targets {
        for point in &points {
            let choices: Vec<Option<&String>> =
                if kinds.is_empty() { vec![None] } else { kinds.iter().map(Some).collect() };
            for kind in choices {
                let inside = |case: &&&CaseRecord| {
                    case.target == target
                        && kind.is_none_or(|kind| head_of(case, None).as_ref() == Some(kind))
                        && point.iter().all(|(sweep, label)| case.point.get(*sweep).is_none_or(|own| own == label))
                };
                let cases: Vec<&CaseRecord> = shown.iter().filter(inside).copied().collect();
                if cases.is_empty() {
                    continue;
                }
                let mut title: Vec<String> = several_targets.then(|| target.to_owned()).into_iter().collect();
                title.extend(point.iter().map(|(sweep, label)| format!("{sweep} {label}")));
                title.extend(kind.filter(|_| kinds.len() > 1).cloned());
                let title = if title.is_empty() { String::new() } else { format!(", {}", title.join(", ")) };
                blocks.push(Block { title, cases });
            }
        }
    }
    blocks
}

/// The headings across, in the order of the sweep or of the cases.
fn heads(cases: &[&CaseRecord], sweep: Option<&SweepRecord>) -> Vec<String> {
    if let Some(sweep) = sweep {
        return sweep.points.clone();
    }
    let mut heads: Vec<String> = Vec::new();
    for case in cases {
        let head = head_of(case, None).unwrap_or_default();
        if !heads.contains(&head) {
            heads.push(head);
        }
    }
    heads
}

/// The column of a case; none where it belongs to all.
fn head_of(case: &CaseRecord, sweep: Option<&SweepRecord>) -> Option<String> {
    match sweep {
        Some(sweep) => case.point.get(&sweep.name).cloned(),
        None if case.neighbours.is_empty() && case.mitigation == NONE => Some("idle".into()),
        None if case.neighbours.is_empty() => Some(format!("{}, idle", case.mitigation)),
        None => Some(case.mitigation.clone()),
    }
}

/// The sweeps in a few words, for the lines above the tables.
pub fn sweeps(run: &Run) -> Option<String> {
    let of = |sweep: &SweepRecord| match sweep.points.as_slice() {
        [first, _, .., last] if sweep.points.len() > 4 => {
            format!("{} ({} points, {first} to {last})", sweep.name, sweep.points.len())
        }
        points => format!("{} ({})", sweep.name, points.join(", ")),
    };
    let list: Vec<_> = run.sweeps.iter().map(of).collect();
    (!list.is_empty()).then(|| format!("swept: {}", list.join(" x ")))
}

/// What a case's target or neighbour is called where it is the only one that differs so.
pub fn name(workload: &str, with: &BTreeMap<String, String>, run: &Run) -> String {
    if run.sweeps.is_empty() { called(workload, with) } else { workload.to_owned() }
}
