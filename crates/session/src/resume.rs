//! A run that was interrupted or killed goes on where it ended.

use std::path::Path;

use serde_json::Value;
use waykeeper_executor::recorded::replace_by_kept;
use waykeeper_executor::{Begun, Executor, OfferedSite};
use waykeeper_experiment::cases::{Case, Plan};
use waykeeper_experiment::{InputError, Loaded};
use waykeeper_run::unfinished::{self, Header, JournalEntry, Log, Unfinished, checksum};
use waykeeper_run::{ClockRecord, folder};

use crate::error::SessionError;
use crate::folder::RunFolder;
use crate::keeping::{Repeats, now};
use crate::machine::identity;
use crate::place::executor;
use crate::settings::Options;
use crate::start::Started;

/// The counter's frequency is measured anew each time: this much apart, it is still the same counter.
const SAME_FREQUENCY: f64 = 1e-3;

/// An interrupted run that can go on here.
pub struct Resumption {
    folder: RunFolder,
    option: String,
    loaded: Loaded,
    executor: Box<dyn Executor>,
    unfinished: Unfinished,
}

impl Resumption {
    /// Finds the run in a folder and holds the folder. Changes nothing in it.
    ///
    /// # Errors
    /// A folder without such a run, or that another process writes to; files that are damaged; a place, program or file that
    /// is not as it was when the run began.
    pub fn find(path: &Path) -> Result<Self, SessionError> {
        let option = format!("--resume {}", path.display());
        let refuse = |message: &str| InputError::in_option(&option, message);
        if !path.is_dir() {
            return Err(refuse("this is no folder; expected the folder of a run that was interrupted or killed").into());
        }
        let folder = RunFolder::of_unfinished(path, &option)?;
        let unfinished = found(path, &option)?;
        let loaded = unfinished.experiment(path)?;
        let executor = executor(&loaded, Some(unfinished.header.run.executor))?;
        let mut plan = Plan::new(&loaded, &executor.place().site)?;
        replace_by_kept(&mut plan, &executor.place().site)?;
        if let Some(difference) = difference(&unfinished.header, executor.place(), &plan) {
            let message = format!(
                "{difference}; a run goes on only with the same experiment and program on the same machine and kernel; run the \
                 experiment.toml in the folder anew with `waykeeper run`, or look at the complete repeats with `waykeeper show`"
            );
            return Err(refuse(&message).into());
        }
        Ok(Self { folder, option, loaded, executor, unfinished })
    }

    /// Repeats that are complete, of all cases.
    pub fn complete(&self) -> usize {
        self.unfinished.repeats.len()
    }

    /// Whether nothing is left to do: a shard leaves its log, and no record.
    pub fn is_complete_shard(&self) -> bool {
        self.unfinished.share.is_some() && self.complete() == self.planned()
    }

    /// Repeats that the run has, of all cases; of a shard, its own.
    pub fn planned(&self) -> usize {
        self.unfinished.planned()
    }

    /// Goes on with the run: what was concluded from its complete repeats is removed, and will be written anew.
    ///
    /// # Errors
    /// A folder that cannot be written; budgets or a log that no longer read.
    pub fn start(self) -> Result<Started, SessionError> {
        let Self { folder, option, loaded, executor, unfinished } = self;
        let path = folder.path();
        let budgets = unfinished.budgets(path)?;
        let cannot_write = |error| SessionError::Write { folder: path.to_owned(), error };
        folder::take_conclusion_away(path).map_err(cannot_write)?;
        let mut log = Log::reopen(path, unfinished.end).map_err(cannot_write)?;
        log.append(&JournalEntry::Resumed { at: now() }).map_err(cannot_write)?;
        let unfinished = found(path, &option)?;
        let options = Options {
            explain: Some(unfinished.header.explain),
            fast: unfinished.header.fast,
            shard: unfinished.header.shard,
            ..Options::default()
        };
        let mut settings = options.settings(&loaded, &executor.place().site);
        settings.reproducible = unfinished.header.reproducible;
        let mut base = unfinished.header.run.clone();
        base.notes.extend(unfinished.gap_notes());
        let Unfinished { header, experiment_toml, repeats, .. } = unfinished;
        let begun = Some(Begun { thresholds_ns: header.thresholds_ns.clone(), repeats });
        // The published figures beside the cases are those of the experiment as it was written.
        let plan = header.plan.clone();
        let repeats = Repeats::new(log, header, experiment_toml);
        Ok(Started { loaded, executor, plan, settings, budgets, base, begun, kept: Some((folder, repeats)) })
    }
}

/// The unfinished run in a folder.
fn found(folder: &Path, option: &str) -> Result<Unfinished, InputError> {
    let refuse = |message: &str| Err(InputError::in_option(option, message));
    match unfinished::read(folder)? {
        Some(unfinished) => Ok(unfinished),
        None if folder.join(folder::RUN_FILE).exists() => {
            refuse("this run is complete; `waykeeper show` shows it, and a new run needs a folder of its own")
        }
        None => refuse(
            "it has no log of repeats (repeats.log); expected the folder of a run of which a repeat was complete when it was \
             interrupted or killed",
        ),
    }
}

/// What is not as it was when the run began.
fn difference(header: &Header, place: &OfferedSite, plan: &Plan) -> Option<String> {
    let (then, version) = (&header.run, env!("CARGO_PKG_VERSION"));
    if then.tool.version != version {
        return Some(format!(
            "the run was begun by version {} of the program, and this is {version}",
            then.tool.version
        ));
    }
    let (was, is) = (&then.platform, &place.site.platform);
    if was != is {
        return Some(format!("the run was begun on `{was}`, and this is `{is}`"));
    }
    if let Some((path, _)) = header.files.iter().find(|(path, sum)| checksum(path) != **sum) {
        return Some(format!("`{path}` was changed since the run began"));
    }
    if header.machine.is_some() && header.machine != identity() {
        return Some("the shard was begun on another machine".into());
    }
    let values = |what: &str, was: Value, is: Value| {
        let (key, was, is) = differing(what, &was, &is)?;
        Some(format!("{key} was {was} when the run began, and is {is}"))
    };
    let json = |value: serde_json::Result<Value>| value.unwrap_or_default();
    let machine =
        values("machine", json(serde_json::to_value(&then.machine)), json(serde_json::to_value(&place.machine)));
    let parameters = || {
        let (was, is) = (serde_json::to_value(&then.parameters), serde_json::to_value(&place.parameters));
        values("parameters", json(was), json(is))
    };
    machine
        .or_else(parameters)
        .or_else(|| other_clock(&then.clock, &place.clock))
        .or_else(|| cases(&header.plan.cases, &plan.cases))
}

pub(crate) fn other_clock(was: &ClockRecord, is: &ClockRecord) -> Option<String> {
    if was.name != is.name {
        return Some(format!("samples were timed by {}, and would be by {}", was.name, is.name));
    }
    let apart = (is.frequency_hz / was.frequency_hz - 1.0).abs();
    (apart > SAME_FREQUENCY)
        .then(|| format!("{} ran at {} Hz, and runs at {} Hz", was.name, was.frequency_hz, is.frequency_hz))
}

/// Published figures do not count: they are those of the experiment before overrides.
fn cases(was: &[Case], is: &[Case]) -> Option<String> {
    if was.len() != is.len() {
        return Some(format!("the run has {} cases, and {} are possible here now", was.len(), is.len()));
    }
    let bare = |case: &Case| Case { reference: None, ..case.clone() };
    let (was, _) = was.iter().zip(is).find(|(was, is)| bare(was) != bare(is))?;
    Some(format!("the case `{}` would not be the same as before", was.name))
}

/// The first key at which two values differ, with both.
pub(crate) fn differing(key: &str, was: &Value, is: &Value) -> Option<(String, String, String)> {
    if was == is {
        return None;
    }
    let (Value::Object(a), Value::Object(b)) = (was, is) else {
        return Some((key.to_owned(), was.to_string(), is.to_string()));
    };
    let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
    keys.into_iter().find_map(|name| {
        let of = |map: &serde_json::Map<String, Value>| map.get(name).cloned().unwrap_or_default();
        let dot = if key.is_empty() { "" } else { "." };
        differing(&format!("{key}{dot}{name}"), &of(a), &of(b))
    })
}
