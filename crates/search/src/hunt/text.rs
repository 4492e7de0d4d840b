//! What a person reads of a hunt.

use std::collections::BTreeMap;

use waykeeper_experiment::site::ExecutorKind;
use waykeeper_policy::size;
use waykeeper_report::figure::{counted, ratio, seconds, three_digits};
use waykeeper_report::table::{columns, table};
use waykeeper_report::text::paragraph;
use waykeeper_statistics::{LEAST_SHIFT, limits};

use super::record::{Candidate, HuntRecord, MemberAnswer, MemberRanks, ReachedMechanism, StressNgRecord};

/// Keys of parameters that are neither documented nor measured, in one line.
const OPEN: usize = 6;

/// The result as text.
pub fn text(hunted: &HuntRecord) -> String {
    let cores: Vec<String> = hunted.cores.iter().map(ToString::to_string).collect();
    let mut lines = vec![format!(
        "{} on {}: {} beside neighbours on the cores {}; {} of the target; {} tried in {}",
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
    // Elsewhere a slowdown is one of means.
    let slowdown = match hunted.objective.as_str() {
        "mean" => "slowdown".to_owned(),
        objective => format!("slowdown of the {objective}"),
    };
    let columns =
        columns(&[("neighbour", false), ("", false), ("repeats", true), (&slowdown, true), ("95 % interval", true)]);
    text += &format!("\n{}\n\n", table(&columns, &rows));
    for note in notes(hunted) {
        text += &(paragraph(&note, "  ") + "\n");
    }
    text
}

fn worst(hunted: &HuntRecord) -> Vec<String> {
    let Some(found) = hunted.candidates.iter().find(|candidate| candidate.file().is_some()) else {
        return vec!["Nothing was found beside the bundled neighbours.".into()];
    };
    let mut lines = match hunted.target_buffer_bytes {
        Some(_) => of_both_kinds(hunted),
        None => vec![format!("Worst neighbour found: {}: {}.", found.called, at_least(found))],
    };
    let bundled = hunted.candidates.iter().find(|candidate| candidate.bundled.is_some());
    if let (Some(bundled), Some([mean, low, high])) = (bundled, hunted.over_bundled) {
        let name = bundled.bundled.as_deref().unwrap_or_default();
        let over = format!("{} ({} at 95 %)", three_digits(mean), limits(low, high, 3));
        lines.push(match (low > 1.0, high < 1.0) {
            (true, _) => format!("  worse than the worst bundled one, `{name}`: {over} times its figure"),
            (_, true) => format!("  the bundled `{name}` is worse: the one found has {over} times its figure"),
            _ => format!("  no difference shown to the worst bundled one, `{name}`: {over} times its figure"),
        });
    }
    lines.extend(hunted.members.as_ref().map(across));
    lines.extend(hunted.stress_ng.as_ref().map(|beside| over_stress_ng(hunted, beside)));
    lines
}

/// The worst one found in the target's buffer, and then the worst one in a buffer of its own: what follows compares that with bundled ones.
fn of_both_kinds(hunted: &HuntRecord) -> Vec<String> {
    let mut found = hunted.candidates.iter().filter(|candidate| candidate.file().is_some());
    let worst = |place: &str, found: &Candidate| {
        format!("Worst neighbour found {place}: {}: {}.", found.called, at_least(found))
    };
    let mut lines = Vec::new();
    if let Some(sharing) = found.clone().find(|candidate| candidate.shares_lines) {
        let over = hunted.sharing_over_others.map_or(String::new(), |[mean, low, high]| {
            let (mean, limits) = (three_digits(mean), limits(low, high, 3));
            format!("; {mean} ({limits} at 95 %) times the figure beside the worst other one")
        });
        lines.push(worst("in the target's buffer", sharing));
        lines.push(format!("  a neighbour that shares no data with the target cannot do that{over}"));
    }
    lines.extend(found.find(|candidate| !candidate.shares_lines).map(|own| worst("with a buffer of its own", own)));
    lines
}

/// In how many sets of parameters the winner stays the worst.
fn across(members: &MemberRanks) -> String {
    let sets = counted(members.sets.len() as u64, "set", "sets");
    if members.sets.is_empty() {
        return "  stopped before any set of assumed parameters was measured: its rank there is not known".into();
    }
    let of = |answer: MemberAnswer| members.sets.iter().filter(|set| set.answer == answer).count();
    let mut worse: BTreeMap<&str, u64> = BTreeMap::new();
    for name in members.sets.iter().flat_map(|set| &set.worse) {
        *worse.entry(name).or_default() += 1;
    }
    let named: Vec<String> = worse.iter().map(|(name, count)| format!("`{name}` in {count}")).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
    format!(
        "  of {sets} of assumed parameters, {} name it as the worst, {} another{named}, and {} say nothing: differences lie within the \
         noise of {} or no neighbour has an effect of {} %",
        of(MemberAnswer::Winner),
        of(MemberAnswer::Another),
        of(MemberAnswer::Nothing),
        counted(members.repeats, "repeat", "repeats"),
        LEAST_SHIFT * 100.0
    )
}

/// The worst neighbour that is no stressor beside the worst stressor.
fn over_stress_ng(hunted: &HuntRecord, beside: &StressNgRecord) -> String {
    let worst = hunted.candidates.iter().find(|candidate| candidate.program.is_none());
    let (Some(worst), Some(stressor)) = (worst, &beside.worst) else {
        return "No stressor of stress-ng could be measured.".into();
    };
    let called = worst.bundled.as_ref().unwrap_or(&worst.called);
    match beside.excess_ratio {
        Some([ratio, low, high]) => format!(
            "Excess slowdown (s - 1) beside `{called}` over that beside `{stressor}`: {} ({} at 95 %, {} paired repeats).",
            three_digits(ratio),
            limits(low, high, 3),
            worst.ratios.len()
        ),
        None => {
            format!("`{stressor}`, the worst of stress-ng, is not shown to slow the target: no ratio to it has bounds.")
        }
    }
}

fn row(hunted: &HuntRecord, candidate: &Candidate) -> Vec<String> {
    vec![
        candidate.bundled.clone().unwrap_or_else(|| candidate.called.clone()),
        standing(hunted, candidate).to_owned(),
        candidate.ratios.len().to_string(),
        at_least(candidate),
        candidate.interval.map_or("none from one".into(), |[low, high]| limits(low, high, 3)),
    ]
}

/// The mean slowdown, as a bound where no sample of the target ended in some repeats.
fn at_least(candidate: &Candidate) -> String {
    let mean = ratio(Some(candidate.mean));
    if candidate.unended > 0 { format!("at least {mean}") } else { mean }
}

/// The standing of a mechanism's parameters on which a neighbour rests, and which of them are open.
fn rests_on(neighbour: &str, mechanism: &ReachedMechanism) -> String {
    let standing: Vec<String> = mechanism.standing.iter().map(|(is, count)| format!("{count} {is}")).collect();
    let shown: Vec<&str> = mechanism.open.iter().take(OPEN).map(String::as_str).collect();
    let more = mechanism.open.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more (`--json`)") } else { String::new() };
    let open = if shown.is_empty() { String::new() } else { format!("; open: {}{more}", shown.join(", ")) };
    format!("{neighbour} rests on {}: parameters {}{open}.", mechanism.name, standing.join(", "))
}

fn standing(hunted: &HuntRecord, candidate: &Candidate) -> &'static str {
    match &candidate.bundled {
        Some(name) if hunted.also.contains(name) => "bundled, unfair",
        Some(_) => "bundled",
        None if candidate.program.is_some() => "stress-ng",
        None if candidate.shares_lines => "found, shares lines",
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
        format!(
            "A worse neighbour may exist: only patterns of accesses were tried, {}.",
            super::not_tried(hunted.target_period_ns, hunted.target_buffer_bytes.is_some())
        ),
    ];
    if let Some(beside) = &hunted.stress_ng {
        let left: Vec<String> =
            beside.left_out.iter().map(|left| format!("{} ({})", left.names.join(", "), left.why)).collect();
        notes.push(format!(
            "stress-ng ({}): {} of its cache, memory and vm classes were measured, and the worst are shown; left out: {}.",
            beside.version,
            counted(beside.tried.len() as u64, "stressor", "stressors"),
            left.join("; ")
        ));
    }
    if let Some(bytes) = hunted.target_buffer_bytes {
        notes.push(format!(
            "Neighbours that access the target's buffer of {} were tried because they were asked for. The worst one with a buffer of its own \
             is compared with the bundled ones.",
            size(bytes)
        ));
    }
    if !hunted.also.is_empty() {
        notes.push(format!(
            "Unfair neighbours were tried ({}): they can stall all cores, and programs that run beside others do not do so.",
            hunted.also.join(", ")
        ));
    }
    let unended = hunted.candidates.iter().filter(|candidate| candidate.unended > 0).count() as u64;
    if unended > 0 {
        notes.push(format!(
            "Beside {} there were repeats in which no sample of the target ended, so that its slowdown is larger than shown: a longer \
             `--duration` would show it.",
            counted(unended, "neighbour", "neighbours")
        ));
    }
    notes.extend(hunted.split_locks.as_ref().map(|what| format!("Split locks: {what}.")));
    if hunted.executor == ExecutorKind::Sim {
        // Of two worst ones found, each of a kind, one is worse.
        let worst = hunted.candidates.iter().find(|candidate| candidate.file().is_some());
        let worst = match (hunted.target_buffer_bytes, worst) {
            (Some(_), Some(worst)) if worst.shares_lines => "The worst one in the target's buffer",
            (Some(_), Some(_)) => "The worst one with a buffer of its own",
            _ => "It",
        };
        notes.extend(hunted.rests_on.iter().map(|mechanism| rests_on(worst, mechanism)));
        notes.push("Simulated, so that the worst one found is a candidate: confirm on the machine.".into());
    }
    notes
}
