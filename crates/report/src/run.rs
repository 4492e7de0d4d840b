//! A run as text: headline, table, what it shows, what a reader must know.

use waykeeper_experiment::run::{CaseRecord, Privilege, Reference, Run};

use crate::figure::{count, ratio, scaled, seconds, time};
use crate::headline::headline;
use crate::table::{columns, table};

/// The whole report of a run.
pub fn run(run: &Run) -> String {
    let sections = [
        Some(headline(run)),
        Some(cases(run)),
        references(run),
        neighbours(run),
        verdicts(run),
        budgets(run),
        simulation(run),
        disturbances(run),
        refusals(run),
        (!run.notes.is_empty()).then(|| run.notes.join("\n")),
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
        case.verdict.as_ref().map(|verdict| verdict.kind.to_string()).unwrap_or_default(),
    ]
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
    let rows: Vec<Vec<String>> = with
        .iter()
        .map(|(case, reference)| {
            let figure = |name: &str, own: Option<f64>, published: Option<f64>| {
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
    let legend = "`imposed`: the figure was put into the model and agrees by construction; `fitted`: a parameter was chosen for it. Neither is evidence.";
    Some(format!("{}\npublished: {source}\n{legend}", table(&columns, &rows)))
}

fn judged_ratio(reference: &Reference, figure: &str, own: Option<f64>, published: Option<f64>) -> String {
    let ratio = own.zip(published).map(|(own, published)| ratio(Some(own / published))).unwrap_or_default();
    let lists = |list: &[String]| list.iter().any(|name| name == figure);
    match () {
        () if ratio.is_empty() => ratio,
        () if lists(&reference.imposed) => "imposed".into(),
        () if lists(&reference.fitted) => format!("{ratio} fitted"),
        () => ratio,
    }
}

fn neighbours(run: &Run) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    for case in run.cases.iter().filter(|case| case.mitigation == waykeeper_experiment::mitigation::NONE) {
        for neighbour in &case.neighbours {
            let rate = neighbour
                .accesses_per_s
                .zip(neighbour.bytes_per_s)
                .map(|(accesses, bytes)| format!(" ({}, {})", scaled(accesses, "accesses/s"), scaled(bytes, "B/s")));
            let judged = match neighbour.effective {
                Some(true) => "effective",
                Some(false) => "NOT EFFECTIVE",
                None => "effect unknown",
            };
            lines.push(format!("  {}, {}{}: {judged}", case.name, neighbour.workload, rate.unwrap_or_default()));
        }
        if let Some(effect) = case.neighbours.first().and_then(|neighbour| neighbour.effect.as_ref()) {
            lines.push(format!("    {effect}"));
        }
    }
    (!lines.is_empty()).then(|| format!("neighbours\n{}", lines.join("\n")))
}

fn verdicts(run: &Run) -> Option<String> {
    let texts: Vec<_> = run
        .cases
        .iter()
        .filter_map(|case| case.verdict.as_ref().map(|verdict| format!("  {}: {}", case.name, verdict.text)))
        .collect();
    (!texts.is_empty()).then(|| format!("verdicts, compared with no mitigation\n{}", texts.join("\n")))
}

fn budgets(run: &Run) -> Option<String> {
    let texts: Vec<_> =
        run.budgets.iter().map(|judged| format!("  {} for {}: {}", judged.budget, judged.case, judged.text)).collect();
    (!texts.is_empty()).then(|| format!("budgets\n{}", texts.join("\n")))
}

fn simulation(run: &Run) -> Option<String> {
    let total = |of: fn(&CaseRecord) -> Option<f64>| run.cases.iter().filter_map(of).sum::<f64>();
    let (simulated, wall) = (total(|case| case.simulated_s), total(|case| case.wall_s));
    let accesses = total(|case| case.accesses.map(|n| n as f64));
    (wall > 0.0).then(|| {
        format!(
            "simulated {} in {} of engine time: {}",
            seconds(simulated),
            seconds(wall),
            scaled(accesses / wall, "accesses/s")
        )
    })
}

/// What else disturbed the target, as rates over all repeats of a case; only what was there.
fn disturbances(run: &Run) -> Option<String> {
    const SHOWN: [(&str, &str); 9] = [
        ("interrupts", "interrupts"),
        ("nmis", "NMIs"),
        ("smis", "SMIs"),
        ("involuntary_switches", "preemptions"),
        ("voluntary_switches", "waits"),
        ("minor_faults", "page faults"),
        ("major_faults", "major page faults"),
        ("steal_ms", "ms stolen by the hypervisor"),
        ("thermal_throttles", "thermal throttles"),
    ];
    let lines: Vec<String> = run
        .cases
        .iter()
        .filter_map(|case| {
            let sum = |name: &str| case.repeats.iter().filter_map(|repeat| repeat.disturbances.get(name)).sum::<f64>();
            let found: Vec<_> = SHOWN
                .iter()
                .filter(|(name, _)| sum(name) > 0.0)
                .map(|(name, word)| format!("{} {word}", scaled(sum(name), "")))
                .collect();
            (!found.is_empty()).then(|| format!("  {}: {}", case.name, found.join(", ")))
        })
        .collect();
    (!lines.is_empty()).then(|| format!("what else happened on the target's core\n{}", lines.join("\n")))
}

fn refusals(run: &Run) -> Option<String> {
    let mut lines: Vec<String> =
        run.refused.iter().map(|refused| format!("  {}: {}", refused.what, refused.why)).collect();
    let denied = |privilege: &&Privilege| !privilege.granted;
    lines.extend(
        run.privileges.iter().filter(denied).map(|privilege| format!("  {}: {}", privilege.what, privilege.detail)),
    );
    (!lines.is_empty()).then(|| format!("not to be had here\n{}", lines.join("\n")))
}
