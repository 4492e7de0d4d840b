//! Reading the log of repeats, also of a run that was killed while it wrote a line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use waykeeper_experiment::Loaded;
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_experiment::{InputError, Origin};
use waykeeper_platform::explain::read_json_text;
use waykeeper_statistics::Budget;

use super::{Header, Interruption, JournalEntry, REPEATS_FILE, SHARD_FORMAT};
use crate::conclude::case_tag;
use crate::folder::EXPERIMENT_FILE;
use crate::kept_file::open_regular;
use crate::measurement::{Measured, Measurement};
use crate::record::{Run, SCHEMA};
use crate::shard::{BadShard, ShardRepeats};

/// A line is the record of one repeat: some kilobytes, with the longest samples and windows some megabytes.
const LONGEST_LINE: u64 = 256 << 20;

/// A run that has not ended.
#[derive(Debug, Clone)]
pub struct Unfinished {
    /// What the run is.
    pub header: Header,
    /// The repeats that a shard measures; none for a whole run.
    pub share: Option<ShardRepeats>,
    /// The experiment as run.
    pub experiment_toml: String,
    /// The repeats that have ended, by the places of the case and of the repeat, from 0.
    pub repeats: BTreeMap<(usize, usize), Measurement>,
    /// When nothing was measured, up to the last resumption.
    pub gaps: Vec<Interruption>,
    /// When the last repeat ended, RFC 3339.
    pub last_at: Option<String>,
    /// Where the last whole line ends, bytes.
    pub end: u64,
    /// A line after that was not whole.
    pub torn: bool,
}

/// Reads what a folder has of an unfinished run; none where it has no log of repeats.
///
/// # Errors
/// A log that is none, or that was changed.
pub fn read(folder: &Path) -> Result<Option<Unfinished>, InputError> {
    let name = folder.join(REPEATS_FILE).display().to_string();
    let Some(file) = open_kept(folder, REPEATS_FILE)? else { return Ok(None) };
    let mut lines = Lines { name, reader: BufReader::new(file), number: 0, end: 0, torn: false };
    let Some(header) = lines.next::<Header>()? else {
        return Err(lines.bad("its first line is not whole; no repeat is in it: run the experiment anew"));
    };
    check(&header).map_err(|why| lines.bad(&why))?;
    let experiment_toml = experiment(folder, &header)?;
    let Header { run, plan, shard, .. } = &header;
    let share = shard.map(|shard| ShardRepeats::new(shard, plan, run.repeats, run.executor));
    let mut read = Unfinished {
        share,
        header,
        experiment_toml,
        repeats: BTreeMap::new(),
        gaps: Vec::new(),
        last_at: None,
        end: 0,
        torn: false,
    };
    while let Some(entry) = lines.next::<JournalEntry>()? {
        read.add(entry).map_err(|why| lines.bad(&why))?;
    }
    (read.end, read.torn) = (lines.end, lines.torn);
    Ok(Some(read))
}

impl Unfinished {
    fn add(&mut self, entry: JournalEntry) -> Result<(), String> {
        match entry {
            JournalEntry::Resumed { at } => {
                let from = self.last_at.clone().unwrap_or_else(|| self.header.run.started.clone());
                self.gaps.push(Interruption { from, to: at, repeats: self.repeats.len() });
            }
            JournalEntry::Repeat(ended) => {
                let cases = self.header.plan.cases.len();
                let case = (0..cases).find(|index| case_tag(*index) == ended.case);
                let case = case.ok_or_else(|| format!("found case `{}`; there are {cases}", ended.case))?;
                let (repeat, most) = (ended.repeat, self.header.run.repeats);
                if repeat == 0 || repeat > most {
                    return Err(format!("found repeat {repeat}; expected 1 to {most}"));
                }
                let measurement = ended.measurement;
                let positive = |x: f64| x.is_finite() && x > 0.0;
                if !positive(measurement.samples.tick_ns) || !positive(measurement.observed_s) {
                    return Err("found a repeat whose clock or length is not above 0".into());
                }
                if let Some(shard) = self.header.shard
                    && self.share.as_ref().is_some_and(|share| !share.contains(case, repeat as usize - 1))
                {
                    return Err(format!(
                        "found repeat {repeat} of case `{}`, which is not of shard {shard}",
                        ended.case
                    ));
                }
                if self.repeats.insert((case, repeat as usize - 1), measurement).is_some() {
                    return Err(format!("found repeat {repeat} of case `{}` a second time", ended.case));
                }
                self.last_at = Some(ended.at);
            }
        }
        Ok(())
    }

    /// Repeats of all cases, as planned; of a shard, its own.
    pub fn planned(&self) -> usize {
        match &self.share {
            Some(share) => share.len(),
            None => self.header.plan.cases.len() * self.header.run.repeats as usize,
        }
    }

    /// The repeats by case.
    pub fn measured(&self) -> Vec<Measured> {
        let mut measured: Vec<Measured> = self
            .header
            .thresholds_ns
            .iter()
            .map(|threshold| Measured { excursion_above_ns: *threshold, repeats: Vec::new() })
            .collect();
        for ((case, _), repeat) in &self.repeats {
            measured[*case].repeats.push(repeat.clone());
        }
        measured
    }

    /// What there is, concluded as if the run had been interrupted after it; a note says that it is unfinished.
    ///
    /// # Errors
    /// An experiment or a budget that does not read.
    pub fn to_run(&self, folder: &Path) -> Result<Run, InputError> {
        let loaded = self.experiment(folder)?;
        let budgets = self.budgets(folder)?;
        let measured = self.measured();
        let run = Run { cut_short: true, ..self.header.run.clone() };
        let mut run = run.concluded(&loaded.experiment, &self.header.plan, &measured, &budgets);
        run.notes.extend(self.gap_notes());
        run.notes.push(self.says());
        Ok(run)
    }

    /// The experiment, as read from the run's folder.
    ///
    /// # Errors
    /// An experiment that does not read.
    pub fn experiment(&self, folder: &Path) -> Result<Loaded, InputError> {
        let file = folder.join(EXPERIMENT_FILE).display().to_string();
        Loaded::from_text(&self.header.run.experiment, &file, &self.experiment_toml, Vec::new())
    }

    /// The budgets that it is judged by.
    ///
    /// # Errors
    /// One that is none.
    pub fn budgets(&self, folder: &Path) -> Result<Vec<Budget>, InputError> {
        let name = folder.join(REPEATS_FILE).display().to_string();
        let bad = |error: waykeeper_statistics::BadBudget| InputError::in_file(&name, error.to_string());
        self.header.budgets.iter().map(|text| text.parse().map_err(bad)).collect()
    }
    /// How many repeats are complete, and how the run goes on: a paragraph.
    pub fn says(&self) -> String {
        let last = self.last_at.as_ref().map(|at| format!(", the last one at {at}")).unwrap_or_default();
        let torn = if self.torn { "; one more was being written and is not whole" } else { "" };
        if let Some(shard) = self.header.shard {
            let (complete, planned) = (self.repeats.len(), self.planned());
            let next = match complete < planned {
                true => "`waykeeper run --resume` with its folder goes on",
                false => "`waykeeper merge` with the folders of all shards makes the run",
            };
            return format!(
                "This is shard {shard} of a run: {complete} of its {planned} repeats are complete{last}{torn}. What is compared \
                 with other shards is missing here: {next}."
            );
        }
        format!(
            "This run is unfinished: {} of {} repeats are complete{last}{torn}. It is still being measured, or was ended \
             before its time: `waykeeper run --resume` with its folder goes on.",
            self.repeats.len(),
            self.planned()
        )
    }

    /// A sentence for each time in which nothing was measured on a machine. Simulated time has no gaps.
    pub fn gap_notes(&self) -> Vec<String> {
        if self.header.run.executor == ExecutorKind::Sim {
            return Vec::new();
        }
        let planned = self.planned();
        let say = |Interruption { from, to, repeats }: &Interruption| {
            format!(
                "Nothing was measured from {from} to {to}: the run ended there, after {repeats} of {planned} repeats, and was \
                 resumed."
            )
        };
        self.gaps.iter().map(say).collect()
    }
}

fn check(header: &Header) -> Result<(), String> {
    if header.format > SHARD_FORMAT || header.run.schema > SCHEMA {
        return Err(format!(
            "found version {} of the log and {} of the record, written by a newer Waykeeper; this one reads up to {SHARD_FORMAT} \
             and {SCHEMA}",
            header.format, header.run.schema
        ));
    }
    if let Some(shard) = header.shard.filter(|shard| !shard.exists()) {
        return Err(format!("found shard {shard}; {BadShard}"));
    }
    let (cases, thresholds) = (header.plan.cases.len(), header.thresholds_ns.len());
    if cases != thresholds || cases == 0 {
        return Err(format!("found {cases} cases and {thresholds} thresholds; expected one for each"));
    }
    Ok(())
}

fn experiment(folder: &Path, header: &Header) -> Result<String, InputError> {
    let name = folder.join(EXPERIMENT_FILE).display().to_string();
    let bad = |why: String| InputError::in_file(&name, why);
    let Some(file) = open_kept(folder, EXPERIMENT_FILE)? else {
        return Err(bad("it is missing; expected the experiment, as the run left it beside repeats.log".into()));
    };
    let mut text = String::new();
    file.take(LONGEST_LINE).read_to_string(&mut text).map_err(|error| bad(error.to_string()))?;
    if crc32fast::hash(text.as_bytes()) != header.experiment_crc {
        return Err(bad("it was changed since the run began; expected it as the run left it".into()));
    }
    Ok(text)
}

/// A file of the folder: no link, no pipe.
fn open_kept(folder: &Path, name: &str) -> Result<Option<File>, InputError> {
    let path = folder.join(name);
    match open_regular(&path, OFlags::NOFOLLOW) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let message = format!("{error}; expected a file, as `waykeeper run` left it");
            Err(InputError::in_file(&path.display().to_string(), message))
        }
    }
}

/// The whole lines of a log.
struct Lines {
    name: String,
    reader: BufReader<File>,
    number: usize,
    end: u64,
    torn: bool,
}

impl Lines {
    /// The next record; none at the end, and where the last line is not whole.
    fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, InputError> {
        let mut line = Vec::new();
        self.number += 1;
        let read = (&mut self.reader).take(LONGEST_LINE).read_until(b'\n', &mut line);
        let read = read.map_err(|error| self.bad(&error.to_string()))? as u64;
        if read == 0 {
            return Ok(None);
        }
        let Some(json) = whole(&line) else {
            // Each line is on the disk before the next is begun: only the last can be torn.
            let rest = self.reader.fill_buf().map(<[u8]>::is_empty);
            if rest.map_err(|error| self.bad(&error.to_string()))? {
                self.torn = true;
                return Ok(None);
            }
            return Err(self.bad("this line was damaged: its checksum is not that of its text"));
        };
        let record = read_json_text(json).map_err(|why| self.bad(&format!("this is no record: {why}")))?;
        self.end += read;
        Ok(Some(record))
    }

    fn bad(&self, why: &str) -> InputError {
        InputError {
            origin: Origin::File { name: self.name.clone(), line: Some(self.number) },
            key: String::new(),
            message: format!("{why}; expected the log of repeats as `waykeeper run` left it"),
        }
    }
}

/// The JSON of a line whose checksum is right.
fn whole(line: &[u8]) -> Option<&[u8]> {
    let (sum, rest) = line.split_at_checked(9)?;
    let json = rest.strip_suffix(b"\n")?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum.strip_suffix(b" ")?).ok()?, 16).ok()?;
    (sum == crc32fast::hash(json)).then_some(json)
}
