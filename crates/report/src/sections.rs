//! The sections below the tables; each returns its entries.

use waykeeper_experiment::mitigation::NONE;
use waykeeper_experiment::site::RefusalRecord;
use waykeeper_run::off_core::{OFF_CORE_MS, THROTTLED_MS};
use waykeeper_run::{BudgetRecord, CaseRecord, Privilege, RepeatRecord, Run};
use waykeeper_statistics::JudgementKind;

use crate::figure::{counted, ratio, scaled, seconds, three_digits};
use crate::shapes::shares;

/// What the neighbours did, and whether it had an effect.
pub fn neighbours(run: &Run) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for case in run.cases.iter().filter(|case| case.mitigation == NONE) {
        let Some(first) = case.neighbours.first() else { continue };
        let each = case.neighbours.iter().map(|neighbour| {
            let rates = neighbour.accesses_per_s.zip(neighbour.bytes_per_s);
            let rates =
                rates.map(|(a, b)| format!(" ({}, {})", scaled(a, "accesses/s"), scaled(b, "B/s"))).unwrap_or_default();
            format!("{}{rates}", neighbour.workload)
        });
        let judged = match first.effective {
            Some(true) => "effective",
            Some(false) => "NO EFFECT SHOWN",
            None => "effect unknown",
        };
        let effect = first.effect.as_deref().unwrap_or_default();
        entries.push(format!("{}, {}: {judged}; {effect}", case.name, each.collect::<Vec<_>>().join(" and ")));
    }
    if !entries.is_empty() && !run.sentinels.is_empty() {
        entries.push(
            "The sentinel is a chase over the last-level cache (64 MiB at most); its figures are times of one load."
                .into(),
        );
    }
    entries
}

/// In how many cases of a sweep the neighbours had an effect, and in which that was not shown.
pub fn neighbours_in_short(run: &Run) -> Vec<String> {
    const NAMED: usize = 6;
    // Effects are about samples.
    let is_judged = |case: &&CaseRecord| case.mitigation == NONE && case.total_bandwidth_bytes_per_s.is_none();
    let beside = || run.cases.iter().filter(is_judged).filter(|case| !case.neighbours.is_empty());
    let all = beside().count() as u64;
    let of = |effective: Option<bool>| -> Vec<&str> {
        let cases = beside().filter(|case| case.neighbours[0].effective == effective);
        cases.map(|case| case.name.as_str()).collect()
    };
    let named = |cases: &[&str]| {
        let more = if cases.len() > NAMED { format!("; and {} more", cases.len() - NAMED) } else { String::new() };
        format!("{}{more}", cases[..cases.len().min(NAMED)].join("; "))
    };
    let mut entries = Vec::new();
    if all > 0 {
        entries.push(format!("effective in {} of {}", of(Some(true)).len(), counted(all, "case", "cases")));
    }
    for (effective, says) in [(Some(false), "NO EFFECT SHOWN"), (None, "effect unknown")] {
        let cases = of(effective);
        if !cases.is_empty() {
            entries.push(format!("{says} in {}: {}", counted(cases.len() as u64, "case", "cases"), named(&cases)));
        }
    }
    entries
}

/// What each mitigation did. The effect of the neighbours stands in the section above and is not said again.
pub fn verdicts(run: &Run) -> Vec<String> {
    let entries = run.cases.iter().filter_map(|case| {
        let effect = case.neighbours.first().and_then(|neighbour| neighbour.effect.as_deref()).unwrap_or_default();
        let text = &case.verdict.as_ref()?.text;
        let text = if effect.is_empty() { text.clone() } else { text.replace(effect, "see neighbours") };
        Some(format!("{}: {text}", case.name))
    });
    entries.collect()
}

/// What was expected, and whether it was met: each statement below what it stands for.
pub fn expectations(run: &Run) -> Vec<String> {
    let mut entries = Vec::new();
    let mut said = "";
    for record in &run.expectations {
        if record.says != said {
            let source = record.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
            entries.push(format!("{}{source}:", record.says));
            said = &record.says;
        }
        entries.push(format!("  {}: {} of {}: {}", record.kind, record.metric, record.statement, record.text));
    }
    entries
}

/// Who held how much of the last shared cache.
pub fn occupancy(run: &Run) -> Vec<String> {
    let entry = |case: &CaseRecord| {
        let held = case.occupancy.as_ref()?;
        let mean = |lines: &[u64]| lines.iter().sum::<u64>() as f64 / lines.len().max(1) as f64;
        let share = |lines: &[u64]| format!("{:.1} %", 100.0 * mean(lines) / held.lines as f64);
        let ways = |n: u32| format!("{n} of {} ways", held.ways);
        let others = match case.neighbours.is_empty() {
            true => String::new(),
            false => format!("; the others may fill {} and hold {}", ways(held.others_ways), share(&held.others_lines)),
        };
        Some(format!(
            "{}: the target may fill {} of the L{} and holds {} of its lines{others}  {}",
            case.name,
            ways(held.target_ways),
            held.level,
            share(&held.target_lines),
            shares(&held.target_lines, held.lines),
        ))
    };
    run.cases.iter().filter_map(entry).collect()
}

/// What a reader must know.
pub fn notes(run: &Run, every_case: bool) -> Vec<String> {
    let hidden = (!every_case).then(|| "`waykeeper show RUN --cases` prints every case.".to_owned());
    run.notes.iter().cloned().chain(hidden).collect()
}

/// How the budgets ended: what was broken or too thin one by one, the rest counted.
pub fn budgets(run: &Run) -> Vec<String> {
    let entry = |judged: &BudgetRecord| format!("{} for {}: {}", judged.budget, judged.case, judged.text);
    let mut entries = Vec::new();
    for kind in [JudgementKind::Broken, JudgementKind::TooThin, JudgementKind::NotSeenBroken] {
        entries.extend(run.budgets.iter().filter(|judged| judged.kind == kind).map(entry));
    }
    entries
}

/// What was simulated, how fast, and what it rests on.
pub fn simulation(run: &Run) -> Vec<String> {
    let Some(parameters) = &run.parameters else { return Vec::new() };
    let total = |of: fn(&CaseRecord) -> Option<f64>| run.cases.iter().filter_map(of).sum::<f64>();
    let (simulated, wall) = (total(|case| case.simulated_s), total(|case| case.wall_s));
    let accesses = total(|case| case.accesses.map(|n| n as f64));
    let mut entries = Vec::new();
    if wall > 0.0 {
        let speed = scaled(accesses / wall, "accesses/s");
        let mut entry = format!(
            "{} simulated in {} of engine time, warm-ups and pilots apart: {speed}",
            seconds(simulated),
            seconds(wall)
        );
        let skipped = run.cases.iter().map(|case| case.skipped_accesses).sum::<u64>() as f64;
        if skipped > 0.0 {
            let share = skipped / (accesses + skipped) * 100.0;
            let with = scaled((accesses + skipped) / wall, "accesses/s");
            entry += &format!(", {with} with the {share:.1} % that were skipped far from the target's sets");
        }
        entries.push(entry);
    }
    entries.extend(fast_path(run));
    entries.extend(windows(run));
    for word in ["fitted", "imposed", "assumed"] {
        let keys = alike(parameters.list.iter().filter(|p| p.is == word).map(|p| p.key.as_str()));
        if !keys.is_empty() {
            entries.push(format!("{word} parameters: {}", keys.join(", ")));
        }
    }
    entries.push("`waykeeper show RUN --parameters` lists each with its value, range, reason and source.".into());
    entries
}

/// How good the fast path was, where it was compared with the full one.
fn fast_path(run: &Run) -> Option<String> {
    let checked: Vec<_> = run.cases.iter().filter_map(|case| Some((&case.name, case.fast_check?))).collect();
    let ratios = || checked.iter().map(|(_, check)| check.ratio());
    let (least, most) = (ratios().reduce(f64::min)?, ratios().reduce(f64::max)?);
    let (least, most) = (ratio(Some(least)), ratio(Some(most)));
    let range = if least == most { least } else { format!("{least} to {most}") };
    let full = seconds(checked.iter().map(|(_, check)| check.full_s).reduce(f64::max)?);
    let mut entry = format!(
        "the fast path beside the first {full} of the first repeats in full: {range} as many lines read from memory by \
         the target, standard errors up to {}",
        three_digits(checked.iter().map(|(_, check)| check.standard_error()).reduce(f64::max)?)
    );
    let off = checked.iter().filter(|(_, check)| check.is_off()).map(|(name, check)| {
        format!("{name} {} +- {}", ratio(Some(check.ratio())), three_digits(check.standard_error()))
    });
    let off: Vec<_> = off.collect();
    entry += &match off.as_slice() {
        [] => "; no more than a tenth or chance".into(),
        off => format!("; MORE THAN CHANCE: {}: run such cases without `--fast`", off.join(", ")),
    };
    Some(entry)
}

/// That samples are estimates of whole passes, and how good they may be.
fn windows(run: &Run) -> Option<String> {
    let all: Vec<_> = run.cases.iter().filter_map(|case| Some((case.sampled.as_ref()?, case.mean_ns?))).collect();
    let range = |figures: Vec<f64>| {
        let (least, most) = (figures.iter().copied().reduce(f64::min)?, figures.iter().copied().reduce(f64::max)?);
        let (least, most) = (three_digits(100.0 * least), three_digits(100.0 * most));
        Some(if least == most { format!("{least} %") } else { format!("{least} to {most} %") })
    };
    let share = range(all.iter().map(|(sampled, _)| sampled.share).collect())?;
    let mut entry =
        format!("times and misses of passes are estimates from windows that hold {share} of their accesses");
    let errors = all.iter().filter_map(|(sampled, mean)| Some(sampled.standard_error_ns? / mean));
    if let Some(errors) = range(errors.collect()) {
        entry += &format!("; from the spread between windows, the standard errors of the means are {errors}");
    }
    let ratios = run.cases.iter().filter_map(|case| Some(case.slowdown_standard_error? / case.slowdown?));
    if let Some(ratios) = range(ratios.collect()) {
        entry += &format!(", those of the slowdowns {ratios}");
    }
    Some(entry + "; counters, bandwidths and lengths are of what was simulated in time")
}

/// Keys in which only numbers of cores, caches and the like differ are one, with `*` in their place.
fn alike<'a>(keys: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = Vec::new();
    for key in keys {
        let parts = key.split('.').map(|part| if part.bytes().all(|b| b.is_ascii_digit()) { "*" } else { part });
        let key = parts.collect::<Vec<_>>().join(".");
        if !seen.contains(&key) {
            seen.push(key);
        }
    }
    seen
}

/// The share of time off the core above which it must be reported.
const OFF_CORE_NOTABLE: f64 = 0.01;

/// Other events on the targets' cores, all repeats of a case together; only what was there.
pub fn disturbances(run: &Run) -> Vec<String> {
    const SHOWN: [(&str, &str, &str); 8] = [
        ("interrupts", "interrupt", "interrupts"),
        ("nmis", "NMI", "NMIs"),
        ("smis", "SMI", "SMIs"),
        ("involuntary_switches", "preemption", "preemptions"),
        ("voluntary_switches", "wait", "waits"),
        ("minor_faults", "page fault", "page faults"),
        ("major_faults", "major page fault", "major page faults"),
        ("thermal_throttles", "thermal throttle", "thermal throttles"),
    ];
    let of_case = |case: &CaseRecord| {
        let counted_repeats = || case.repeats.iter().filter(|repeat| repeat.not_counted.is_none());
        let sum = |name: &str| counted_repeats().filter_map(|repeat| repeat.disturbances.get(name)).sum::<f64>();
        let mut found: Vec<_> = SHOWN
            .iter()
            .filter(|(name, ..)| sum(name) > 0.0)
            .map(|(name, one, many)| counted(sum(name) as u64, one, many))
            .collect();
        if sum("steal_ms") > 0.0 {
            found.push(format!("{} stolen by the hypervisor", seconds(sum("steal_ms") / 1e3)));
        }
        if sum(THROTTLED_MS) > 0.0 {
            found.push(format!("its control group throttled for {}", seconds(sum(THROTTLED_MS) / 1e3)));
        }
        if case.missed_periods > 0 {
            found.push(format!(
                "{} MISSED: nothing began in them, so no sample shows them",
                counted(case.missed_periods, "period", "periods")
            ));
        }
        let share = |seconds: f64| seconds / case.run_length_s;
        let (all, in_samples) =
            (share(sum(OFF_CORE_MS) / 1e3), share(counted_repeats().map(RepeatRecord::off_core_s).sum()));
        if in_samples > OFF_CORE_NOTABLE {
            found.push(format!(
                "OFF ITS CORE for {:.0} % of the time, which the mean, the slowdown and the maximum contain",
                in_samples * 100.0
            ));
        } else if all > OFF_CORE_NOTABLE {
            found.push(format!(
                "OFF ITS CORE for {:.0} % of the time; it waits between samples, so how much of that is in them is not known",
                all * 100.0
            ));
        }
        (!found.is_empty()).then(|| format!("{}: {}", case.name, found.join(", ")))
    };
    run.cases.iter().filter_map(of_case).collect()
}

/// What was refused: each privilege once, whatever its repeats say of it, and none that a refused mitigation stands for.
pub fn refusals(run: &Run) -> Vec<String> {
    once(&run.refused, &run.privileges)
}

fn once(refused: &[RefusalRecord], privileges: &[Privilege]) -> Vec<String> {
    let mut denied: Vec<(&str, Vec<&str>)> = Vec::new();
    let is_said =
        |what: &str| refused.iter().any(|refused| refused.why.starts_with(&format!("{what} is not permitted")));
    for Privilege { what, detail, .. } in privileges.iter().filter(|it| !it.granted && !is_said(&it.what)) {
        match denied.iter_mut().find(|(other, _)| other == what) {
            Some((_, details)) if details.contains(&detail.as_str()) => {}
            Some((_, details)) => details.push(detail),
            None => denied.push((what, vec![detail])),
        }
    }
    let privileges = denied.into_iter().map(|(what, details)| format!("{what}: {}", details.join("; ")));
    refused.iter().map(|refused| format!("{}: {}", refused.what, refused.why)).chain(privileges).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_privilege_is_refused_once_whatever_repeats_say_of_it() {
        let denied = |what: &str, detail: &str| Privilege { what: what.into(), granted: false, detail: detail.into() };
        let privileges = [
            denied("SCHED_FIFO", "Operation not permitted"),
            denied("mlockall", "Cannot allocate memory"),
            denied("SCHED_FIFO", "the program ran under SCHED_OTHER"),
            Privilege { granted: true, ..denied("RLIMIT_RTTIME", "") },
        ];
        let fifo = "SCHED_FIFO: Operation not permitted; the program ran under SCHED_OTHER";
        assert_eq!(once(&[], &privileges), [fifo, "mlockall: Cannot allocate memory"]);
        let why = "SCHED_FIFO is not permitted (Operation not permitted); it takes root";
        let refused = [RefusalRecord { what: "mitigation fifo".into(), why: why.into() }];
        let said = once(&refused, &privileges);
        assert_eq!(said, [format!("mitigation fifo: {why}"), "mlockall: Cannot allocate memory".into()]);
    }
}
