//! What a person reads of a hunt.

use waykeeper_experiment::site::ExecutorKind;
use waykeeper_report::figure::{counted, ratio, seconds, three_digits};
use waykeeper_report::table::{columns, table};
use waykeeper_report::text::paragraph;

use super::record::{Candidate, HuntRecord};

/// The result as text.
pub fn text(hunted: &HuntRecord) -> String {
    let cores: Vec<String> = hunted.cores.iter().map(ToString::to_string).collect();
    let mut lines = vec![format!(
        "{} on {}: {} beside one workload on each of the cores {}; {} of the target; {} tried in {}",
        hunted.experiment,
        hunted.platform,
        hunted.target,
        cores.join(", "),
        hunted.objective,
        counted(hunted.tried, "neighbour", "neighbours"),
        seconds(hunted.took_s.round().max(1.0))
    )];
    lines.extend(worst(hunted));
    let mut text: String = lines.iter().map(|line| paragraph(line, "  ") + "\n").collect();
    let rows: Vec<Vec<String>> = hunted.candidates.iter().map(|candidate| row(hunted, candidate)).collect();
    let columns =
        columns(&[("neighbour", false), ("", false), ("repeats", true), ("slowdown", true), ("95 % interval", true)]);
    text += &format!("\n{}\n\n", table(&columns, &rows));
    for note in notes(hunted) {
        text += &(paragraph(&note, "  ") + "\n");
    }
    text
}

fn worst(hunted: &HuntRecord) -> Vec<String> {
    let Some(found) = hunted.candidates.iter().find(|candidate| candidate.bundled.is_none()) else {
        return vec!["Nothing was found beside the bundled neighbours.".into()];
    };
    let mut lines = vec![format!("Worst neighbour found: {}: {}.", found.called, ratio(Some(found.mean)))];
    let bundled = hunted.candidates.iter().find(|candidate| candidate.bundled.is_some());
    if let (Some(bundled), Some([mean, low, high])) = (bundled, hunted.over_bundled) {
        let name = bundled.bundled.as_deref().unwrap_or_default();
        let over = format!("{} ({} to {} at 95 %)", three_digits(mean), three_digits(low), three_digits(high));
        lines.push(match (low > 1.0, high < 1.0) {
            (true, _) => format!("  worse than the worst bundled one, `{name}`: {over} times its figure"),
            (_, true) => format!("  the bundled `{name}` is worse: the one found has {over} times its figure"),
            _ => format!("  no difference shown to the worst bundled one, `{name}`: {over} times its figure"),
        });
    }
    lines
}

fn row(hunted: &HuntRecord, candidate: &Candidate) -> Vec<String> {
    let [low, high] = candidate.interval;
    vec![
        candidate.bundled.clone().unwrap_or_else(|| candidate.called.clone()),
        standing(hunted, candidate).to_owned(),
        candidate.ratios.len().to_string(),
        ratio(Some(candidate.mean)),
        format!("{} to {}", three_digits(low), three_digits(high)),
    ]
}

fn standing(hunted: &HuntRecord, candidate: &Candidate) -> &'static str {
    match &candidate.bundled {
        Some(name) if hunted.also.contains(name) => "bundled, unfair",
        Some(_) => "bundled",
        None => "found",
    }
}

fn notes(hunted: &HuntRecord) -> Vec<String> {
    let from = if hunted.cut_short {
        "The hunt was cut short: the figures are from the repeats that chose the candidates, so the best ones look better than they are."
    } else {
        "The figures are from fresh repeats, which chose none of the candidates."
    };
    let mut notes = vec![
        from.to_owned(),
        "A worse neighbour may exist: only patterns of accesses were tried, the same on all cores, without lines shared \
         with the target."
            .to_owned(),
    ];
    if !hunted.also.is_empty() {
        notes.push(format!(
            "Unfair neighbours were tried ({}): they can stall all cores, and programs that run beside others do not do so.",
            hunted.also.join(", ")
        ));
    }
    notes.extend(hunted.split_locks.as_ref().map(|what| format!("Split locks: {what}.")));
    if hunted.executor == ExecutorKind::Sim {
        notes.push("Simulated: a candidate to be confirmed on the machine.".into());
    }
    notes
}
