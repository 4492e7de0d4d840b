//! What a person reads of a search.

use waykeeper_report::figure::{counted, ratio, seconds, three_digits, time};
use waykeeper_report::shown::one_line;
use waykeeper_report::table::{columns, table};
use waykeeper_report::text::{narrow, paragraph};
use waykeeper_statistics::{JudgementKind, at_most, digits};

use super::record::{Candidate, FamilyOutcome, FamilyRecord, Tuned};

/// The result as text; every candidate that was tried with `all`.
pub fn text(tuned: &Tuned, all: bool) -> String {
    let mut text = paragraph(&headline(tuned), "  ") + "\n";
    for line in answer(tuned) {
        text += &(paragraph(&line, "  ") + "\n");
    }
    text += &format!("\n{}\n", candidates(tuned, all));
    let notes = notes(tuned);
    if !notes.is_empty() {
        text += "\n";
    }
    for note in notes {
        text += &(paragraph(&note, "  ") + "\n");
    }
    text
}

fn headline(tuned: &Tuned) -> String {
    let beside = match tuned.settings.as_slice() {
        [one] if one == "alone" => "alone".to_owned(),
        settings => format!("beside {}", settings.join("; or ")),
    };
    format!(
        "{} on {}: {} {beside}; budget {}; searched for {}",
        tuned.experiment,
        tuned.platform,
        tuned.target,
        tuned.budgets.join(" and "),
        seconds(tuned.took_s.round().max(1.0))
    )
}

fn answer(tuned: &Tuned) -> Vec<String> {
    if tuned.already_met {
        let judgement = tuned.none.judgement.clone().unwrap_or_default();
        return vec![format!("No measure is needed: without any, the budget was {judgement}."), exposure(&tuned.none)];
    }
    let is_answer = |candidate: &&Candidate| Some(&candidate.name) == tuned.answer.as_ref();
    let Some(candidate) = tuned.families.iter().filter_map(FamilyRecord::answered).find(is_answer) else {
        return no_answer(tuned);
    };
    let mut lines = vec![
        format!("Answer: {}.", candidate.called),
        format!("  {}", candidate.judgement.clone().unwrap_or_default()),
        format!("  {}", exposure(candidate)),
    ];
    lines.extend(below(tuned, candidate));
    lines.push(format!("  {}", cost(candidate)));
    if let Some(policy) = &tuned.policy {
        let policy = one_line(policy);
        lines.push(format!("  policy: {policy}"));
    }
    lines
}

/// In how many placements nothing was seen.
fn exposure(candidate: &Candidate) -> String {
    let Some(seen) = &candidate.seen else { return String::new() };
    let placements = counted(seen.placements, "placement", "placements");
    let below = seen.placements_below.map_or(String::new(), |share| {
        format!("; with 95 % confidence fewer than {} % of all placements break it", at_most(share * 100.0, 3))
    });
    let not_counted: String = seen.not_counted.iter().map(|text| format!("; {text}")).collect();
    format!("{placements} of its memory, {} of measuring{below}{not_counted}", seconds(seen.exposure_s))
}

fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0, 3))
}

/// What was seen one rung below.
fn below(tuned: &Tuned, candidate: &Candidate) -> Option<String> {
    let family = tuned.families.iter().find(|family| family.candidates.iter().any(|it| it.name == candidate.name))?;
    let rung = family.candidates.iter().position(|it| it.name == candidate.name)?;
    let Some(lower) = rung.checked_sub(1).map(|rung| &family.candidates[rung]) else {
        return Some("  nothing smaller of this kind is on offer".into());
    };
    Some(match (&lower.judgement, lower.judged) {
        (Some(judgement), Some(JudgementKind::Broken)) => format!("  {}: {judgement}", lower.called),
        (Some(judgement), _) => format!("  {} was not confirmed: {judgement}", lower.called),
        (None, _) => format!("  {} was not tried", lower.called),
    })
}

fn cost(candidate: &Candidate) -> String {
    let Some(seen) = &candidate.seen else { return "cost: not measured".into() };
    let mut parts = vec![format!("takes {} from everyone else", share(candidate.taken))];
    parts.extend(seen.cost_alone.map(|cost| format!("the target's mean alone {}", times(cost))));
    parts.extend(seen.neighbours.map(|rate| format!("the neighbours' accesses a second {}", times(rate))));
    format!("cost: {}", parts.join("; "))
}

fn share(taken: f64) -> String {
    if taken == 0.0 { "no share".into() } else { percent(taken) }
}

/// What a figure is of that without the measure.
fn times(of_it: f64) -> String {
    format!("{} of that without it", ratio(Some(of_it)))
}

fn no_answer(tuned: &Tuned) -> Vec<String> {
    let of = |outcome| tuned.families.iter().filter(move |family: &&FamilyRecord| family.outcome == outcome);
    let tried = of(FamilyOutcome::NoneHolds).count();
    if let Some(thin) = of(FamilyOutcome::TooThin).find_map(FamilyRecord::answered) {
        let judgement = thin.judgement.clone().unwrap_or_default();
        let why = if tuned.cut_short {
            "the search ended, at its time limit or stopped, before a candidate was confirmed"
        } else {
            "no candidate could be confirmed"
        };
        return vec![format!("No answer yet: {why}. The nearest one is {}: {judgement}", thin.called)];
    }
    if tuned.cut_short && tried == 0 {
        return vec![
            "No answer yet: the search ended, at its time limit or stopped, before any candidate was judged.".into(),
        ];
    }
    let best = tuned
        .families
        .iter()
        .flat_map(|family| &family.candidates)
        .filter_map(|candidate| Some((candidate.seen.as_ref()?.max_ns?, candidate)));
    let best = best.min_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal));
    let mut lines = vec![format!(
        "Nothing on offer holds the budget: the strongest candidate of each of {} was seen broken.",
        counted(tried as u64, "kind", "kinds")
    )];
    lines.extend(best.map(|(_, candidate)| {
        let judgement = candidate.judgement.clone().unwrap_or_default();
        format!("  the best one: {}: {judgement}", candidate.called)
    }));
    lines.push(match &tuned.alone_broken {
        Some(judgement) => format!(
            "  The target breaks it alone and without any measure: {judgement}. No protection from neighbours holds such a budget: it \
             takes a larger budget, or a task or a core that need less time."
        ),
        None => "  What is left is what no share divides: filters, queues and the memory. `waykeeper run EXPERIMENT --explain` says \
                 what the longest samples waited for."
            .into(),
    });
    lines
}

/// Characters of a candidate's name in the table, so that the table fits into 100.
const CANDIDATE: usize = 26;

fn candidates(tuned: &Tuned, all: bool) -> String {
    let mut rows = row(&tuned.none, false);
    for family in &tuned.families {
        let tried: Vec<&Candidate> = family.candidates.iter().filter(|candidate| candidate.judged.is_some()).collect();
        let answer = family.answer.as_deref();
        for candidate in &tried {
            let is_answer = answer == Some(candidate.name.as_str());
            let is_edge = tried.first().map(|first| &first.name) == Some(&candidate.name);
            let is_below = family
                .candidates
                .windows(2)
                .any(|two| two[0].name == candidate.name && answer == Some(two[1].name.as_str()));
            if all || is_answer || is_below || (answer.is_none() && is_edge) {
                rows.extend(row(candidate, tuned.answer.as_deref() == Some(candidate.name.as_str())));
            }
        }
        if tried.is_empty() {
            // Why stands in a note: a sentence would make the table wider than a terminal.
            let judged = if family.outcome == FamilyOutcome::Refused { "refused" } else { "not tried" };
            rows.extend(in_lines(&family.what, vec![judged.into()]));
        }
    }
    let columns = columns(&[
        ("candidate", false),
        ("judged", false),
        ("placements", true),
        ("max", true),
        ("misses", true),
        ("slowdown", true),
        ("alone", true),
        ("others", true),
    ]);
    for cells in &mut rows {
        cells.resize(columns.len(), String::new());
    }
    table(&columns, &rows)
}

fn row(candidate: &Candidate, is_answer: bool) -> Vec<Vec<String>> {
    let seen = candidate.seen.as_ref();
    let confirmed = seen.is_some_and(|seen| seen.fresh);
    let judged = candidate.judged.map_or(String::new(), |kind| match (kind, confirmed) {
        (JudgementKind::Broken, _) => "broken".to_owned(),
        (_, false) => "not confirmed".to_owned(),
        (kind, true) => kind.to_string(),
    });
    let mark = if is_answer { " <- answer" } else { "" };
    let cells = vec![
        judged,
        seen.map_or(String::new(), |seen| seen.placements.to_string()),
        time(seen.and_then(|seen| seen.max_ns)),
        seen.and_then(|seen| seen.misses_per_sample).map_or(String::new(), three_digits),
        ratio(seen.and_then(|seen| seen.slowdown)),
        ratio(seen.and_then(|seen| seen.cost_alone)),
        ratio(seen.and_then(|seen| seen.neighbours)),
    ];
    in_lines(&format!("{}{mark}", candidate.called), cells)
}

/// The rows of a candidate: its cells stand beside the first line of its name.
fn in_lines(called: &str, cells: Vec<String>) -> Vec<Vec<String>> {
    let mut lines = narrow(called, CANDIDATE).into_iter();
    let mut rows = vec![std::iter::once(lines.next().unwrap_or_default()).chain(cells).collect()];
    rows.extend(lines.map(|line| vec![format!("  {line}")]));
    rows
}

fn notes(tuned: &Tuned) -> Vec<String> {
    let mut notes = Vec::new();
    if tuned.cut_short {
        notes.push("The search was cut short: kinds without an answer may have one.".to_owned());
    }
    if tuned.answer.is_some() {
        notes.push(
            "A larger share is expected to hold where a smaller one does; what was not tried is not in the table. A largest sample \
             that was seen bounds nothing."
                .into(),
        );
    }
    notes.extend(tuned.families.iter().filter_map(|family| {
        let why = family.why.as_ref()?;
        Some(match family.candidates.is_empty() {
            true => format!("Refused: {}: {why}.", family.what),
            false => format!("Some {} were refused: {why}.", family.what),
        })
    }));
    if tuned.executor == waykeeper_experiment::site::ExecutorKind::Sim && tuned.answer.is_some() {
        notes.push("Simulated: a candidate to be confirmed on the machine.".into());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_stand_in_lines_so_that_the_table_fits_a_terminal() {
        let cells = ["not seen broken", "100000", "999.9 us", "123456", "x12345", "x0.98", "x0.46"].map(String::from);
        let called = "6 of 16 ways of the L3 with 2 of 8 segments of the L2 and no bypass of the last cache <- answer";
        let rows = in_lines(called, cells.to_vec());
        assert_eq!((rows[0][0].as_str(), rows[0].len()), ("6 of 16 ways of the L3", 8));
        let words: Vec<&str> = rows.iter().flat_map(|row| row[0].split_whitespace()).collect();
        assert_eq!(words.join(" "), called);
        let widest = rows.iter().map(|row| row[0].chars().count()).max().unwrap();
        // The columns beside it, with two blanks before each.
        assert!(widest + [15, 10, 8, 6, 8, 5, 6].iter().map(|width| width + 2).sum::<usize>() <= 100, "{widest}");
    }
}
