//! What a person reads: the table, then each channel with how it is known.

use std::cmp::Ordering;

use waykeeper_doctor::Outcome;
use waykeeper_experiment::mitigation::NONE;
use waykeeper_report::figure::{ratio, seconds};
use waykeeper_report::table::{columns, table};
use waykeeper_report::text::{paragraph, section};
use waykeeper_statistics::{digits, limits};

use crate::runs::NO_RUN;
use crate::table::{ChannelAnswer, ChannelExercise, ChannelRow, ChannelTable, PolicyStanding};

/// So many settings of a policy are shown for a channel; JSON has all.
const SHOWN: usize = 4;

/// The table as text.
pub fn text(of: &ChannelTable) -> String {
    let columns = columns(&[
        ("channel", false),
        ("present", false),
        ("reduced", false),
        ("exercised", false),
        ("slowdown", true),
        ("at 95 %", false),
        ("beside", false),
    ]);
    let row = |row: &ChannelRow| {
        let worst = worst(row);
        let of_worst = |show: fn(&ChannelExercise) -> String| worst.map(show).unwrap_or_default();
        vec![
            row.name.clone(),
            word(row.present.answer).to_owned(),
            word(row.reduced.answer).to_owned(),
            word(row.exercised.answer).to_owned(),
            of_worst(|it| ratio(it.slowdown)),
            of_worst(interval),
            of_worst(beside),
        ]
    };
    let rows: Vec<Vec<String>> = of.channels.iter().map(row).collect();
    let parts = [
        Some(head(of)),
        Some(table(&columns, &rows)),
        Some(of.channels.iter().map(|row| details(row, !of.runs.is_empty())).collect::<Vec<_>>().join("\n\n")),
        section("left open by the policy", of.left_open.clone()),
        section("notes", of.notes.clone()),
        section("assumptions of use", of.assumptions.clone()),
        section("known anomalies", of.anomalies.clone()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n") + "\n"
}

/// The unmitigated case with the largest slowdown; of all cases where none is unmitigated.
fn worst(row: &ChannelRow) -> Option<&ChannelExercise> {
    let of = |unmitigated: bool| {
        let by = row.exercised.by.iter().filter(|it| !unmitigated || it.mitigation == NONE);
        by.filter(|it| it.slowdown.is_some())
            .max_by(|a, b| a.slowdown.partial_cmp(&b.slowdown).unwrap_or(Ordering::Equal))
    };
    of(true).or_else(|| of(false))
}

fn interval(of: &ChannelExercise) -> String {
    of.interval.map(|[low, high]| limits(low, high, 3)).unwrap_or_default()
}

fn beside(of: &ChannelExercise) -> String {
    of.neighbours.join(" ")
}

fn word(answer: ChannelAnswer) -> &'static str {
    match answer {
        ChannelAnswer::Yes => "yes",
        ChannelAnswer::No => "no",
        ChannelAnswer::NotSeen => "not seen",
    }
}

fn head(of: &ChannelTable) -> String {
    let called = of.called.as_ref().map(|called| format!(" ({called})")).unwrap_or_default();
    let file = if of.is_platform_file { "platform " } else { "" };
    let policy = match &of.policy {
        PolicyStanding::Planned { policy, form } => format!("plan of {policy}, as {form}"),
        PolicyStanding::Applied { policy, since } => format!("{policy}, applied {since}; it reads as it was written"),
        PolicyStanding::Uncertain { policy, why } => format!("{policy}, which is not known to hold: {why}"),
        PolicyStanding::None { why } => format!("none; {why}"),
        PolicyStanding::NotSeen { why } => format!("not seen: {why}"),
    };
    let runs = of.runs.iter().map(|run| {
        let kind = if run.is_simulated { ", simulated" } else { "" };
        let cut = if run.cut_short { ", cut short" } else { "" };
        let length = format!("{} repeats of {}", run.repeats, seconds(run.duration_s));
        format!("run: {}: {}, {}, {length}{kind}{cut}", run.run, run.experiment, run.started)
    });
    let none = of.runs.is_empty().then(|| format!("runs: {NO_RUN}"));
    let lines = [format!("interference channels of {file}{}{called}", of.place), format!("policy: {policy}")];
    lines.into_iter().chain(none).chain(runs).map(|line| paragraph(&line, "  ")).collect::<Vec<_>>().join("\n")
}

/// How a channel is known. That no run was named stands above, once.
fn details(row: &ChannelRow, has_runs: bool) -> String {
    let mut lines = vec![paragraph(&format!("{}: {}", row.name, row.how), "  ")];
    let mut add = |label: &str, text: String| {
        lines.push(paragraph(&format!("  {label:<11} {text}"), "              "));
    };
    for known in &row.present.known_by {
        add(word(row.present.answer), format!("{}: {}", known.by, known.says));
    }
    for check in &row.checks {
        let outcome = match check.outcome {
            Outcome::Found => "found",
            Outcome::Fine => "fine",
            Outcome::NotSeen => "not seen",
        };
        add("doctor", format!("{}: {outcome}: {}", check.id, check.what));
    }
    for setting in row.reduced.settings.iter().take(SHOWN) {
        let about = if setting.about.is_empty() { String::new() } else { format!(" ({})", setting.about) };
        add("reduced by", format!("{}{about}", setting.write));
    }
    if row.reduced.settings.len() > SHOWN {
        add("reduced by", format!("{} more settings; --json lists all", row.reduced.settings.len() - SHOWN));
    }
    for exercise in by_slowdown(&row.exercised.by).into_iter().take(SHOWN) {
        add(if exercise.shows() { "exercised" } else { "not seen" }, exercised(exercise));
    }
    if row.exercised.by.len() > SHOWN {
        add("exercised", format!("in {} more cases; --json lists all", row.exercised.by.len() - SHOWN));
    }
    let can = &row.exercised.can;
    if row.exercised.answer == ChannelAnswer::NotSeen && has_runs {
        add("exercised", format!("not seen: {}", row.exercised.why));
    }
    match (&row.external, can.is_empty()) {
        (_, false) if row.exercised.by.is_empty() => {
            add("exercise", format!("bundled workloads that can: {}", can.join(", ")))
        }
        (Some(external), true) => add("exercise", format!("`--measure` has no workload for it; needed: {external}")),
        _ => {}
    }
    add("not covered", row.not_covered.join("; "));
    lines.join("\n")
}

/// The largest first.
fn by_slowdown(by: &[ChannelExercise]) -> Vec<&ChannelExercise> {
    let mut sorted: Vec<&ChannelExercise> = by.iter().collect();
    sorted.sort_by(|a, b| b.slowdown.partial_cmp(&a.slowdown).unwrap_or(Ordering::Equal));
    sorted
}

/// What a case shows of a channel.
fn exercised(of: &ChannelExercise) -> String {
    let slowdown = match (of.slowdown, interval(of)) {
        (Some(_), text) if !text.is_empty() => {
            format!("{} ({text} at 95 %, {} repeats)", ratio(of.slowdown), of.repeats)
        }
        (Some(_), _) => format!("{} (no interval: {})", ratio(of.slowdown), of.no_interval.clone().unwrap_or_default()),
        (None, _) => "no slowdown: the target was not measured alone".to_owned(),
    };
    let counters = of
        .counters
        .iter()
        .map(|it| format!("{} {} -> {} a second", it.name, digits(it.alone_per_s, 3), digits(it.beside_per_s, 3)));
    let effect = match of.effective {
        Some(true) => "the neighbours had an effect",
        Some(false) => "the neighbours had no effect that shows",
        None => "whether the neighbours had an effect is not known",
    };
    let counters: Vec<String> = counters.collect();
    let counters = if counters.is_empty() { "no counter of it in the run".into() } else { counters.join(", ") };
    let also = if of.also.is_empty() { String::new() } else { format!("; inseparable from {}", of.also.join(", ")) };
    let (target, beside, mitigation) = (&of.target, beside(of), &of.mitigation);
    format!("{slowdown}: {target} beside {beside}, mitigation {mitigation}; {effect}; {counters}{also}")
}
