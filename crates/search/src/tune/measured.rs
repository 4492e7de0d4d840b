//! The place of a search: an experiment's cases, candidate by candidate, with a log from which an interrupted search goes on.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use waykeeper_executor::ExecutorError;
use waykeeper_experiment::cases::{Case, Purpose};
use waykeeper_experiment::mitigation::NONE;
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_platform::explain::read_json_text;
use waykeeper_session::SingleRepeats;
use waykeeper_statistics::Budget;

use super::evidence::RepeatSeen;
use super::search::{CandidateRepeat, Place, TuneProgress};

/// The log's name in the folder of a search.
pub const LOG: &str = "repeats.jsonl";

/// Where the policy of a candidate is in the folder of a search.
pub fn policy_file(folder: &Path, candidate: &str) -> PathBuf {
    folder.join("candidates").join(format!("{candidate}.toml"))
}

/// One line of the log.
#[derive(Serialize, Deserialize)]
struct Entry {
    /// The mitigation of the case.
    candidate: String,
    setting: usize,
    alone: bool,
    repeat: usize,
    seen: RepeatSeen,
}

/// A setting of a candidate: its cases.
struct Cases {
    /// Beside neighbours, or alone where there are none.
    beside: usize,
    alone: usize,
}

/// An experiment's cases as the place of a search.
pub struct MeasuredCases<'a> {
    repeats: &'a SingleRepeats,
    budgets: &'a [Budget],
    /// The candidates' mitigations, by their numbers; the first is none.
    mitigations: Vec<String>,
    /// By candidate, then by setting; none of a candidate that the place refuses.
    cases: Vec<Vec<Cases>>,
    settings: usize,
    known: BTreeMap<(String, usize, bool, usize), RepeatSeen>,
    log: Mutex<Option<File>>,
    is_simulated: bool,
    stop: &'a AtomicBool,
    observer: &'a (dyn Fn(TuneProgress<'_>) + Sync),
}

impl<'a> MeasuredCases<'a> {
    /// The cases of an experiment under these mitigations, the first of which is none.
    pub fn new(
        repeats: &'a SingleRepeats,
        budgets: &'a [Budget],
        mitigations: Vec<String>,
        stop: &'a AtomicBool,
        observer: &'a (dyn Fn(TuneProgress<'_>) + Sync),
    ) -> Self {
        let cases: Vec<Vec<Cases>> =
            mitigations.iter().map(|mitigation| cases_of(repeats.cases(), mitigation)).collect();
        let settings = cases.first().map_or(0, Vec::len);
        Self {
            repeats,
            budgets,
            mitigations,
            cases,
            settings,
            known: BTreeMap::new(),
            log: Mutex::new(None),
            is_simulated: repeats.kind() == ExecutorKind::Sim,
            stop,
            observer,
        }
    }

    /// Keeps each repeat in the log of a folder, and takes in what is there already. A line that was cut short counts for
    /// nothing.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep_in(&mut self, folder: &Path) -> std::io::Result<()> {
        let path = folder.join(LOG);
        if let Ok(file) = File::open(&path) {
            for line in BufReader::new(file).lines() {
                let Ok(entry) = read_json_text::<Entry>(line?.as_bytes()) else { continue };
                let key = (entry.candidate, entry.setting, entry.alone, entry.repeat);
                self.known.insert(key, entry.seen);
            }
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        // A line that was cut short is ended, so that the next one stands alone.
        if file.metadata()?.len() > 0 {
            file.write_all(b"\n")?;
        }
        *self.log.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(file);
        Ok(())
    }

    /// How many repeats are known from an earlier search.
    pub fn known(&self) -> usize {
        self.known.len()
    }

    /// The case of a repeat.
    fn case(&self, repeat: CandidateRepeat) -> Result<usize, ExecutorError> {
        let refused = || {
            let mitigation = format!("mitigation {}", self.mitigations[repeat.candidate]);
            let why = self.repeats.refused().iter().find(|refusal| refusal.what.starts_with(&mitigation));
            let why = why.map_or("the place does not offer it", |refusal| refusal.why.as_str());
            ExecutorError::Refused(why.to_owned())
        };
        let cases = self.cases[repeat.candidate].get(repeat.setting).ok_or_else(refused)?;
        Ok(if repeat.alone { cases.alone } else { cases.beside })
    }

    fn note(&self, key: &(String, usize, bool, usize), seen: &RepeatSeen) {
        let (candidate, setting, alone, repeat) = key.clone();
        let Ok(mut line) = serde_json::to_string(&Entry { candidate, setting, alone, repeat, seen: seen.clone() })
        else {
            return;
        };
        line.push('\n');
        let mut log = self.log.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Without its log a search cannot be resumed; it goes on all the same.
        if log.as_mut().is_some_and(|file| file.write_all(line.as_bytes()).is_err()) {
            *log = None;
        }
    }
}

/// The settings of a mitigation, in the order of the experiment: cases beside neighbours with the same case alone.
fn cases_of(cases: &[Case], mitigation: &str) -> Vec<Cases> {
    let of_it = |(_, case): &(usize, &Case)| case.purpose == Purpose::Case && case.mitigation == mitigation;
    let ours: Vec<(usize, &Case)> = cases.iter().enumerate().filter(of_it).collect();
    let has_neighbours = ours.iter().any(|(_, case)| !case.solo());
    let alone_of = |like: &Case| {
        let same =
            |(_, case): &&(usize, &Case)| case.solo() && case.target == like.target && like.point.contains(&case.point);
        ours.iter().find(same).map(|(index, _)| *index)
    };
    let beside = ours.iter().filter(|(_, case)| case.solo() != has_neighbours);
    beside.filter_map(|(index, case)| Some(Cases { beside: *index, alone: alone_of(case)? })).collect()
}

impl Place for MeasuredCases<'_> {
    fn settings(&self) -> usize {
        self.settings
    }

    fn at_once(&self) -> usize {
        self.repeats.at_once()
    }

    fn measure(&self, repeat: CandidateRepeat) -> Result<RepeatSeen, ExecutorError> {
        let case = self.case(repeat)?;
        let candidate = self.mitigations.get(repeat.candidate).cloned().unwrap_or_else(|| NONE.to_owned());
        let key = (candidate, repeat.setting, repeat.alone, repeat.number);
        if let Some(seen) = self.known.get(&key) {
            return Ok(seen.clone());
        }
        match self.repeats.measure(case, repeat.number, self.stop) {
            Ok(measurement) if measurement.cut_short => Err(ExecutorError::Stopped),
            Ok(measurement) => {
                let seen = RepeatSeen::of(&measurement, &self.repeats.cases()[case].neighbours, self.budgets);
                self.note(&key, &seen);
                Ok(seen)
            }
            // The place takes the candidate as such, so that this is about how memory lies in this repeat alone.
            Err(ExecutorError::Refused(why)) if self.is_simulated => {
                Ok(RepeatSeen { not_counted: Some(why), ..RepeatSeen::default() })
            }
            Err(error) => Err(error),
        }
    }

    fn progress(&self, progress: TuneProgress<'_>) {
        (self.observer)(progress);
    }
}
