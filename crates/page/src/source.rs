//! A run with what lies beside it in its folder, as far as that is there.

use std::collections::BTreeMap;
use std::path::Path;

use waykeeper_experiment::InputError;
use waykeeper_report::shown::{for_showing, one_line};
use waykeeper_run::folder::{self, Histograms};
use waykeeper_run::unfinished;
use waykeeper_run::{Longer, Run, longer};

/// A run, its histograms, and what its tail says.
#[derive(Debug, Clone)]
pub struct ReportedRun {
    /// What the user called it.
    pub name: String,
    /// The run; control characters in its texts are shown as escapes.
    pub run: Run,
    /// The samples of its repeats, by tag; empty where they are missing.
    pub samples: Histograms,
    /// What each case says about a longer run, in the order of the cases; empty where the events are missing.
    pub longer: Vec<Longer>,
    /// The keys of the workloads that its experiment defines itself.
    pub workloads: Option<BTreeMap<String, BTreeMap<String, String>>>,
    /// How many of its repeats are complete, where it has not ended.
    pub unfinished: Option<String>,
    /// What could not be read beside the record, and why: a sentence each.
    pub missing: Vec<String>,
}

impl ReportedRun {
    /// Reads a run from its folder, or from its `run.json`; of a run that has not ended, what is complete.
    ///
    /// # Errors
    /// A path that is neither, and a record that does not read. Histograms that are missing are no error: see
    /// [`ReportedRun::missing`].
    pub fn read(path: &Path) -> Result<Self, InputError> {
        let run = folder::read(path)?;
        let mut missing = Vec::new();
        let mut or_missing = |what: &str, error: InputError| {
            missing.push(one_line(&format!("{what} are left out: {error}")).into_owned());
        };
        let samples =
            folder::read_samples(path).map_err(|error| or_missing("The distributions", error)).unwrap_or_default();
        let longer = longer(path, None).map_err(|error| or_missing("The tails", error)).unwrap_or_default();
        let shown = |(tag, histogram): (String, _)| (one_line(&tag).into_owned(), histogram);
        Ok(Self {
            name: one_line(&path.display().to_string()).into_owned(),
            run: for_showing(&run),
            samples: samples.into_iter().map(shown).collect(),
            longer,
            workloads: folder::workloads(path),
            unfinished: unfinished_note(path),
            missing,
        })
    }
}

/// A sentence on a folder whose run has not ended.
fn unfinished_note(path: &Path) -> Option<String> {
    if !path.is_dir() || path.join(folder::RUN_FILE).exists() {
        return None;
    }
    let unfinished = unfinished::read(path).ok()??;
    Some(one_line(&unfinished.says()).into_owned())
}
