//! `cyclictest --json`, `oslat --json` and the `results.json` of jitterdebugger.

use std::collections::BTreeMap;

use serde::Deserialize;
use waykeeper_platform::explain::in_plain_words;

use crate::{Imported, ImportedHistogram, TWO_RESULTS};

/// Cyclictest and jitterdebugger count intervals in microseconds: none is shorter, seconds.
const SHORTEST_INTERVAL_S: f64 = 1e-6;

/// No processor reads its counter in less, seconds.
const SHORTEST_READING_S: f64 = 1e-9;

/// By how much the interval of a thread of cyclictest is longer than that of the thread before it (--distance), unless another number
/// is asked for, seconds.
const DISTANCE_S: f64 = 500e-6;

/// Nanoseconds of a microsecond.
const US: f64 = 1e3;

/// A file, as far as it is needed. Keys end in a colon where the tools write it so.
#[derive(Debug, Deserialize)]
struct File {
    #[serde(rename = "cmdline:", alias = "cmdline")]
    command_line: Option<String>,
    #[serde(rename = "rt_test_version:", alias = "rt_test_version")]
    version: Option<String>,
    start_time: Option<String>,
    end_time: Option<String>,
    sysinfo: Option<System>,
    /// 1 where cyclictest counts nanoseconds.
    resolution_in_ns: Option<u64>,
    /// Of cyclictest and oslat.
    thread: Option<BTreeMap<u32, Thread>>,
    /// Of jitterdebugger.
    cpu: Option<BTreeMap<u32, Thread>>,
}

#[derive(Debug, Default, Deserialize)]
struct System {
    release: Option<String>,
    machine: Option<String>,
    /// 1 where jitterdebugger counts nanoseconds.
    resolution_in_ns: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Thread {
    #[serde(default)]
    histogram: BTreeMap<u64, u64>,
    cpu: Option<u32>,
    #[serde(alias = "count")]
    cycles: Option<u64>,
    min: Option<u64>,
    max: Option<u64>,
    avg: Option<f64>,
    /// Of oslat, seconds.
    duration: Option<f64>,
}

pub fn read(text: &str) -> Result<Imported, String> {
    let file = file(text)?;
    let tool = tool(&file)?;
    let length_s = length(&file);
    let line = file.command_line.clone().unwrap_or_default();
    let told_s = told_interval(&line).filter(|_| tool == "cyclictest");
    let shortest_s = if tool == "oslat" { SHORTEST_READING_S } else { SHORTEST_INTERVAL_S };
    let of_whole_s = told_s.filter(|_| option(&line, "-l", "--loops").is_none());
    let system = file.sysinfo.unwrap_or_default();
    let in_ns = file.resolution_in_ns == Some(1) || system.resolution_in_ns == Some(1);
    let step_ns = if in_ns { 1.0 } else { US };
    let threads = file.thread.or(file.cpu).unwrap_or_default();
    let cores: Vec<u32> = threads.iter().map(|(number, thread)| thread.cpu.unwrap_or(*number)).collect();
    let alone = |core: u32| cores.iter().filter(|other| **other == core).count() == 1;
    let histograms = threads.into_iter().map(|(number, thread)| -> Result<_, String> {
        let core = thread.cpu.unwrap_or(number);
        let name = if alone(core) { format!("core {core}") } else { format!("core {core}, thread {number}") };
        let histogram = histogram(tool, name, core, thread, step_ns, length_s)?;
        histogram.check_interval(told_s.unwrap_or(shortest_s))?;
        if let Some(interval_s) = of_whole_s {
            histogram.check_whole(interval_s + told_distance(&line).max(DISTANCE_S) * f64::from(number))?;
        }
        Ok(histogram)
    });
    Ok(Imported {
        tool: tool.into(),
        version: file.version,
        command_line: file.command_line,
        started: file.start_time.as_deref().and_then(time).map(|time| time.to_string()),
        kernel: system.release,
        architecture: system.machine,
        histograms: histograms.collect::<Result<_, _>>()?,
    })
}

/// Reads the JSON at the beginning of a text: cyclictest may write its histogram as text behind it.
///
/// # Errors
/// No JSON, or the key whose value none of the tools writes.
fn file(text: &str) -> Result<File, String> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    let value = match documents.next() {
        Some(Ok(value)) => value,
        Some(Err(error)) => return Err(format!("the JSON cannot be read: {error}; {EXPECTED}")),
        None => return Err(format!("the file is empty; {EXPECTED}")),
    };
    let rest = &text[documents.byte_offset()..];
    if rest.lines().any(|line| line.trim_start().starts_with('{')) {
        return Err(TWO_RESULTS.into());
    }
    // Its values are of another kind with that option.
    let line = ["cmdline:", "cmdline"].iter().find_map(|key| value.get(key)?.as_str()).unwrap_or_default();
    if program(line) == "oslat" && option(line, "-W", "--bucket-width").is_some() {
        return Err("oslat ran with --bucket-width (-W), whose buckets are not read; expected a file without it".into());
    }
    serde_path_to_error::deserialize(&value)
        .map_err(|error| format!("`{}`: {}; {EXPECTED}", error.path(), in_plain_words(&error.inner().to_string())))
}

const EXPECTED: &str = "expected the JSON of cyclictest, oslat or jitterdebugger, or the histogram of rtla";

/// The name of the program that a command line begins with.
fn program(command_line: &str) -> &str {
    let program = command_line.split_whitespace().next().unwrap_or_default();
    program.rsplit('/').next().unwrap_or_default()
}

fn tool(file: &File) -> Result<&'static str, String> {
    let name = program(file.command_line.as_deref().unwrap_or_default());
    match (name, &file.thread, &file.cpu) {
        ("cyclictest", Some(_), _) => Ok("cyclictest"),
        ("oslat", Some(_), _) => Ok("oslat"),
        (_, None, Some(_)) => Ok("jitterdebugger"),
        (other, Some(_), _) => Err(format!("found the results of `{other}`; {EXPECTED}")),
        _ => Err(format!("found neither `thread` nor `cpu`; {EXPECTED}")),
    }
}

fn histogram(
    tool: &str,
    name: String,
    core: u32,
    thread: Thread,
    step_ns: f64,
    length_s: Option<f64>,
) -> Result<ImportedHistogram, String> {
    let mut counts: Vec<(u64, u64)> = thread.histogram.into_iter().filter(|(_, count)| *count > 0).collect();
    let inside = counts.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    // A cycle that was counted last may not be in the histogram yet: nothing is beyond it where the largest is inside.
    let all_inside = counts.last().map(|(value, _)| *value) >= thread.max;
    let mut beyond = thread.cycles.filter(|_| !all_inside).map_or(0, |cycles| cycles.saturating_sub(inside));
    // The last bucket of oslat holds all that is longer too.
    if tool == "oslat"
        && let (Some((last, count)), Some(max)) = (counts.last().copied(), thread.max)
        && max > last
    {
        counts.pop();
        beyond = count;
    }
    let of_file = ImportedHistogram {
        name,
        core,
        step_ns,
        bucket: 1,
        min: thread.min.or(counts.first().map(|(value, _)| *value)),
        max: thread.max.or(counts.last().map(|(value, _)| *value)),
        mean: thread.avg,
        length_s: thread.duration.or(length_s),
        counts,
        beyond,
        missing: 0,
    };
    let mut histogram = if tool == "oslat" { of_file.a_step_less() } else { of_file };
    histogram.check_total(thread.cycles)?;
    Ok(histogram)
}

/// The least time from the beginning to the end. The tools write both in whole seconds, so that the time between is up to a second
/// shorter. The command line of cyclictest says it exactly, where it has a length that fits them: stamps around a whole run are not
/// nearer to each other than its length, and its threads start and end in a second each.
fn length(file: &File) -> Option<f64> {
    let (start, end) = (time(file.start_time.as_deref()?)?, time(file.end_time.as_deref()?)?);
    let between = end.duration_since(start).as_secs_f64();
    let told =
        file.command_line.as_deref().and_then(told_duration).filter(|told| (0.0..=2.0).contains(&(between - told)));
    let seconds = told.unwrap_or(between - 1.0);
    (seconds > 0.0).then_some(seconds)
}

/// `-D 24h`, `-D24h`, `--duration=24h` of cyclictest, in seconds.
fn told_duration(command_line: &str) -> Option<f64> {
    let value = option(command_line, "-D", "--duration")?;
    let (number, unit) = value.split_at(value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len()));
    let factor = match unit {
        "" | "s" => 1.0,
        "m" | "M" => 60.0,
        "h" | "H" => 3600.0,
        "d" | "D" => 86_400.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

/// `-i 200`, `-i200`, `--interval=200` of cyclictest, microseconds on its command line, in seconds. Its first thread has this
/// interval, and no other has a shorter one.
fn told_interval(command_line: &str) -> Option<f64> {
    let microseconds: u64 = option(command_line, "-i", "--interval")?.parse().ok()?;
    (microseconds > 0).then_some(microseconds as f64 / 1e6)
}

/// `-d 1000`, `-d1000`, `--distance=1000` of cyclictest, microseconds on its command line, in seconds; 0 where there is none.
fn told_distance(command_line: &str) -> f64 {
    let microseconds = option(command_line, "-d", "--distance").and_then(|text| text.parse::<u64>().ok());
    microseconds.unwrap_or(0) as f64 / 1e6
}

/// The options of cyclictest and oslat that have no value and one letter: others may follow in the same word.
const WITHOUT_VALUE: &str = "mMnNqrRsSuvxX";

/// The value of an option of a command line, beside its name or behind it: `-D 1h`, `-D1h`, `-qD1h`, `--duration=1h`.
fn option<'line>(command_line: &'line str, short: &str, long: &str) -> Option<&'line str> {
    let mut words = command_line.split_whitespace();
    while let Some(word) = words.next() {
        if word == long {
            return words.next();
        }
        if let Some(value) = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
            return Some(value);
        }
        let letters = word.strip_prefix('-').unwrap_or_default().trim_start_matches(|c| WITHOUT_VALUE.contains(c));
        match letters.strip_prefix(short.trim_start_matches('-')) {
            Some("") => return words.next(),
            Some(value) => return Some(value),
            None => {}
        }
    }
    None
}

/// `Thu, 26 Nov 2026 18:27:38 +0000`.
fn time(text: &str) -> Option<jiff::Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_found_wherever_getopt_finds_them() {
        for line in [
            "cyclictest -D 1h",
            "cyclictest -m -D1h",
            "cyclictest -qD1h",
            "cyclictest -Smp95 -qD 1h",
            "cyclictest --duration=1h",
            "cyclictest --duration 1h -i200",
        ] {
            assert_eq!(told_duration(line), Some(3600.0), "{line}");
        }
        // The letters behind an option with a value are its value, and long options are no letters.
        for line in ["cyclictest -pD 1h", "cyclictest --Duration=1h", "cyclictest", "cyclictest -D", "cyclictest -"] {
            assert_eq!(told_duration(line), None, "{line}");
        }
        assert_eq!(told_interval("cyclictest -Smi200 -d0 --interval-of-others"), Some(200e-6));
    }
}
