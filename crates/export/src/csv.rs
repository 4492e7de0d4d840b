//! CSV as of RFC 4180, a table at a time. Numbers are written in full and in the units of run.json; what is absent is empty.

use std::fmt::Display;

use csv::{Terminator, WriterBuilder};
use waykeeper_report::shown::one_line;
use waykeeper_run::folder::Histograms;
use waykeeper_run::{CaseRecord, RepeatRecord, Run};

use crate::NotExported;

/// Figures of all cases.
pub fn cases(run: &Run) -> Result<Vec<u8>, NotExported> {
    let head = [
        "case",
        "target",
        "core",
        "mitigation",
        "neighbours",
        "samples",
        "run_length_s",
        "min_ns",
        "mean_ns",
        "p50_ns",
        "p99_ns",
        "p99_9_ns",
        "p99_99_ns",
        "max_ns",
        "slowdown",
        "cost",
        "bandwidth_bytes_per_s",
        "total_bandwidth_bytes_per_s",
        "misses_per_sample",
        "overflow",
        "excursion_above_ns",
        "excursions",
        "excursion_events",
        "missed_periods",
        "verdict",
    ];
    // A column for each sweep, named after it.
    let sweeps: Vec<&str> = run.sweeps.iter().map(|sweep| sweep.name.as_str()).collect();
    let row = |case: &CaseRecord| {
        let neighbours = case.neighbours.iter().map(|neighbour| {
            let cores: Vec<_> = neighbour.cores.iter().map(ToString::to_string).collect();
            format!("{}@{}", neighbour.workload, cores.join(","))
        });
        let mut row = vec![
            text(&case.name),
            text(&case.target),
            case.core.to_string(),
            text(&case.mitigation),
            text(&neighbours.collect::<Vec<_>>().join(" ")),
            case.samples.to_string(),
            case.run_length_s.to_string(),
            number(case.min_ns),
            number(case.mean_ns),
            number(case.p50_ns),
            number(case.p99_ns),
            number(case.p99_9_ns),
            number(case.p99_99_ns),
            number(case.max_ns),
            number(case.slowdown),
            number(case.cost),
            number(case.bandwidth_bytes_per_s),
            number(case.total_bandwidth_bytes_per_s),
            number(case.misses_per_sample),
            case.overflow.to_string(),
            number(case.excursion_above_ns),
            events(case, case.excursions),
            events(case, case.excursion_events),
            periods(run, case.missed_periods),
            case.verdict.as_ref().map(|verdict| verdict.kind.to_string()).unwrap_or_default(),
        ];
        row.extend(sweeps.iter().map(|sweep| case.point.get(*sweep).map(|label| text(label)).unwrap_or_default()));
        row
    };
    let head = head.iter().map(|name| (*name).to_owned()).chain(sweeps.iter().map(|sweep| text(sweep)));
    table(head.collect(), run.cases.iter().map(row))
}

/// Figures of all repeats, also of those that do not count.
pub fn repeats(run: &Run) -> Result<Vec<u8>, NotExported> {
    let head = [
        "case",
        "repeat",
        "started",
        "samples",
        "run_length_s",
        "min_ns",
        "mean_ns",
        "max_ns",
        "max_at_s",
        "bandwidth_bytes_per_s",
        "misses_per_sample",
        "overflow",
        "excursions",
        "excursion_events",
        "missed_periods",
        "seed",
        "cut_short",
        "not_counted",
    ];
    let row = |case: &CaseRecord, repeat: &RepeatRecord| {
        vec![
            text(&case.name),
            repeat.repeat.to_string(),
            text(repeat.started.as_deref().unwrap_or_default()),
            repeat.samples.to_string(),
            repeat.run_length_s.to_string(),
            number(repeat.min_ns),
            number(repeat.mean_ns),
            number(repeat.max_ns),
            number(repeat.max_at_s),
            number(repeat.bandwidth_bytes_per_s),
            number(repeat.misses_per_sample),
            repeat.overflow.to_string(),
            events(case, repeat.excursions),
            events(case, repeat.excursion_events),
            periods(run, repeat.missed_periods),
            repeat.seed.to_string(),
            repeat.cut_short.to_string(),
            text(repeat.not_counted.as_deref().unwrap_or_default()),
        ]
    };
    table(named(&head), of_repeats(run).map(|(case, repeat)| row(case, repeat)))
}

/// Excursions, where it is known what one is: elsewhere none were looked for, which is not 0.
fn events(case: &CaseRecord, count: u64) -> String {
    case.excursion_above_ns.map(|_| count.to_string()).unwrap_or_default()
}

/// Missed periods. A histogram that was imported does not say them.
fn periods(run: &Run, count: u64) -> String {
    if run.imported.is_some() { String::new() } else { count.to_string() }
}

/// The samples of each repeat: how many lay from one length to another, both included. Samples beyond the histogram's range
/// are in the column `overflow` of the repeats.
pub fn histograms(run: &Run, samples: &Histograms) -> Result<Vec<u8>, NotExported> {
    let tick_ns = run.clock.tick_ns;
    let mut rows = Vec::new();
    for (case, repeat) in of_repeats(run) {
        let histogram = samples.get(&repeat.histogram).ok_or_else(|| {
            let why = format!("found no histogram of repeat {} of {}", repeat.repeat, case.name);
            NotExported(format!("{why} in samples.hlog; expected the run's folder as `waykeeper run` left it"))
        })?;
        rows.extend(histogram.iter_recorded().map(|step| {
            let ticks = step.value_iterated_to();
            vec![
                text(&case.name),
                repeat.repeat.to_string(),
                (histogram.lowest_equivalent(ticks) as f64 * tick_ns).to_string(),
                (histogram.highest_equivalent(ticks) as f64 * tick_ns).to_string(),
                step.count_at_value().to_string(),
            ]
        }));
    }
    table(named(&["case", "repeat", "from_ns", "to_ns", "samples"]), rows.into_iter())
}

/// The largest sample of each interval; of repeats without intervals, of the repeat.
pub fn timelines(run: &Run) -> Result<Vec<u8>, NotExported> {
    let rows = of_repeats(run).flat_map(|(case, repeat)| {
        let whole = repeat.max_at_s.zip(repeat.max_ns).filter(|_| repeat.peaks.is_empty());
        let peaks = repeat.peaks.iter().map(|peak| (peak.at_s, peak.max_ns)).chain(whole);
        let interval_s = if repeat.peaks.is_empty() { Some(repeat.run_length_s) } else { run.peak_interval_s };
        peaks.map(move |(at_s, max_ns)| {
            vec![
                text(&case.name),
                repeat.repeat.to_string(),
                at_s.to_string(),
                max_ns.to_string(),
                number(interval_s),
                text(repeat.not_counted.as_deref().unwrap_or_default()),
            ]
        })
    });
    table(named(&["case", "repeat", "at_s", "max_ns", "largest_of_s", "not_counted"]), rows)
}

fn of_repeats(run: &Run) -> impl Iterator<Item = (&CaseRecord, &RepeatRecord)> {
    run.cases.iter().flat_map(|case| case.repeats.iter().map(move |repeat| (case, repeat)))
}

fn named(head: &[&str]) -> Vec<String> {
    head.iter().map(|name| (*name).to_owned()).collect()
}

/// A text that no spreadsheet takes for a formula: those begin with one of these characters.
fn text(text: &str) -> String {
    let text = one_line(text);
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.into_owned() }
}

/// The shortest form that reads back to the same bits.
fn number(value: Option<impl Display>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn table(head: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> Result<Vec<u8>, NotExported> {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    let failed = |error: csv::Error| NotExported(format!("the table cannot be written: {error}"));
    writer.write_record(head).map_err(failed)?;
    for row in rows {
        writer.write_record(row).map_err(failed)?;
    }
    writer.into_inner().map_err(|error| NotExported(format!("the table cannot be written: {error}")))
}
