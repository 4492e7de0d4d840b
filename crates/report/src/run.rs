//! A run as text: headline, tables, what they show, what a reader must know.

use waykeeper_experiment::run::{CaseRecord, Reference, Run};
use waykeeper_experiment::statistics::Verdict;

use crate::figure::{count, ratio, seconds, time};
use crate::headline::headline;
use crate::sections;
use crate::table::{columns, table};
use crate::text::{paragraph, section};

/// The whole report of a run.
pub fn run(run: &Run) -> String {
    let sections = [
        Some(headline(run)),
        Some(cases(run)),
        references(run),
        section("neighbours", sections::neighbours(run)),
        section("verdicts, compared with no mitigation", sections::verdicts(run)),
        section("budgets", sections::budgets(run)),
        section("simulation", sections::simulation(run)),
        section("what else happened on the target's core", sections::disturbances(run)),
        section("not to be had here", sections::refusals(run)),
        section("notes", run.notes.clone()),
    ];
    sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n") + "\n"
}

fn cases(run: &Run) -> String {
    let columns = columns(&[
        ("case", false),
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
    let rows: Vec<_> = run.cases.iter().map(case_row).collect();
    table(&columns, &rows)
}

fn case_row(case: &CaseRecord) -> Vec<String> {
    vec![
        case.name.clone(),
        count(case.samples),
        time(case.min_ns),
        time(case.mean_ns),
        time(case.p50_ns),
        time(case.p99_ns),
        time(case.p99_9_ns),
        time(case.p99_99_ns),
        time(case.max_ns),
        seconds(case.run_length_s),
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

fn references(run: &Run) -> Option<String> {
    let with: Vec<(&CaseRecord, &Reference)> =
        run.cases.iter().filter_map(|case| Some((case, case.reference.as_ref()?))).collect();
    let source = &with.first()?.1.source;
    let columns = columns(&[
        ("beside the published figures", false),
        ("min", true),
        ("published", true),
        ("ratio", true),
        ("mean", true),
        ("published", true),
        ("ratio", true),
        ("max", true),
        ("seen in", true),
        ("published", true),
        ("seen in", true),
        ("ratio", true),
    ]);
    let imposed_everywhere = |name: &str| with.iter().all(|(_, reference)| lists(&reference.imposed, name));
    let rows: Vec<Vec<String>> = with
        .iter()
        .map(|(case, reference)| {
            let figure = |name: &str, own: Option<f64>, published: Option<f64>| {
                if imposed_everywhere(name) {
                    return [String::new(), String::new(), String::new()];
                }
                let own = published.and(own);
                [time(own), time(published), judged_ratio(reference, name, own, published)]
            };
            let [min, min_published, min_ratio] = figure("min_ns", case.min_ns, reference.min_ns);
            let [mean, mean_published, mean_ratio] = figure("mean_ns", case.mean_ns, reference.mean_ns);
            let [max, max_published, max_ratio] = figure("max_ns", case.max_ns, reference.max_ns);
            let published_length = reference.run_length_s.map(|s| format!("{s} s")).unwrap_or_default();
            vec![
                case.name.clone(),
                min,
                min_published,
                min_ratio,
                mean,
                mean_published,
                mean_ratio,
                max,
                seconds(case.run_length_s),
                max_published,
                published_length,
                max_ratio,
            ]
        })
        .collect();
    let mut legend =
        "`imposed`: the figure was put into the model and agrees by construction; `fitted`: a parameter was \
                      chosen for it. Neither is evidence."
            .to_owned();
    if imposed_everywhere("min_ns") {
        legend += " The minimum is imposed in every row.";
    }
    Some(format!("{}\n{}", table(&columns, &rows), paragraph(&format!("published: {source}. {legend}"), "")))
}

fn lists(list: &[String], figure: &str) -> bool {
    list.iter().any(|name| name == figure)
}

fn judged_ratio(reference: &Reference, figure: &str, own: Option<f64>, published: Option<f64>) -> String {
    let ratio = own.zip(published).map(|(own, published)| ratio(Some(own / published))).unwrap_or_default();
    match () {
        () if ratio.is_empty() => ratio,
        () if lists(&reference.imposed, figure) => "imposed".into(),
        () if lists(&reference.fitted, figure) => format!("{ratio} fitted"),
        () => ratio,
    }
}
