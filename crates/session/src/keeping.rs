//! The log of repeats of a run that goes on: a run that is killed loses none that was complete.

use std::io;
use std::sync::{Mutex, MutexGuard};

use waykeeper_run::case_tag;
use waykeeper_run::measurement::Measurement;
use waykeeper_run::unfinished::{EndedRepeat, Header, JournalEntry, Log};

/// Appends each repeat to the log as it ends.
pub(crate) struct Repeats {
    header: Mutex<Header>,
    experiment_toml: String,
    writing: Mutex<Writing>,
}

struct Writing {
    log: Log,
    /// What could not be written yet.
    waiting: Vec<JournalEntry>,
    /// It was reported that the log cannot be written.
    reported: bool,
}

impl Repeats {
    /// Of a run that writes to `log`.
    pub(crate) fn new(log: Log, header: Header, experiment_toml: String) -> Self {
        let writing = Mutex::new(Writing { log, waiting: Vec::new(), reported: false });
        Self { header: Mutex::new(header), experiment_toml, writing }
    }

    /// Whether the log exists.
    pub(crate) fn is_begun(&self) -> bool {
        locked(&self.writing).log.is_begun()
    }

    /// What is an excursion in each case is decided; the first repeat comes next.
    pub(crate) fn begin(&self, thresholds_ns: &[Option<f64>]) {
        locked(&self.header).thresholds_ns = thresholds_ns.to_vec();
    }

    /// A repeat is complete. Returns why the log cannot be written, the first time that it cannot.
    pub(crate) fn keep(&self, case: usize, repeat: usize, measurement: &Measurement) -> Option<io::Error> {
        let (case, repeat, at) = (case_tag(case), repeat as u32 + 1, now());
        let entry = JournalEntry::Repeat(Box::new(EndedRepeat { case, repeat, at, measurement: measurement.clone() }));
        let mut writing = locked(&self.writing);
        writing.waiting.push(entry);
        let error = self.write(&mut writing).err()?;
        let first = !std::mem::replace(&mut writing.reported, true);
        first.then_some(error)
    }

    fn write(&self, writing: &mut Writing) -> io::Result<()> {
        if !writing.log.is_begun() {
            writing.log.begin(&locked(&self.header), &self.experiment_toml)?;
        }
        while let Some(entry) = writing.waiting.first() {
            writing.log.append(entry)?;
            writing.waiting.remove(0);
        }
        Ok(())
    }
}

/// What a thread that panicked has left is whole: nothing here ends halfway.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// The time, RFC 3339, to the second.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_else(|_| jiff::Timestamp::now()).to_string()
}
