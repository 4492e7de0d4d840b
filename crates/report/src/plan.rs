//! The plan of a dry run: which cases, where, for how long, and what is refused.

use waykeeper_experiment::cases::{Case, Plan, Purpose};
use waykeeper_experiment::site::Site;
use waykeeper_platform::{CoreId, format_cpulist};

use crate::figure::seconds;
use crate::table::{columns, table};

/// The plan as text.
pub fn plan(plan: &Plan, site: &Site, duration_s: f64, repeats: u32) -> String {
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
                format!("{repeats} x {}", seconds(duration_s)),
            ]
        })
        .collect();
    let total = duration_s * f64::from(repeats) * rows.len() as f64;
    let kind = match site.executor {
        waykeeper_experiment::site::ExecutorKind::Host => {
            "of measuring, and about half a second for each measurement to set up"
        }
        waykeeper_experiment::site::ExecutorKind::Sim => "of simulated time",
    };
    let sentinels = plan.cases.len() - rows.len();
    let mut text = table(&columns, &rows);
    text += &format!("\n\n{} cases on {}: {} {kind}", rows.len(), site.called, seconds(total));
    if sentinels > 0 {
        text += &format!("; {sentinels} short sentinel cases beside them");
    }
    text.push('\n');
    for (called, sampling) in sampled(plan) {
        text += &format!("a pass of {called} is estimated from {sampling}\n");
    }
    if !plan.refused.is_empty() {
        text += "\nwould be refused\n";
        for refused in &plan.refused {
            text += &format!("  {}: {}\n", refused.what, refused.why);
        }
    }
    text
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
