//! The folder that a run leaves: `run.json`, `samples.hlog`, `excursions.hlog`, `experiment.toml`.

mod histograms;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use waykeeper_experiment::InputError;
use waykeeper_experiment::cases::flat;
use waykeeper_platform::explain::read_json;
use waykeeper_platform::read_text;

pub use histograms::{Histograms, read_events, read_samples};

use crate::conclude::case_tag;
use crate::kept_file::read_kept;
use crate::measurement::Measured;
use crate::record::{Run, SCHEMA, check_numbers};
use crate::samples::{Counts, Samples};
use crate::summary::repeat_tag;
use crate::unfinished::{self, REPEATS_FILE, Unfinished, put};
use crate::work::LEAST_NEIGHBOUR_WORK;

/// Name of the record in a run's folder.
pub const RUN_FILE: &str = "run.json";

/// Name of the experiment as run.
pub const EXPERIMENT_FILE: &str = "experiment.toml";

/// Name of the maxima of events beside it.
const EVENTS_FILE: &str = "excursions.hlog";

/// Name of the samples beside it.
const SAMPLES_FILE: &str = "samples.hlog";

/// All files of a run that has ended.
pub const RUN_FILES: [&str; 4] = [EVENTS_FILE, EXPERIMENT_FILE, RUN_FILE, SAMPLES_FILE];

/// Whether a path names a file of a run, ended or not: what writes results elsewhere must not replace it.
pub fn is_file_of_run(path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    let is_one = |other: &str| name == other && path.exists();
    let is_run = || [RUN_FILE, REPEATS_FILE].iter().any(|mark| path.with_file_name(mark).exists());
    RUN_FILES.iter().chain([&REPEATS_FILE]).any(|other| is_one(other)) && is_run()
}

/// Writes a run into a new or empty folder, or into that of its own unfinished run, whose log of repeats goes then.
/// `run.json` comes last and at once: a folder that has it is whole.
///
/// # Errors
/// A folder that has something else in it, or cannot be written.
pub fn write(folder: &Path, run: &Run, measured: &[Measured], experiment_toml: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let begun = folder.join(REPEATS_FILE).exists();
    if !begun {
        expect_empty(folder)?;
        put(folder, EXPERIMENT_FILE, experiment_toml.as_bytes())?;
    }
    put(folder, SAMPLES_FILE, &log(measured, |samples| &samples.counts)?)?;
    put(folder, EVENTS_FILE, &log(measured, |samples| &samples.event_counts)?)?;
    let text = serde_json::to_string_pretty(run).map_err(io::Error::other)?;
    put(folder, RUN_FILE, (text + "\n").as_bytes())?;
    // A run that was cut short can go on from its log.
    if begun && !run.cut_short {
        fs::remove_file(folder.join(REPEATS_FILE))?;
    }
    Ok(())
}

/// # Errors
/// A folder with something in it.
pub(crate) fn expect_empty(folder: &Path) -> io::Result<()> {
    match fs::read_dir(folder)?.next() {
        Some(_) => Err(io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty")),
        None => Ok(()),
    }
}

/// Takes away what an interrupted run wrote beside its log: it follows from the log, and will be written anew.
///
/// # Errors
/// Files that cannot be removed.
pub fn take_conclusion_away(folder: &Path) -> io::Result<()> {
    for name in [RUN_FILE, SAMPLES_FILE, EVENTS_FILE] {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// HdrHistogram's log format, version 1.2/1.3 as its tools read it: one line a repeat, tagged, in counter ticks.
fn log(measured: &[Measured], of: fn(&Samples) -> &Counts) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let tick_ns = measured.iter().flat_map(|m| &m.repeats).map(|r| r.samples.tick_ns).next();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    if let Some(tick_ns) = tick_ns {
        builder.add_comment(&format!("[Values are ticks of {tick_ns} ns; tags are those of run.json]"));
    }
    let mut log = builder.begin_log_with(&mut text, &mut serializer)?;
    let mut start = Duration::ZERO;
    for (index, measured) in measured.iter().enumerate() {
        for (repeat, measurement) in measured.repeats.iter().enumerate() {
            let tag = repeat_tag(&case_tag(index), repeat);
            let length = Duration::from_secs_f64(measurement.observed_s.max(0.0));
            let tag = Tag::new(&tag).expect("a tag of letters, digits and dots is legal");
            log.write_histogram(&of(&measurement.samples).to_histogram(), start, length, Some(tag))
                .map_err(|error| io::Error::other(error.to_string()))?;
            start += length;
        }
    }
    Ok(text)
}

/// Reads a run from its folder, or from its `run.json`; of a run that has not ended, what is complete.
///
/// # Errors
/// A path that is neither, a record of a newer schema, a record that does not read.
pub fn read(path: &Path) -> Result<Run, InputError> {
    let name = path.display().to_string();
    if let Some(unfinished) = unfinished_in(path)? {
        return unfinished.to_run(path);
    }
    let file: PathBuf = if path.is_dir() { path.join(RUN_FILE) } else { path.into() };
    // A record that is named itself may come through a pipe.
    let is_kept = path.is_dir() || file.is_file();
    let text = if is_kept { read_kept(&file).and_then(text) } else { read_text(&file) };
    let text = text.map_err(|error| {
        let expected = "expected the folder that `waykeeper run` left, or the run.json in it";
        InputError::in_file(&name, format!("this is not a run ({}: {error}); {expected}", file.display()))
    })?;
    let file = file.display().to_string();
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| InputError {
        origin: waykeeper_experiment::Origin::File { name: file.clone(), line: Some(error.line()) },
        key: String::new(),
        message: format!("this is not JSON: {error}"),
    })?;
    let schema = value.get("schema").and_then(serde_json::Value::as_u64).ok_or_else(|| {
        let mut error = InputError::in_file(
            &file,
            format!("there is no version number in it; expected a whole number up to {SCHEMA}"),
        );
        error.key = "schema".into();
        error
    })?;
    if schema > u64::from(SCHEMA) {
        let mut error = InputError::in_file(
            &file,
            format!(
                "found version {schema}, written by a newer Waykeeper; this one reads up to version {SCHEMA}: update it to read this run"
            ),
        );
        error.key = "schema".into();
        return Err(error);
    }
    check_numbers(&value).map_err(|(key, number)| InputError {
        origin: waykeeper_experiment::Origin::File { name: file.clone(), line: None },
        key,
        message: format!("found {number}; no quantity of a run is negative: the file was changed or damaged"),
    })?;
    read_json(&value).map_err(|(path, message)| InputError {
        origin: waykeeper_experiment::Origin::File { name: file, line: None },
        key: path.join("."),
        message,
    })
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// What a folder without a record has of a run that has not ended; of a run that has, nothing.
///
/// # Errors
/// A log of repeats that is none, or that was changed.
pub fn unfinished_in(run: &Path) -> Result<Option<Unfinished>, InputError> {
    if run.is_dir() && !run.join(RUN_FILE).exists() { unfinished::read(run) } else { Ok(None) }
}

/// What an experiment defines itself, by name: its keys and their values.
pub type Definitions = BTreeMap<String, BTreeMap<String, String>>;

/// The workloads, and the mitigations, that a run's experiment defines itself, from where [`read`] finds the run; none where
/// its copy of the experiment is not there or does not read.
pub fn definitions(run: &Path) -> Option<[Definitions; 2]> {
    let text = read_text(folder_of(run).join(EXPERIMENT_FILE)).ok()?;
    let document: toml::Table = text.parse().ok()?;
    let of = |key: &str| {
        let Some(own) = document.get(key) else { return Some(Definitions::new()) };
        Some(own.as_table()?.iter().filter_map(|(name, own)| Some((name.clone(), flat(own.as_table()?)))).collect())
    };
    Some([of("workloads")?, of("assignments")?])
}

/// The least share of its work that a run's experiment wants of a neighbour; none where its copy of the experiment is not there
/// or does not read.
pub fn least_neighbour_work(run: &Path) -> Option<f64> {
    let document: toml::Table = read_text(folder_of(run).join(EXPERIMENT_FILE)).ok()?.parse().ok()?;
    let Some(share) = document.get("least_neighbour_work") else { return Some(LEAST_NEIGHBOUR_WORK) };
    share.as_float().or_else(|| share.as_integer().map(|whole| whole as f64))
}

fn folder_of(run: &Path) -> &Path {
    if run.is_dir() { run } else { run.parent().unwrap_or(Path::new(".")) }
}
