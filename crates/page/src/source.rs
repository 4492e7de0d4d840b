//! A run with what lies beside it in its folder, as far as that is there.

use std::path::Path;

use waykeeper_experiment::InputError;
use waykeeper_report::shown::{for_showing, one_line};
use waykeeper_run::folder::{self, Definitions, Histograms};
use waykeeper_run::{Longer, Run, longer_of};

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
    /// The workloads, and the mitigations, that its experiment defines itself.
    pub definitions: Option<[Definitions; 2]>,
    /// The least share of its work that its experiment wants of a neighbour; none where that is not known.
    pub least_neighbour_work: Option<f64>,
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
        // A run that goes on is read once: its log may have grown by the next look.
        let unfinished = folder::unfinished_in(path)?;
        let run = match &unfinished {
            Some(unfinished) => unfinished.to_run(path)?,
            None => folder::read(path)?,
        };
        let mut missing = Vec::new();
        let mut or_missing = |what: &str, error: InputError| {
            missing.push(one_line(&format!("{what} are left out: {error}")).into_owned());
        };
        let (samples, events) = match &unfinished {
            Some(unfinished) => (Ok(unfinished.samples()), Ok(unfinished.events())),
            None => (folder::read_samples(path, &run), folder::read_events(path, &run)),
        };
        let samples = samples.map_err(|error| or_missing("The distributions", error)).unwrap_or_default();
        let longer = events.map(|events| longer_of(&run, &events, None));
        let longer = longer.map_err(|error| or_missing("The tails", error)).unwrap_or_default();
        let shown = |(tag, histogram): (String, _)| (one_line(&tag).into_owned(), histogram);
        Ok(Self {
            name: one_line(&path.display().to_string()).into_owned(),
            run: for_showing(&run),
            samples: samples.into_iter().map(shown).collect(),
            longer,
            definitions: folder::definitions(path),
            least_neighbour_work: folder::least_neighbour_work(path),
            unfinished: unfinished.map(|unfinished| one_line(&unfinished.says()).into_owned()),
            missing,
        })
    }
}
