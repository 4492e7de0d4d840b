//! What a person reads: the table, then each channel with how it is known.

use waykeeper_doctor::Outcome;
use waykeeper_report::table::{columns, table};
use waykeeper_report::text::{paragraph, section};

use crate::table::{ChannelAnswer, ChannelRow, ChannelTable, PolicyStanding};

/// So many settings of a policy are shown for a channel; JSON has all.
const SHOWN: usize = 4;

/// The table as text.
pub fn text(of: &ChannelTable) -> String {
    let columns = columns(&[("channel", false), ("present", false), ("reduced", false)]);
    let row = |row: &ChannelRow| {
        vec![row.name.clone(), word(row.present.answer).to_owned(), word(row.reduced.answer).to_owned()]
    };
    let rows: Vec<Vec<String>> = of.channels.iter().map(row).collect();
    let parts = [
        Some(head(of)),
        Some(table(&columns, &rows)),
        Some(of.channels.iter().map(details).collect::<Vec<_>>().join("\n\n")),
        section("left open by the policy", of.left_open.clone()),
        section("notes", of.notes.clone()),
        section("assumptions of use", of.assumptions.clone()),
        section("known anomalies", of.anomalies.clone()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n") + "\n"
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
        PolicyStanding::Planned { policy, form } => format!("plan of {policy}, as {form}; nothing is written"),
        PolicyStanding::Applied { policy, since } => format!("{policy}, applied {since}; it reads as it was written"),
        PolicyStanding::Uncertain { policy, why } => format!("{policy}, which is not known to hold: {why}"),
        PolicyStanding::None { why } => format!("none; {why}"),
        PolicyStanding::NotSeen { why } => format!("not seen: {why}"),
    };
    let lines = [format!("interference channels of {file}{}{called}", of.place), format!("policy: {policy}")];
    lines.map(|line| paragraph(&line, "  ")).join("\n")
}

fn details(row: &ChannelRow) -> String {
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
    if let Some(external) = &row.external {
        add("exercise", format!("no workload exercises it; external program needed: {external}"));
    }
    add("not covered", row.not_covered.join("; "));
    lines.join("\n")
}
