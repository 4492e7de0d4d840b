//! Imported histograms as a run.

use std::collections::BTreeMap;

use waykeeper_experiment::cases::{Case, Placed, Plan, Purpose};
use waykeeper_experiment::mitigation::NONE;
use waykeeper_experiment::point::Point;
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_experiment::{InputError, Loaded};
use waykeeper_run::measurement::{Measured, Measurement};
use waykeeper_run::samples::{Counts, Samples};
use waykeeper_run::{ClockRecord, ImportRecord, MachineRecord, Run, SCHEMA, Tool};
use waykeeper_statistics::Budget;
use waykeeper_workload::{Passes, Pattern, format_ns};

use crate::{AS_WRITTEN, Imported, ImportedHistogram};

/// A run, and what it was concluded from.
#[derive(Debug)]
pub struct ImportedRun {
    /// The record.
    pub record: Run,
    /// The samples of each case, in its order.
    pub measured: Vec<Measured>,
    /// An experiment that says where they come from.
    pub experiment_toml: String,
}

/// Concludes what was imported. `length_s` is the time in which it was measured, where the file does not say it; `name` is that of the
/// file.
///
/// # Errors
/// A length that nobody says, or another than the file's; numbers that no clock has.
pub fn conclude(
    imported: &Imported,
    name: &str,
    length_s: Option<f64>,
    budgets: &[Budget],
    command_line: Vec<String>,
) -> Result<ImportedRun, InputError> {
    // One without samples too: it was to be measured, and a run without it would pass budgets that nothing was seen of.
    let histograms = &imported.histograms;
    let said = histograms.iter().filter_map(|histogram| histogram.length_s).reduce(f64::max);
    let longest = said.or(length_s).ok_or_else(|| {
        InputError::in_file(
            name,
            "it does not say how long it was measured; expected --duration, such as `--duration 1h`",
        )
    })?;
    if let (Some(asked), Some(said)) = (length_s, said) {
        check_length(asked, said)?;
    }
    check_budgets(budgets)?;
    for histogram in histograms {
        check_count(histogram).map_err(|why| InputError::in_file(name, why))?;
        check_longest(histogram, histogram.length_s.unwrap_or(longest))
            .map_err(|why| InputError::in_file(name, why))?;
    }
    let of = |histogram: &ImportedHistogram| measurement(histogram, histogram.length_s.unwrap_or(longest));
    let measured: Vec<Measured> = histograms
        .iter()
        .map(|histogram| Measured { excursion_above_ns: None, repeats: vec![of(histogram)] })
        .collect();
    let cases = histograms.iter().map(|histogram| case(&imported.tool, histogram)).collect();
    let plan = Plan { cases, refused: Vec::new() };
    let experiment_toml = experiment(imported);
    let loaded = Loaded::from_text(&imported.tool.replace(' ', "-"), name, &experiment_toml, Vec::new())?;
    let step_ns = histograms.first().map_or(1e3, |histogram| histogram.step_ns);
    let record = base(imported, &loaded, longest, step_ns, command_line, name);
    let record = record.concluded(&loaded.experiment, &plan, &measured, budgets);
    Ok(ImportedRun { record, measured, experiment_toml })
}

/// A budget that covers no case would pass unseen.
fn check_budgets(budgets: &[Budget]) -> Result<(), InputError> {
    let covers_none = |budget: &&Budget| !budget.applies_to(NONE);
    budgets.iter().find(covers_none).map_or(Ok(()), |budget| {
        let message =
            format!("`{budget}` covers no case; expected a budget without a mitigation, which an import has none of");
        Err(InputError::in_option(format!("--budget '{budget}'"), message))
    })
}

/// Logs of histograms keep counts as signed numbers of 64 bits.
fn check_count(histogram: &ImportedHistogram) -> Result<(), String> {
    const MOST: u128 = i64::MAX as u128;
    let all: u128 = histogram.counts.iter().map(|(_, count)| u128::from(*count)).sum();
    let name = &histogram.name;
    let refuse =
        || format!("{name} has {all} samples, more than a run can keep ({MOST}): the file is changed or damaged");
    if all > MOST { Err(refuse()) } else { Ok(()) }
}

/// The stamps of a file are whole seconds, and the least time between them is taken.
const LENGTH_SPARE_S: f64 = 2.0;

/// No sample takes longer than all of the measuring.
fn check_longest(histogram: &ImportedHistogram, length_s: f64) -> Result<(), String> {
    let longest_ns = histogram.max.unwrap_or(0) as f64 * histogram.step_ns;
    if longest_ns <= (length_s + LENGTH_SPARE_S) * 1e9 {
        return Ok(());
    }
    Err(format!(
        "{} has a maximum of {}, and it was measured for {}; {AS_WRITTEN}",
        histogram.name,
        format_ns(longest_ns),
        format_ns(length_s * 1e9)
    ))
}

/// A length that is typed must be that of the file, which has it in whole seconds as a rule: budgets are judged by it.
fn check_length(asked_s: f64, said_s: f64) -> Result<(), InputError> {
    if (asked_s - said_s).abs() <= LENGTH_SPARE_S {
        return Ok(());
    }
    let typed = format!("--duration {}", format_ns(asked_s * 1e9));
    Err(InputError::in_option(
        &typed,
        format!(
            "found {}, but the file says that it was measured for {}; expected no --duration for such a file",
            format_ns(asked_s * 1e9),
            format_ns(said_s * 1e9)
        ),
    ))
}

/// An experiment with the program that measured: its copy in the run's folder says what was run.
fn experiment(imported: &Imported) -> String {
    let words = imported.command_line.as_deref().unwrap_or(&imported.tool).split_whitespace();
    let argv: Vec<String> = words.map(|word| serde_json::to_string(word).unwrap_or_default()).collect();
    format!(
        "title = \"imported from {}\"\nsentinel = false\n\n[[targets]]\nworkload = \"imported\"\n\n[workloads.imported]\nkind = \"command\"\npasses = \"process\"\nargv = [{}]\n",
        imported.tool,
        argv.join(", ")
    )
}

fn case(tool: &str, histogram: &ImportedHistogram) -> Case {
    let pattern = Pattern::Command { argv: vec![tool.to_owned()], passes: Passes::Process };
    let target = Placed {
        workload: tool.to_owned(),
        with: BTreeMap::new(),
        pattern,
        core: histogram.core,
        buffer: Default::default(),
    };
    Case {
        name: histogram.name.clone(),
        purpose: Purpose::Case,
        target,
        companions: Vec::new(),
        throughput: false,
        sampled: None,
        neighbours: Vec::new(),
        group: None,
        mitigation: NONE.into(),
        assignments: BTreeMap::new(),
        point: Point::default(),
        reference: None,
    }
}

fn measurement(histogram: &ImportedHistogram, observed_s: f64) -> Measurement {
    // Of those beyond the histogram it is known that they are longer than its last step with samples.
    let last = histogram.counts.last().map_or(0, |(value, _)| *value);
    let samples = histogram.samples();
    let overflow_from = match histogram.counts.is_empty() {
        true => histogram.min.unwrap_or(0),
        false => last.saturating_add(histogram.narrowest),
    };
    let with_beyond = |each: u64| histogram.sum_inside() + u128::from(each) * u128::from(histogram.beyond);
    let sum = match histogram.mean {
        // rtla cuts its mean to whole steps.
        Some(mean) => ((mean * samples as f64) as u128).max(with_beyond(overflow_from)),
        None => with_beyond(histogram.max.unwrap_or(0)),
    };
    let samples = Samples {
        counts: Counts::new(histogram.counts.clone()),
        overflow: histogram.beyond,
        overflow_from,
        count: samples,
        sum,
        min: histogram.min,
        max: histogram.max.map(|max| (max, None)),
        rounded_down_ns: histogram.step_ns * histogram.bucket as f64,
        ..Samples::new(histogram.step_ns)
    };
    Measurement {
        seed: 0,
        started: None,
        samples,
        observed_s,
        bytes_per_sample: None,
        target_bytes_per_s: None,
        misses: None,
        occupancy: None,
        sampled: None,
        longest: Vec::new(),
        neighbours: Vec::new(),
        placement: BTreeMap::new(),
        privileges: Vec::new(),
        disturbances: BTreeMap::new(),
        counters: BTreeMap::new(),
        waits_between_samples: false,
        cut_short: false,
        not_counted: None,
        remarks: Vec::new(),
        packets: None,
        simulation: None,
    }
}

/// The time, RFC 3339, to the second.
fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Second).unwrap_or(now).to_string()
}

/// Which threads, cores or columns have no sample, and what that means.
fn without_samples(imported: &Imported) -> Option<String> {
    let without = imported.histograms.iter().filter(|histogram| histogram.samples() == 0);
    let names: Vec<&str> = without.map(|histogram| histogram.name.as_str()).collect();
    let (have, them) = match names.len() {
        0 => return None,
        1 => ("has", "it"),
        _ => ("have", "them"),
    };
    Some(format!(
        "{} {have} no sample, although {} was to measure {them}: the thread did not run, as where other work kept its core, or the tool \
         ended before its first sample. Nothing is known of {them}, and every budget on {them} is too thin to say.",
        names.join(", "),
        imported.tool
    ))
}

/// By how much the figures may be longer.
fn rounding(imported: &Imported) -> String {
    let longest = |of: fn(&ImportedHistogram) -> f64| imported.histograms.iter().map(of).fold(0.0, f64::max);
    let step = format_ns(longest(|histogram| histogram.step_ns));
    let bucket = format_ns(longest(|histogram| histogram.step_ns * histogram.bucket as f64));
    match step == bucket {
        true => format!(
            "Samples are rounded down to whole steps of {step}: each, and so every figure here, may be up to {step} longer."
        ),
        false => format!(
            "Samples are rounded down: the smallest and the largest may be up to {step} longer. The others are known by buckets: \
             percentiles and means may be up to {bucket} longer."
        ),
    }
}

/// What is to be known of the figures of a tool.
fn notes(imported: &Imported, name: &str) -> Vec<String> {
    let version = imported.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let mut notes = vec![format!(
        "These are the samples of {}{version} ({name}), not of Waykeeper. A histogram has no order in time: there are no excursions, \
         no time of the maximum and no tail, and nothing is known of neighbours and of other events on the cores.",
        imported.tool
    )];
    notes.extend(without_samples(imported));
    notes.push(rounding(imported));
    notes.extend(imported.remarks.iter().cloned());
    if imported.tool == "oslat" {
        notes.push(
            "oslat rounds up: its bucket of 1 us has the samples below 1 us. All figures here, the smallest, the mean and the largest too, \
             are one step less than in its file, so that they are rounded down as those of other tools are."
                .into(),
        );
    }
    if imported.started.is_none() {
        notes.push("When it began is not known: `started` is the time of the import.".into());
    }
    notes.extend(imported.command_line.as_ref().map(|line| format!("It was run as: {line}")));
    let beyond: u64 = imported.histograms.iter().map(|histogram| histogram.beyond).sum();
    if beyond > 0 {
        notes.push(format!(
            "{beyond} samples lie beyond its histogram. Of each of them it is known only that it is longer than the last step that has \
             samples, or as long as the shortest where none has, and at most as long as the longest: percentiles among them are not known."
        ));
    }
    let missing: u64 = imported.histograms.iter().map(|histogram| histogram.missing).sum();
    if missing > 0 {
        let are = if missing == 1 { "cycle that the tool counted is" } else { "cycles that the tool counted are" };
        notes.push(format!("{missing} {are} not in its histogram: the samples here are fewer by as many."));
    }
    notes
}

fn base(
    imported: &Imported,
    loaded: &Loaded,
    longest_s: f64,
    step_ns: f64,
    command_line: Vec<String>,
    name: &str,
) -> Run {
    let notes = notes(imported, name);
    Run {
        schema: SCHEMA,
        tool: Tool { name: "waykeeper".into(), version: env!("CARGO_PKG_VERSION").into(), commit: None, sha256: None },
        command_line,
        started: imported.started.clone().unwrap_or_else(now),
        experiment: loaded.name.clone(),
        title: loaded.experiment.title.clone(),
        platform: "host".into(),
        executor: ExecutorKind::Host,
        imported: Some(ImportRecord {
            tool: imported.tool.clone(),
            version: imported.version.clone(),
            histograms_of: if imported.tool.starts_with("rtla") { "column" } else { "thread" }.into(),
        }),
        duration_s: longest_s,
        simulated_samples: None,
        peak_interval_s: None,
        repeats: 1,
        seed: 0,
        cut_short: false,
        clock: ClockRecord {
            name: format!("{}'s own", imported.tool),
            frequency_hz: 1e9 / step_ns,
            tick_ns: step_ns,
            resolution_ns: Some(step_ns),
            read_overhead_ns: None,
            stability_ppm: None,
            invariant: None,
        },
        machine: MachineRecord {
            architecture: imported.architecture.clone().unwrap_or_else(|| "unknown".into()),
            cores: imported.histograms.len() as u32,
            kernel: imported.kernel.clone(),
            ..MachineRecord::default()
        },
        parameters: None,
        provenance: None,
        privileges: Vec::new(),
        refused: Vec::new(),
        sweeps: Vec::new(),
        table: None,
        cases: Vec::new(),
        sentinels: Vec::new(),
        budgets: Vec::new(),
        expectations: Vec::new(),
        notes,
    }
}
