//! `cyclictest --json`, `oslat --json` and the `results.json` of jitterdebugger.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::DeserializeSeed;
use serde::{Deserialize, Deserializer};
use waykeeper_platform::explain::read_json;
use waykeeper_platform::read::UniqueKeys;

use crate::{AS_WRITTEN, Imported, ImportedHistogram, TWO_RESULTS};

/// Cyclictest and jitterdebugger count intervals in microseconds: none is shorter, seconds.
const SHORTEST_INTERVAL_S: f64 = 1e-6;

/// No processor reads its counter in less, seconds.
const SHORTEST_READING_S: f64 = 1e-9;

/// The interval of cyclictest unless another one is asked for, seconds.
const INTERVAL_S: f64 = 1000e-6;

/// By how much the interval of a thread of cyclictest is longer than that of the thread before it (--distance), unless another number
/// is asked for, seconds. With a histogram cyclictest sets the distance to 0.
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
    /// 0 where cyclictest and oslat ended as they should.
    return_code: Option<i64>,
    /// Of cyclictest and oslat.
    num_threads: Option<usize>,
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
    let loops = option(&line, "-l", "--loops").and_then(|text| text.parse::<u64>().ok()).filter(|loops| *loops > 0);
    let remarks = file.return_code.filter(|code| *code != 0).map(|code| failed(tool, code));
    let system = file.sysinfo.unwrap_or_default();
    let in_ns = file.resolution_in_ns == Some(1) || system.resolution_in_ns == Some(1);
    let step_ns = if in_ns { 1.0 } else { US };
    let threads = file.thread.or(file.cpu).unwrap_or_default();
    if let Some(said) = file.num_threads.filter(|said| *said != threads.len()) {
        return Err(format!("`num_threads` is {said}, and `thread` has {}; {AS_WRITTEN}", threads.len()));
    }
    let cores: Vec<u32> = threads.iter().map(|(number, thread)| thread.cpu.unwrap_or(*number)).collect();
    let alone = |core: u32| cores.iter().filter(|other| **other == core).count() == 1;
    let histograms = threads.into_iter().map(|(number, thread)| -> Result<_, String> {
        let core = thread.cpu.unwrap_or(number);
        let name = if alone(core) { format!("core {core}") } else { format!("core {core}, thread {number}") };
        let histogram = histogram(tool, name, core, thread, step_ns, length_s)?;
        histogram.check_interval(told_s.unwrap_or(shortest_s))?;
        let is_through = loops.is_some_and(|loops| histogram.samples().saturating_add(histogram.missing) >= loops);
        if let Some(interval_s) = told_s.filter(|_| !is_through) {
            histogram.check_whole(interval_s + distance(&line) * f64::from(number))?;
        }
        Ok(histogram)
    });
    let histograms = histograms.collect::<Result<Vec<_>, _>>()?;
    if tool == "cyclictest" && !has_histogram(&line) && histograms.iter().all(|histogram| histogram.counts.is_empty()) {
        return Err(
            "the file of cyclictest has no sample in a histogram; expected a file of `cyclictest --json` with \
             --histogram too"
                .into(),
        );
    }
    Ok(Imported {
        tool: tool.into(),
        version: file.version,
        command_line: file.command_line,
        started: file.start_time.as_deref().and_then(time).map(|time| time.to_string()),
        kernel: system.release,
        architecture: system.machine,
        histograms,
        remarks: remarks.into_iter().collect(),
    })
}

/// What a result of other than 0 means.
fn failed(tool: &str, code: i64) -> String {
    format!(
        "{tool} ended with an error (`return_code` is {code}): it may have measured for less time, or fewer cores, than it was asked to."
    )
}

/// Tools divide 0 by 0 for the mean of a thread without samples, and write what JSON does not have.
fn without_nan(text: &str) -> Cow<'_, str> {
    match text.contains("\"avg\": nan") || text.contains("\"avg\": -nan") {
        true => text.replace("\"avg\": nan", "\"avg\": null").replace("\"avg\": -nan", "\"avg\": null").into(),
        false => text.into(),
    }
}

/// JSON of a tool, without a key that stands twice: samples would be lost unseen.
struct OfTool(serde_json::Value);

impl<'de> Deserialize<'de> for OfTool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A number with a blank behind it is the same number.
        UniqueKeys { of_key: str::trim }.deserialize(deserializer).map(Self)
    }
}

/// Reads the JSON at the beginning of a text: cyclictest may write its histogram as text behind it.
///
/// # Errors
/// No JSON, a key that stands twice, or the key whose value none of the tools writes.
fn file(text: &str) -> Result<File, String> {
    let text = without_nan(text);
    let mut documents = serde_json::Deserializer::from_str(&text).into_iter::<OfTool>();
    let value = match documents.next() {
        Some(Ok(OfTool(value))) => value,
        Some(Err(error)) if error.is_data() => return Err(format!("{error}; {AS_WRITTEN}")),
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
    read_json(&value).map_err(|(path, message)| format!("`{}`: {message}; {EXPECTED}", path.join(".")))
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
    if let Some(length_s) = thread.duration.filter(|length_s| *length_s <= 0.0) {
        return Err(format!(
            "{name} has a `duration` of {length_s} s; expected a time over 0: the file is changed or damaged"
        ));
    }
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
        narrowest: 1,
        min: thread.min.or(counts.first().map(|(value, _)| *value)),
        max: thread.max.or(counts.last().map(|(value, _)| *value)),
        mean: thread.avg,
        length_s: thread.duration.or(length_s),
        counts,
        beyond,
        missing: 0,
    };
    let of_file = of_file.without_samples()?;
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

/// `-i 200`, `-i200`, `--interval=200` of cyclictest, microseconds on its command line, in seconds, or its own where there is none. Its
/// first thread has this interval, and no other has a shorter one. None where the value is no number.
fn told_interval(command_line: &str) -> Option<f64> {
    let Some(text) = option(command_line, "-i", "--interval") else { return Some(INTERVAL_S) };
    let microseconds: u64 = text.parse().ok()?;
    (microseconds > 0).then_some(microseconds as f64 / 1e6)
}

/// `-d 1000`, `-d1000`, `--distance=1000` of cyclictest, microseconds on its command line, in seconds, and its own at least.
fn distance(command_line: &str) -> f64 {
    if has_histogram(command_line) {
        return 0.0;
    }
    let microseconds = option(command_line, "-d", "--distance").and_then(|text| text.parse::<u64>().ok());
    (microseconds.unwrap_or(0) as f64 / 1e6).max(DISTANCE_S)
}

/// Whether cyclictest was asked for a histogram.
fn has_histogram(command_line: &str) -> bool {
    [("-h", "--histogram"), ("-H", "--histofall")]
        .iter()
        .any(|(short, long)| option(command_line, short, long).is_some())
}

/// The options of cyclictest and oslat that have no value and one letter: others may follow in the same word.
const WITHOUT_VALUE: &str = "mMnNqrRsSuUvxX";

/// The value of an option of a command line, beside its name or behind it: `-D 1h`, `-D1h`, `-qD1h`, `--duration=1h`. A long name may be
/// cut: where the rest is no name of one option alone, the tools end before they measure.
fn option<'line>(command_line: &'line str, short: &str, long: &str) -> Option<&'line str> {
    let mut words = command_line.split_whitespace();
    while let Some(word) = words.next() {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if name.len() > "--".len() && name.starts_with("--") && long.starts_with(name) {
            return value.or_else(|| words.next());
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
        assert_eq!(told_interval("cyclictest --int 200"), Some(200e-6));
        assert_eq!(told_interval("cyclictest --in=200"), Some(200e-6));
        // Its own, and none that is known.
        assert_eq!(told_interval("cyclictest -Sm --interval-of-others=5"), Some(1000e-6));
        assert_eq!(told_interval("cyclictest -i 0"), None);
    }

    #[test]
    fn the_distance_of_threads_is_0_with_a_histogram() {
        for (line, told_s) in [
            ("cyclictest -d 2000", 2000e-6),
            ("cyclictest", 500e-6),
            ("cyclictest -d 2000 -h 100", 0.0),
            ("cyclictest --histofall=100", 0.0),
            ("cyclictest --histog 100", 0.0),
            ("cyclictest --histfile=x", 500e-6),
        ] {
            assert_eq!(distance(line), told_s, "{line}");
        }
    }
}
