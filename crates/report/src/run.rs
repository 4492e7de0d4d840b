//! A run as text: headline, tables, what they show, what a reader must know.

use waykeeper_experiment::layout::{CaseMetric, CaseUnit};
use waykeeper_run::{CaseRecord, ClockRecord, Run};
use waykeeper_statistics::Verdict;

use crate::figure::{count, ratio, run_length, sample, time};
use crate::headline::headline;
use crate::longest::longest;
use crate::matrix::matrix;
use crate::metric::figure;
use crate::peaks::peaks;
use crate::references::references;
use crate::sections;
use crate::shapes::shapes;
use crate::shown::for_showing;
use crate::table::{columns, table};
use crate::text::section;

/// How much of a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// What the experiment is about: of sweeps the grid.
    #[default]
    Ordinary,
    /// Every case, also of sweeps.
    EveryCase,
}

/// The whole report of a run. Its texts are shown as in [`for_showing`].
pub fn run(run: &Run, detail: Detail) -> String {
    let run = &for_showing(run);
    // What is said of each case would hide the grid of a sweep.
    let of_cases = run.sweeps.is_empty() || detail == Detail::EveryCase;
    let sections = [
        Some(headline(run)),
        matrix(run),
        of_cases.then(|| cases(run)),
        references(run),
        section("expected", sections::expectations(run)),
        shapes(run),
        longest(run),
        section("the last shared cache, over time", sections::occupancy(run)),
        section("neighbours", if of_cases { sections::neighbours(run) } else { sections::neighbours_in_short(run) }),
        section("verdicts, compared with no mitigation", if of_cases { sections::verdicts(run) } else { Vec::new() }),
        section("peaks over time", peaks(run)),
        section("budgets", sections::budgets(run)),
        section("simulation", sections::simulation(run)),
        section("other events on the target's core", sections::disturbances(run)),
        section("unavailable on this machine", sections::refusals(run)),
        section("notes", sections::notes(run, of_cases)),
    ];
    sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n") + "\n"
}

fn cases(run: &Run) -> String {
    let columns = columns(&[
        ("case", false),
        ("misses", true),
        ("bandwidth", true),
        ("all cores", true),
        ("samples", true),
        ("min", true),
        ("mean", true),
        ("p50", true),
        ("p99", true),
        ("p99.9", true),
        ("p99.99", true),
        ("max", true),
        ("seen in", true),
        ("slowdown", true),
        ("cost", true),
        ("overflow", true),
        ("verdict", false),
    ]);
    let metric = run.table.as_ref().map(|table| table.metric).unwrap_or_default();
    let rows: Vec<_> = run.cases.iter().map(|case| case_row(case, metric, &run.clock)).collect();
    table(&columns, &rows)
}

fn case_row(case: &CaseRecord, metric: CaseMetric, clock: &ClockRecord) -> Vec<String> {
    let bandwidth = metric.unit() == CaseUnit::Bandwidth;
    let of = |shown: bool, metric: CaseMetric| if shown { figure(metric, case.figure(metric)) } else { String::new() };
    vec![
        case.name.clone(),
        of(metric == CaseMetric::Misses, CaseMetric::Misses),
        of(bandwidth, CaseMetric::Bandwidth),
        of(bandwidth, CaseMetric::TotalBandwidth),
        if case.samples > 0 { count(case.samples) } else { String::new() },
        sample(case.min_ns, clock.step_ns()),
        time(case.mean_ns),
        sample(case.p50_ns, clock.step_ns()),
        sample(case.p99_ns, clock.step_ns()),
        sample(case.p99_9_ns, clock.step_ns()),
        sample(case.p99_99_ns, clock.step_ns()),
        sample(case.max_ns, clock.step_ns()),
        run_length(case.run_length_s),
        ratio(case.slowdown),
        ratio(case.cost),
        if case.overflow > 0 { count(case.overflow) } else { String::new() },
        case.verdict.as_ref().map(verdict_in_short).unwrap_or_default(),
    ]
}

/// What the verdict's text says before its figures: `better in the maxima`; `cannot tell` without its reason.
fn verdict_in_short(verdict: &Verdict) -> String {
    let before = verdict.text.split([':', ',']).next().unwrap_or_default();
    if before.starts_with(&verdict.kind.to_string()) { before.into() } else { verdict.kind.to_string() }
}
