//! The histograms that lie beside the record of a run.

use std::collections::BTreeMap;
use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry, LogIteratorError};
use waykeeper_experiment::InputError;

use super::{EVENTS_FILE, SAMPLES_FILE, folder_of, unfinished_in};
use crate::conclude::case_tag;
use crate::kept_file::read_kept;
use crate::record::{RepeatRecord, Run};
use crate::samples::{Counts, Samples};
use crate::summary::repeat_tag;
use crate::unfinished::Unfinished;

/// The histograms of a run, by the tag of their repeat, in ticks of the run's clock.
pub type Histograms = BTreeMap<String, Histogram<u64>>;

/// Reads the maxima of the events of a run, by the tag of their repeat, from where [`read`](super::read) finds its record.
///
/// # Errors
/// A log that is not there, does not read, or has other numbers of events than the record.
pub fn read_events(path: &Path, run: &Run) -> Result<Histograms, InputError> {
    // The longest events may lie beyond the histogram's range, as samples do.
    let fits = |repeat: &RepeatRecord, events: u64| {
        (repeat.excursion_events.saturating_sub(repeat.overflow)..=repeat.excursion_events).contains(&events)
    };
    let log = Log { file: EVENTS_FILE, what: "the maxima of events", of: |samples| &samples.event_counts };
    log.read(path, run, fits, |repeat| format!("{} events", repeat.excursion_events))
}

/// Reads the samples of a run, by the tag of their repeat, from where [`read`](super::read) finds its record. Samples beyond the histogram's
/// range are not in it.
///
/// # Errors
/// A log that is not there, does not read, or has other numbers of samples than the record.
pub fn read_samples(path: &Path, run: &Run) -> Result<Histograms, InputError> {
    let within = |repeat: &RepeatRecord| repeat.samples.saturating_sub(repeat.overflow);
    let log = Log { file: SAMPLES_FILE, what: "the samples", of: |samples| &samples.counts };
    log.read(path, run, |repeat, samples| samples == within(repeat), |repeat| format!("{} samples", within(repeat)))
}

impl Unfinished {
    /// The samples of the repeats that have ended, as [`read_samples`] has them.
    pub fn samples(&self) -> Histograms {
        histograms(self, |samples| &samples.counts)
    }

    /// The maxima of their events, as [`read_events`] has them.
    pub fn events(&self) -> Histograms {
        histograms(self, |samples| &samples.event_counts)
    }
}

fn histograms(unfinished: &Unfinished, of: fn(&Samples) -> &Counts) -> Histograms {
    let measured = unfinished.measured();
    let tagged = measured.iter().enumerate().flat_map(|(case, measured)| {
        let repeats = measured.repeats.iter().enumerate();
        repeats.map(move |(at, repeat)| (repeat_tag(&case_tag(case), at), of(&repeat.samples).to_histogram()))
    });
    tagged.collect()
}

/// A log of histograms beside a record.
struct Log {
    file: &'static str,
    /// What is in it.
    what: &'static str,
    /// The same of a measurement.
    of: fn(&Samples) -> &Counts,
}

impl Log {
    /// Reads the log; each repeat of the record has a histogram that fits it.
    fn read(
        &self,
        path: &Path,
        run: &Run,
        fits: impl Fn(&RepeatRecord, u64) -> bool,
        recorded: impl Fn(&RepeatRecord) -> String,
    ) -> Result<Histograms, InputError> {
        if let Some(unfinished) = unfinished_in(path)? {
            return Ok(histograms(&unfinished, self.of));
        }
        let path = folder_of(path).join(self.file);
        let name = path.display().to_string();
        let text = read_kept(&path).map_err(|error| {
            let expected = format!("expected {}, which `waykeeper run` keeps beside run.json", self.what);
            InputError::in_file(&name, format!("{error}; {expected}"))
        })?;
        let found = parse_log(&name, &text)?;
        for (case, repeat) in run.cases.iter().flat_map(|case| case.repeats.iter().map(move |repeat| (case, repeat))) {
            let counted = found.get(&repeat.histogram).map(Histogram::len);
            if !counted.is_some_and(|counted| fits(repeat, counted)) {
                let found = counted.map_or("found no histogram".to_owned(), |n| format!("found a histogram of {n}"));
                let why = format!(
                    "{found} for repeat {} of {}, whose record has {}",
                    repeat.repeat,
                    case.name,
                    recorded(repeat)
                );
                return Err(damaged(&name, None, &why));
            }
        }
        Ok(found)
    }
}

fn damaged(name: &str, line: Option<usize>, why: &str) -> InputError {
    InputError {
        origin: waykeeper_experiment::Origin::File { name: name.to_owned(), line },
        key: String::new(),
        message: format!(
            "{why}; expected a log in HdrHistogram's format, as `waykeeper run` left it: a whole copy of the run's folder would \
             do, or a new run of the experiment.toml in it"
        ),
    }
}

fn parse_log(name: &str, text: &[u8]) -> Result<Histograms, InputError> {
    let damaged = |line: Option<usize>, why: &str| damaged(name, line, why);
    let bad = |why: &str| damaged(None, why);
    let mut found = BTreeMap::new();
    for entry in IntervalLogIterator::new(text) {
        let entry = entry.map_err(|LogIteratorError::ParseError { offset }| {
            let line = 1 + text[..offset].iter().filter(|byte| **byte == b'\n').count();
            damaged(Some(line), "this line is no histogram of the log, or only a part of one")
        })?;
        let LogEntry::Interval(interval) = entry else { continue };
        let tag = interval.tag().ok_or_else(|| bad("a histogram has no tag"))?.as_str().to_owned();
        let encoded = BASE64_STANDARD
            .decode(interval.encoded_histogram())
            .map_err(|error| bad(&format!("the histogram {tag} is not base64 ({error})")))?;
        let histogram = Deserializer::new()
            .deserialize(&mut encoded.as_slice())
            .map_err(|error| bad(&format!("the histogram {tag} does not read ({error})")))?;
        found.insert(tag, histogram);
    }
    Ok(found)
}
