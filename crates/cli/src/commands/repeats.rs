//! The log of repeats of a run that goes on: a run that is killed loses none that was complete.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use waykeeper_executor::Keeper;
use waykeeper_experiment::{InputError, Loaded};
use waykeeper_platform::find_bundled;
use waykeeper_run::case_tag;
use waykeeper_run::measurement::Measurement;
use waykeeper_run::unfinished::{Ended, Entry, Header, Log, checksum, lock};

use super::output::{Kind, say};
use crate::failure::Failure;

/// Appends each repeat to the log as it ends.
pub struct Repeats {
    header: Mutex<Header>,
    experiment_toml: String,
    writing: Mutex<Writing>,
}

struct Writing {
    log: Log,
    /// What could not be written yet.
    waiting: Vec<Entry>,
    /// It was said that the log cannot be written.
    said: bool,
}

impl Repeats {
    /// Of a run that writes to `log`.
    pub fn new(log: Log, header: Header, experiment_toml: String) -> Self {
        let writing = Mutex::new(Writing { log, waiting: Vec::new(), said: false });
        Self { header: Mutex::new(header), experiment_toml, writing }
    }

    /// Whether the log exists.
    pub fn is_begun(&self) -> bool {
        self.writing.lock().unwrap_or_else(|e| e.into_inner()).log.is_begun()
    }

    fn write(&self, writing: &mut Writing) -> io::Result<()> {
        if !writing.log.is_begun() {
            let header = self.header.lock().unwrap_or_else(|e| e.into_inner());
            writing.log.begin(&header, &self.experiment_toml)?;
        }
        while let Some(entry) = writing.waiting.first() {
            writing.log.append(entry)?;
            writing.waiting.remove(0);
        }
        Ok(())
    }
}

impl Keeper for Repeats {
    fn begin(&self, thresholds_ns: &[Option<f64>]) {
        self.header.lock().unwrap_or_else(|e| e.into_inner()).thresholds_ns = thresholds_ns.to_vec();
    }

    fn keep(&self, case: usize, repeat: usize, measurement: &Measurement) {
        let (case, repeat, at) = (case_tag(case), repeat as u32 + 1, now());
        let entry = Entry::Repeat(Box::new(Ended { case, repeat, at, measurement: measurement.clone() }));
        let mut writing = self.writing.lock().unwrap_or_else(|e| e.into_inner());
        writing.waiting.push(entry);
        if let Err(error) = self.write(&mut writing)
            && !writing.said
        {
            writing.said = true;
            let message = "the log of repeats cannot be written: the run goes on, and each later repeat tries again; until \
                           then a run that is killed loses what is not in the log";
            say(Kind::Note, &format!("{message} ({error})"));
        }
    }
}

/// The time, RFC 3339, to the second.
pub fn now() -> String {
    jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_else(|_| jiff::Timestamp::now()).to_string()
}

/// Holds a run's folder for this process, until the file is closed.
///
/// # Errors
/// A folder into which another process measures.
pub fn hold(folder: &Path, option: &str) -> Result<Option<File>, Failure> {
    match lock(folder) {
        Ok(held) => Ok(Some(held)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            let message = "another process measures into this folder; expected one that no run writes to";
            Err(InputError::in_option(option, message).into())
        }
        // Some file systems have no locks.
        Err(_) => Ok(None),
    }
}

/// Checksums of the files that an experiment names, by their absolute paths.
///
/// # Errors
/// A name that stands for no file.
pub fn files(loaded: &Loaded) -> Result<BTreeMap<String, u32>, InputError> {
    let mut paths: Vec<String> = loaded.policy_files()?.into_values().collect();
    let platform = loaded.experiment.platform.as_str();
    if platform != "host" && find_bundled(platform).is_none() {
        paths.push(loaded.file("platform", platform)?);
    }
    let absolute =
        |path: String| std::path::absolute(&path).unwrap_or_else(|_| PathBuf::from(path)).display().to_string();
    Ok(paths.into_iter().map(absolute).map(|path| (path.clone(), checksum(&path))).collect())
}
