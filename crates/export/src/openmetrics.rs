//! OpenMetrics for the textfile collector of Prometheus' node_exporter. The same file reads as the older text format of
//! Prometheus: all metrics are gauges, and none has a time stamp, which the collector refuses.
//!
//! Names and labels are kept by later versions. Labels are the experiment, the case, the budget, and fixed words.

use std::fmt::Write as _;

use waykeeper_report::shown::one_line;
use waykeeper_run::{CaseRecord, Met, Run};
use waykeeper_statistics::JudgementKind;

use crate::NotExported;

/// More cases than this would be more time series than a monitoring server should take from one file.
pub const MOST_CASES: usize = 500;

/// Labels, each a name and a value.
type Labels<'l> = Vec<(&'static str, &'l str)>;

/// The figure of a case, in the unit of its metric.
type Figure = fn(&CaseRecord) -> Option<f64>;

/// A histogram that was imported does not say them.
const MISSED_PERIODS: &str = "waykeeper_case_missed_periods";

/// Figures of a case: name, unit, help.
const OF_CASES: [(&str, &str, &str, Figure); 9] = [
    ("waykeeper_case_samples", "", "Samples of the target.", |case| Some(case.samples as f64)),
    (
        "waykeeper_case_run_length_seconds",
        "seconds",
        "Time in which the target was observed. The maximum belongs to it and bounds nothing.",
        |case| Some(case.run_length_s),
    ),
    ("waykeeper_case_min_seconds", "seconds", "Smallest sample.", |case| seconds(case.min_ns)),
    ("waykeeper_case_mean_seconds", "seconds", "Mean of the samples.", |case| seconds(case.mean_ns)),
    (
        "waykeeper_case_max_seconds",
        "seconds",
        "Largest sample seen within waykeeper_case_run_length_seconds. It bounds nothing.",
        |case| seconds(case.max_ns),
    ),
    ("waykeeper_case_slowdown_ratio", "ratio", "Mean over the mean without neighbours.", |case| case.slowdown),
    ("waykeeper_case_bandwidth_bytes_per_second", "", "Bytes a second of the target.", |case| {
        case.bandwidth_bytes_per_s
    }),
    ("waykeeper_case_excursion_events", "", "Separate events above the case's threshold.", |case| {
        case.excursion_above_ns.map(|_| case.excursion_events as f64)
    }),
    (MISSED_PERIODS, "", "Periods in which no pass began.", |case| Some(case.missed_periods as f64)),
];

/// Quantiles of a case.
const QUANTILES: [(&str, Figure); 4] = [
    ("0.5", |case| seconds(case.p50_ns)),
    ("0.99", |case| seconds(case.p99_ns)),
    ("0.999", |case| seconds(case.p99_9_ns)),
    ("0.9999", |case| seconds(case.p99_99_ns)),
];

/// The metrics of a run.
///
/// # Errors
/// A run of more than [`MOST_CASES`] cases.
pub fn openmetrics(run: &Run) -> Result<String, NotExported> {
    if run.cases.len() > MOST_CASES {
        return Err(NotExported(format!(
            "found {} cases; expected {MOST_CASES} at most, since each case is several time series: `--format csv` has all",
            run.cases.len()
        )));
    }
    let mut text = Text::default();
    of_run(&mut text, run);
    for (name, unit, help, figure) in OF_CASES {
        text.family(name, unit, help);
        for case in &run.cases {
            let is_known = run.imported.is_none() || name != MISSED_PERIODS;
            text.sample(name, &of_case(run, case), figure(case).filter(|_| is_known));
        }
    }
    let name = "waykeeper_case_quantile_seconds";
    text.family(name, "seconds", "Quantiles of the samples, where there are enough of them.");
    for case in &run.cases {
        for (quantile, figure) in QUANTILES {
            let mut labels = of_case(run, case);
            labels.push(("quantile", quantile));
            text.sample(name, &labels, figure(case));
        }
    }
    budgets(&mut text, run);
    expectations(&mut text, run);
    Ok(text.0 + "# EOF\n")
}

fn of_run(text: &mut Text, run: &Run) {
    let executor = run.executor.to_string();
    text.family("waykeeper_run_info", "", "What was run.");
    let labels = vec![
        ("experiment", run.experiment.as_str()),
        ("platform", &run.platform),
        ("executor", &executor),
        ("version", &run.tool.version),
        ("started", &run.started),
    ];
    text.sample("waykeeper_run_info", &labels, Some(1.0));
    let of_run = vec![("experiment", run.experiment.as_str())];
    for (name, help, value) in [
        (
            "waykeeper_run_cut_short",
            "1 if the run was interrupted, or has not ended.",
            f64::from(u8::from(run.cut_short)),
        ),
        ("waykeeper_run_refusals", "What this place could not do.", run.refused.len() as f64),
    ] {
        text.family(name, "", help);
        text.sample(name, &of_run, Some(value));
    }
}

/// One sample for each outcome that a budget can have: 1 for the one that it had.
fn budgets(text: &mut Text, run: &Run) {
    const OUTCOMES: [(&str, JudgementKind); 3] = [
        ("broken", JudgementKind::Broken),
        ("not_seen_broken", JudgementKind::NotSeenBroken),
        ("too_thin", JudgementKind::TooThin),
    ];
    let name = "waykeeper_budget_outcome";
    text.family(name, "", "1 for how a budget ended for a case, 0 for the other outcomes.");
    for judged in &run.budgets {
        for (outcome, kind) in OUTCOMES {
            let labels = vec![
                ("experiment", run.experiment.as_str()),
                ("case", &judged.case),
                ("budget", &judged.budget),
                ("outcome", outcome),
            ];
            text.sample(name, &labels, Some(f64::from(u8::from(judged.kind == kind))));
        }
    }
}

fn expectations(text: &mut Text, run: &Run) {
    const OUTCOMES: [(&str, Met); 3] = [("met", Met::Met), ("not_met", Met::NotMet), ("cannot_tell", Met::CannotTell)];
    let name = "waykeeper_expectations";
    text.family(name, "", "Statements of the experiment, by how they ended.");
    for (outcome, kind) in OUTCOMES {
        let count = run.expectations.iter().filter(|record| record.kind == kind).count();
        let labels = vec![("experiment", run.experiment.as_str()), ("outcome", outcome)];
        text.sample(name, &labels, Some(count as f64));
    }
}

fn of_case<'r>(run: &'r Run, case: &'r CaseRecord) -> Labels<'r> {
    vec![("experiment", run.experiment.as_str()), ("case", &case.name)]
}

fn seconds(ns: Option<f64>) -> Option<f64> {
    ns.map(|ns| ns / 1e9)
}

/// The text so far. A family whose samples are all absent is a heading alone, which both formats take.
#[derive(Default)]
pub(crate) struct Text(pub(crate) String);

impl Text {
    pub(crate) fn family(&mut self, name: &str, unit: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} gauge");
        if !unit.is_empty() {
            let _ = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {name} {help}");
    }

    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}=\"{}\"", label(value))).collect();
        let _ = writeln!(self.0, "{name}{{{}}} {value}", labels.join(","));
    }
}

/// The value of a label: one line, with backslashes and quotes as escapes.
fn label(value: &str) -> String {
    one_line(value).replace('\\', r"\\").replace('"', "\\\"")
}
