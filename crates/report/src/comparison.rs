//! What stands side by side when two runs are compared.

use std::collections::BTreeMap;

use serde::Serialize;
use waykeeper_run::{CaseRecord, Run};
use waykeeper_statistics::{
    Arms, EffectDirection, Repeat, VerdictKind, compare as compare_repeats, hidden_by_empty_repeats, what_was_lacking,
};

use crate::differences::{another_target, differences};
use crate::length::Length;
use crate::pairs::{Pair, pairs};

/// One of the two runs.
#[derive(Debug, Clone)]
pub struct ComparedRun<'r> {
    /// What the user called it.
    pub name: String,
    /// The run.
    pub run: &'r Run,
    /// The keys of the workloads that its experiment defines itself, by workload; none where that is not known.
    pub workloads: Option<BTreeMap<String, BTreeMap<String, String>>>,
}

/// Two runs, case by case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    /// The first run.
    pub a: Compared,
    /// The second run.
    pub b: Compared,
    /// What else differs, a sentence or two each.
    pub differences: Vec<String>,
    /// The cases that both have, in the order of the first.
    pub cases: Vec<ComparedCase>,
    /// Names of the cases that only the first run has.
    pub only_in_a: Vec<String>,
    /// Names of the cases that only the second run has.
    pub only_in_b: Vec<String>,
}

/// Which run it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// What the user called it.
    pub name: String,
    /// Its experiment.
    pub experiment: String,
    /// Its platform.
    pub platform: String,
    /// What carried it out.
    pub executor: String,
    /// The length of its cases, as people write it.
    pub length: String,
    /// When it began.
    pub started: String,
}

/// A case of both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedCase {
    /// Its name in the first run.
    pub case: String,
    /// Its name in the second run.
    pub case_in_b: String,
    /// The second run beside the first, in words.
    pub b_beside_a: String,
    /// The same as one of four answers.
    pub outcome: BesideA,
    /// Figures that one of the two has, by their names in run.json.
    pub figures: BTreeMap<&'static str, Both>,
}

/// What can be said of a case of the second run beside that of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BesideA {
    /// Excursions are more frequent or the maxima higher, whatever the other of the two says.
    Worse,
    /// Excursions are rarer or the maxima lower, and neither is the other way round.
    Better,
    /// The repeats could have shown a difference, and showed none. Not a statement that there is none.
    NoDifferenceShown,
    /// The runs cannot answer.
    CannotTell,
}

/// A figure in both runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Both {
    /// In the first.
    pub a: Option<f64>,
    /// In the second.
    pub b: Option<f64>,
    /// The second over the first; none where one is missing or the first is 0.
    pub ratio: Option<f64>,
}

/// A figure of a case, by its name in run.json.
type Figure = (&'static str, fn(&CaseRecord) -> Option<f64>);

const FIGURES: [Figure; 12] = [
    ("min_ns", |case| case.min_ns),
    ("mean_ns", |case| case.mean_ns),
    ("p50_ns", |case| case.p50_ns),
    ("p99_ns", |case| case.p99_ns),
    ("p99_9_ns", |case| case.p99_9_ns),
    ("p99_99_ns", |case| case.p99_99_ns),
    ("max_ns", |case| case.max_ns),
    ("slowdown", |case| case.slowdown),
    ("cost", |case| case.cost),
    ("bandwidth_bytes_per_s", |case| case.bandwidth_bytes_per_s),
    ("total_bandwidth_bytes_per_s", |case| case.total_bandwidth_bytes_per_s),
    ("misses_per_sample", |case| case.misses_per_sample),
];

impl RunComparison {
    /// Compares two runs.
    pub fn new(sides: [&ComparedRun<'_>; 2]) -> Self {
        let [a, b] = sides.map(|side| side.run);
        let pairs = pairs(&a.cases, &b.cases);
        let left = |run: &Run, is_paired: &dyn Fn(&str) -> bool| -> Vec<String> {
            run.cases.iter().map(|case| case.name.clone()).filter(|name| !is_paired(name)).collect()
        };
        Self {
            a: compared(sides[0]),
            b: compared(sides[1]),
            differences: differences(sides, &pairs),
            cases: pairs.iter().map(|pair| compared_case([a, b], *pair)).collect(),
            only_in_a: left(a, &|name| pairs.iter().any(|(a, _)| a.name == name)),
            only_in_b: left(b, &|name| pairs.iter().any(|(_, b)| b.name == name)),
        }
    }
}

fn compared(ComparedRun { name, run, .. }: &ComparedRun<'_>) -> Compared {
    Compared {
        name: name.clone(),
        experiment: run.experiment.clone(),
        platform: run.platform.clone(),
        executor: run.executor.to_string(),
        length: Length::of(run).to_string(),
        started: run.started.clone(),
    }
}

fn compared_case(runs: [&Run; 2], (a, b): Pair<'_>) -> ComparedCase {
    let both = |of: fn(&CaseRecord) -> Option<f64>| {
        let (a, b) = (of(a), of(b));
        let ratio = a.zip(b).filter(|(a, _)| *a != 0.0).map(|(a, b)| b / a);
        (a.is_some() || b.is_some()).then_some(Both { a, b, ratio })
    };
    let (outcome, b_beside_a) = judge(runs, (a, b));
    ComparedCase {
        case: a.name.clone(),
        case_in_b: b.name.clone(),
        b_beside_a,
        outcome,
        figures: FIGURES.into_iter().filter_map(|(name, of)| Some((name, both(of)?))).collect(),
    }
}

fn judge([a, b]: [&Run; 2], (a_case, b_case): Pair<'_>) -> (BesideA, String) {
    if another_target(a_case, b_case) {
        return (BesideA::CannotTell, "another target".into());
    }
    let repeats = |run: &Run, case: &CaseRecord| -> Vec<Repeat> {
        let repeats = case.repeats.iter().map(|repeat| Repeat {
            samples: repeat.samples,
            exposure_s: repeat.run_length_s,
            off_core_s: repeat.off_core_s(),
            clusters: repeat.excursion_events,
            max_ns: repeat.max_ns.unwrap_or_default(),
            resolution_ns: run.clock.tick_ns,
            cut_short: repeat.cut_short || repeat.not_counted.is_some(),
        });
        repeats.collect()
    };
    let (unmitigated, mitigated) = (repeats(a, a_case), repeats(b, b_case));
    let threshold_ns = a_case.excursion_above_ns.unwrap_or_default();
    let Ok(compared) = compare_repeats(&Arms { unmitigated: &unmitigated, mitigated: &mitigated, threshold_ns }) else {
        return (BesideA::CannotTell, "nothing to compare".into());
    };
    // Each run has its own threshold: events above different levels are different things.
    let same_threshold = match (a_case.excursion_above_ns, b_case.excursion_above_ns) {
        (Some(a), Some(b)) => (a - b).abs() <= 0.05 * a,
        _ => false,
    };
    let rates = if same_threshold { compared.rates.answer } else { EffectDirection::NotShown };
    let said = [word("excursions", rates), word("maxima", compared.maxima.answer)];
    let said: Vec<_> = said.into_iter().flatten().collect();
    let is_worse = [rates, compared.maxima.answer].contains(&EffectDirection::Worse);
    let kind = match (said.is_empty(), is_worse) {
        (true, _) => VerdictKind::NoDifferenceShown,
        (false, true) => VerdictKind::Worse,
        (false, false) => VerdictKind::Better,
    };
    if hidden_by_empty_repeats(&compared, kind).is_some() {
        return (BesideA::CannotTell, "cannot tell: no sample ended in some repeats".into());
    }
    match (kind, what_was_lacking(&compared)) {
        (VerdictKind::Better, _) => (BesideA::Better, said.join(", ")),
        (VerdictKind::Worse, _) => (BesideA::Worse, said.join(", ")),
        (_, Some(_)) => {
            let (a, b) = compared.repeats;
            (BesideA::CannotTell, format!("cannot tell from {a} v {b} repeats"))
        }
        (_, None) => (BesideA::NoDifferenceShown, "no difference shown".into()),
    }
}

fn word(what: &str, answer: EffectDirection) -> Option<String> {
    match answer {
        EffectDirection::Better => Some(format!("{what} lower")),
        EffectDirection::Worse => Some(format!("{what} higher")),
        EffectDirection::NotShown => None,
    }
}
