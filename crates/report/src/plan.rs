//! The plan of a dry run: which cases, where, for how long, and what is refused.

use waykeeper_experiment::cases::{Case, Plan, Purpose};
use waykeeper_experiment::site::Site;
use waykeeper_platform::{CoreId, format_cpulist};

use crate::figure::seconds;
use crate::length::Length;
use crate::shown::one_line;
use crate::table::{columns, table};

/// The plan as text.
pub fn plan(plan: &Plan, site: &Site, length: Length) -> String {
    let columns =
        columns(&[("case", false), ("target", false), ("neighbours", false), ("mitigation", false), ("length", true)]);
    let rows: Vec<Vec<String>> = plan
        .cases
        .iter()
        .filter(|case| case.purpose == Purpose::Case)
        .map(|case| {
            vec![
                case.name.clone(),
                format!("{}@{}", case.target.called(), case.target.core),
                neighbours(case),
                case.mitigation.clone(),
                of_case(case, length).to_string(),
            ]
        })
        .collect();
    let total = seconds(length.duration_s * f64::from(length.repeats) * rows.len() as f64);
    let ends_before = |case: &Case| case.purpose == Purpose::Case && of_case(case, length).samples.is_some();
    let at_most = if plan.cases.iter().any(ends_before) { "at most " } else { "" };
    let kind = match site.executor {
        waykeeper_experiment::site::ExecutorKind::Host => {
            "of measuring, and about half a second for each measurement to set up"
        }
        waykeeper_experiment::site::ExecutorKind::Sim => "of simulated time",
    };
    let sentinels = plan.cases.len() - rows.len();
    let mut text = table(&columns, &rows);
    text += &format!("\n\n{} cases on {}: {at_most}{total} {kind}", rows.len(), one_line(&site.called));
    if sentinels > 0 {
        text += &format!("; {sentinels} short sentinel cases beside them");
    }
    text.push('\n');
    for (called, sampling) in sampled(plan) {
        text += &format!("a pass of {} is estimated from {sampling}\n", one_line(&called));
    }
    if !plan.refused.is_empty() {
        text += "\nwould be refused\n";
        for refused in &plan.refused {
            text += &format!("  {}: {}\n", one_line(&refused.what), one_line(&refused.why));
        }
    }
    text
}

/// Where throughput counts there are no samples to end with.
fn of_case(case: &Case, length: Length) -> Length {
    if case.throughput { length.without_samples() } else { length }
}

/// The targets whose passes are measured in windows, each once.
fn sampled(plan: &Plan) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> = Vec::new();
    for case in &plan.cases {
        let Some(sampling) = case.sampled else { continue };
        let entry = (case.target.called(), sampling.to_string());
        if !list.contains(&entry) {
            list.push(entry);
        }
    }
    list
}

/// A case's neighbours, each workload once with its cores: `way_hammer@2-3`.
fn neighbours(case: &Case) -> String {
    let mut workloads: Vec<(String, Vec<CoreId>)> = Vec::new();
    for neighbour in &case.neighbours {
        let called = neighbour.called().to_string();
        match workloads.iter_mut().find(|(known, _)| *known == called) {
            Some((_, cores)) => cores.push(neighbour.core),
            None => workloads.push((called, vec![neighbour.core])),
        }
    }
    let named = workloads.into_iter().map(|(called, mut cores)| {
        cores.sort_unstable();
        format!("{called}@{}", format_cpulist(&cores))
    });
    named.collect::<Vec<_>>().join(" ")
}
