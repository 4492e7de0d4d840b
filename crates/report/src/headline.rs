//! The lines above the table: what was run, on what, timed by what.

use waykeeper_experiment::site::ExecutorKind;
use waykeeper_run::{CaseRecord, ImportRecord, Run};
use waykeeper_workload::format_ns;

use crate::figure::{cores, seconds, three_digits};
use crate::length::Length;
use crate::matrix::{name, sweeps};
use crate::text::paragraph;

/// The lines above the table.
pub fn headline(run: &Run) -> String {
    let mut lines = vec![format!("{}: {}", run.experiment, run.title), place(run)];
    lines.push(setting(run));
    lines.extend(sweeps(run));
    if run.cut_short {
        lines.push(
            "CUT SHORT: not all repeats of the run are here; what follows rests on those that are complete.".into(),
        );
    } else {
        lines.extend(without_samples(run));
    }
    lines.join("\n")
}

/// Cases whose target takes samples and ended none.
fn without_samples(run: &Run) -> Option<String> {
    let counts_samples = |case: &&CaseRecord| case.total_bandwidth_bytes_per_s.is_none();
    let without = run.cases.iter().filter(counts_samples).filter(|case| case.samples == 0);
    let length = seconds(run.duration_s);
    let (not_counted, without): (Vec<&CaseRecord>, Vec<_>) = without.partition(|case| no_repeat_counts(case));
    let (packets, others): (Vec<&CaseRecord>, Vec<_>) = without.into_iter().partition(|case| answers_packets(case));
    let said = |cases: &[&CaseRecord], what: &str, would_do: &str| {
        let names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
        let text = || format!("{what} within {length} of {}; {would_do}", names.join("; "));
        (!names.is_empty()).then(|| paragraph(&text(), "  "))
    };
    let link = "look at the generator and the link (`waykeeper doctor --if`): a longer run would see no more.";
    let longer = match run.imported {
        Some(_) => "look for what kept its thread from running.",
        None => "a longer --duration would do.",
    };
    let both = [said(&packets, "NO PACKET was answered", link), said(&others, "NO SAMPLE ended", longer)];
    let why = |case: &&CaseRecord| {
        let why = case.repeats.iter().find_map(|repeat| repeat.not_counted.as_deref()).unwrap_or_default();
        paragraph(&format!("NO REPEAT of {} counts: {why}", case.name), "  ")
    };
    let lines: Vec<String> = not_counted.iter().map(why).chain(both.into_iter().flatten()).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Whether there are repeats, each with a reason why it does not count.
fn no_repeat_counts(case: &CaseRecord) -> bool {
    !case.repeats.is_empty() && case.repeats.iter().all(|repeat| repeat.not_counted.is_some())
}

/// Whether the target waits for packets, so that it may have nothing to do.
fn answers_packets(case: &CaseRecord) -> bool {
    case.repeats.iter().any(|repeat| repeat.packets.is_some())
}

fn place(run: &Run) -> String {
    let clock = &run.clock;
    if run.executor == ExecutorKind::Sim {
        let counts = run.parameters.as_ref().map(|parameters| {
            let of = |word: &str| parameters.counts.get(word).map(|n| format!("{n} {word}"));
            let words = ["documented", "measured", "assumed", "fitted", "imposed"];
            format!("; parameters: {}", words.into_iter().filter_map(of).collect::<Vec<_>>().join(", "))
        });
        return format!(
            "simulated platform {}, counter of {} ns{}",
            run.platform,
            clock.tick_ns,
            counts.unwrap_or_default()
        );
    }
    if let Some(imported) = &run.imported {
        return imported_from(run, imported);
    }
    let machine = &run.machine;
    let mut parts = vec![machine.processor.clone().unwrap_or_else(|| machine.architecture.clone())];
    parts.push(format!("{} core{}", machine.cores, if machine.cores == 1 { "" } else { "s" }));
    parts.extend(machine.kernel.as_ref().map(|kernel| {
        let release = kernel.split_whitespace().next().unwrap_or_default();
        format!("Linux {release}{}", machine.preemption.as_ref().map(|p| format!(" {p}")).unwrap_or_default())
    }));
    parts.extend(machine.hypervisor.as_ref().map(|_| "virtual machine".to_owned()));
    parts.push(format!(
        "{} {}{}",
        clock.name,
        clock.rate(),
        clock
            .read_overhead_ns
            .map(|ns| format!(" (a reading takes {} ns as a rule)", three_digits(ns)))
            .unwrap_or_default()
    ));
    format!("this machine: {}", parts.join(", "))
}

/// Of an imported run the machine is known as far as the tool's file says it.
fn imported_from(run: &Run, from: &ImportRecord) -> String {
    let version = from.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let machine = &run.machine;
    let count = run.cases.len();
    let mut parts = vec![format!("{}{version}", from.tool)];
    parts.extend(Some(&machine.architecture).filter(|name| *name != "unknown").cloned());
    parts.extend(machine.kernel.as_ref().map(|kernel| format!("Linux {kernel}")));
    parts.push(format!("{count} {}{}", from.histograms_of, if count == 1 { "" } else { "s" }));
    parts.push(format!("steps of {}", format_ns(run.clock.tick_ns)));
    format!("imported: {}", parts.join(", "))
}

fn setting(run: &Run) -> String {
    let mut targets: Vec<String> = Vec::new();
    let mut neighbours: Vec<String> = Vec::new();
    for case in &run.cases {
        let target = format!("{} on core {}", name(&case.target, &case.target_with, run), case.core);
        if !targets.contains(&target) {
            targets.push(target);
        }
        for neighbour in &case.neighbours {
            let text = format!("{} on {}", name(&neighbour.workload, &neighbour.with, run), cores(&neighbour.cores));
            if !neighbours.contains(&text) {
                neighbours.push(text);
            }
        }
    }
    let beside = if neighbours.is_empty() { String::new() } else { format!("; neighbours {}", neighbours.join(", ")) };
    let time = if run.executor == ExecutorKind::Sim { " simulated" } else { "" };
    format!("target {}{beside}; {}{time} a case, seed {}", targets.join(", "), Length::of(run), run.seed)
}
