//! Two runs side by side, case by case.

use std::collections::BTreeMap;

use waykeeper_experiment::measurement::OFF_CORE_MS;
use waykeeper_experiment::run::{CaseRecord, Run};
use waykeeper_experiment::statistics::{Answer, Arms, Repeat, compare as compare_repeats, what_was_lacking};

use crate::differences::{another_target, differences};
use crate::figure::{ratio, time};
use crate::length::Length;
use crate::table::{columns, table};

/// One of the two runs.
#[derive(Debug, Clone)]
pub struct Side<'r> {
    /// What the user called it.
    pub name: String,
    /// The run.
    pub run: &'r Run,
    /// The keys of the workloads that its experiment defines itself, by workload; none where that is not known.
    pub workloads: Option<BTreeMap<String, BTreeMap<String, String>>>,
}

/// The comparison as text.
pub fn compare(sides: [&Side<'_>; 2]) -> String {
    let [a, b] = sides.map(|side| side.run);
    let columns = columns(&[
        ("case", false),
        ("mean A", true),
        ("mean B", true),
        ("B/A", true),
        ("p99.9 A", true),
        ("p99.9 B", true),
        ("B/A", true),
        ("max A", true),
        ("max B", true),
        ("B/A", true),
        ("B beside A", false),
    ]);
    let pairs: Vec<(&CaseRecord, &CaseRecord)> =
        a.cases.iter().filter_map(|case| Some((case, b.cases.iter().find(|other| other.name == case.name)?))).collect();
    let rows: Vec<Vec<String>> = pairs.iter().map(|(a_case, b_case)| row(a, b, a_case, b_case)).collect();
    let mut lines = vec![format!("A: {}", describe(&sides[0].name, a)), format!("B: {}", describe(&sides[1].name, b))];
    lines.extend(differences(sides, &pairs));
    if rows.is_empty() {
        lines.push("The two runs have no case in common.".into());
        return lines.join("\n") + "\n";
    }
    let alone = |one: &Run, other: &Run| -> Vec<String> {
        let lonely = one.cases.iter().filter(|case| other.cases.iter().all(|o| o.name != case.name));
        lonely.map(|case| case.name.clone()).collect()
    };
    let mut text = lines.join("\n") + "\n\n" + &table(&columns, &rows) + "\n\n";
    for (name, only) in [("A", alone(a, b)), ("B", alone(b, a))] {
        if !only.is_empty() {
            text += &format!("only in {name}: {}\n", only.join("; "));
        }
    }
    text + "lower/higher: by exact rank tests on the repeats (rate of excursions, maxima), 5 % in all for each case.\n"
}

fn describe(name: &str, run: &Run) -> String {
    format!("{name}: {} on {} ({}), {}, {}", run.experiment, run.platform, run.executor, Length::of(run), run.started)
}

fn row(a: &Run, b: &Run, a_case: &CaseRecord, b_case: &CaseRecord) -> Vec<String> {
    let figure = |of: fn(&CaseRecord) -> Option<f64>| {
        let (a, b) = (of(a_case), of(b_case));
        [time(a), time(b), ratio(a.zip(b).map(|(a, b)| b / a))]
    };
    let mut cells = vec![a_case.name.clone()];
    cells.extend(figure(|case| case.mean_ns));
    cells.extend(figure(|case| case.p99_9_ns));
    cells.extend(figure(|case| case.max_ns));
    cells.push(judge(a, b, a_case, b_case));
    cells
}

fn judge(a: &Run, b: &Run, a_case: &CaseRecord, b_case: &CaseRecord) -> String {
    if another_target(a_case, b_case) {
        return "another target".into();
    }
    let repeats = |run: &Run, case: &CaseRecord| -> Vec<Repeat> {
        let repeats = case.repeats.iter().map(|repeat| Repeat {
            samples: repeat.samples,
            exposure_s: repeat.run_length_s,
            off_core_s: repeat.disturbances.get(OFF_CORE_MS).map_or(0.0, |ms| ms / 1e3),
            clusters: repeat.excursion_events,
            max_ns: repeat.max_ns.unwrap_or_default(),
            resolution_ns: run.clock.tick_ns,
            cut_short: repeat.cut_short,
        });
        repeats.collect()
    };
    let (unmitigated, mitigated) = (repeats(a, a_case), repeats(b, b_case));
    let threshold_ns = a_case.excursion_above_ns.unwrap_or_default();
    let Ok(compared) = compare_repeats(&Arms { unmitigated: &unmitigated, mitigated: &mitigated, threshold_ns }) else {
        return "nothing to compare".into();
    };
    // Each run has its own threshold: events above different levels are different things.
    let same_threshold = match (a_case.excursion_above_ns, b_case.excursion_above_ns) {
        (Some(a), Some(b)) => (a - b).abs() <= 0.05 * a,
        _ => false,
    };
    let rates = if same_threshold { compared.rates.answer } else { Answer::NotShown };
    let said = [word("excursions", rates), word("maxima", compared.maxima.answer)];
    let said: Vec<_> = said.into_iter().flatten().collect();
    match what_was_lacking(&compared) {
        _ if !said.is_empty() => said.join(", "),
        Some(_) => format!("cannot tell from {} v {} repeats", compared.repeats.0, compared.repeats.1),
        None => "no difference shown".into(),
    }
}

fn word(what: &str, answer: Answer) -> Option<String> {
    match answer {
        Answer::Better => Some(format!("{what} lower")),
        Answer::Worse => Some(format!("{what} higher")),
        Answer::NotShown => None,
    }
}
