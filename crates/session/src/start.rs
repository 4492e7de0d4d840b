//! A session: planned, started, concluded.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use waykeeper_executor::recorded::Programs;
use waykeeper_executor::{Begun, Executor, ExecutorError, Finished, RunSettings};
use waykeeper_experiment::cases::{Case, Plan};
use waykeeper_experiment::site::{ExecutorKind, Site};
use waykeeper_experiment::sweep::Sweep;
use waykeeper_experiment::{InputError, Loaded};
use waykeeper_platform::find_bundled;
use waykeeper_policy::Offer;
use waykeeper_run::measurement::{Measured, Measurement};
use waykeeper_run::unfinished::{self, FORMAT, Header, Log, REPEATS_FILE, SHARD_FORMAT, checksum, checksum_of};
use waykeeper_run::{Run as Record, SCHEMA, folder};
use waykeeper_statistics::Budget;
use waykeeper_workload::Pattern;

use crate::error::SessionError;
use crate::folder::RunFolder;
use crate::keeping::{Repeats, now};
use crate::machine::identity;
use crate::notes::notes;
use crate::observer::{Note, Observer, Unobserved};
use crate::place::{HOST, executor};
use crate::provenance::{provenance, tool};
use crate::settings::Options;
use crate::single::SingleRepeats;

/// An experiment at its place, before anything is measured.
pub struct Session {
    loaded: Loaded,
    executor: Box<dyn Executor>,
    plan: Plan,
    settings: RunSettings,
    budgets: Vec<Budget>,
    impossible: Option<ExecutorError>,
    command_line: Vec<String>,
    started: Option<String>,
    commit: Option<String>,
    /// What there is to know of recordings that stand for programs.
    recorded: Vec<String>,
}

/// Where a run is kept.
#[derive(Debug, Clone, Copy)]
pub enum Keep<'a> {
    /// Nowhere: there is only the result.
    Nowhere,
    /// In a folder: this one, or a new one below `waykeeper-runs`. Each repeat is logged there as it ends.
    InFolder(Option<&'a Path>),
}

/// A run that has begun.
pub struct Started {
    pub(crate) loaded: Loaded,
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) plan: Plan,
    pub(crate) settings: RunSettings,
    pub(crate) budgets: Vec<Budget>,
    /// The record before anything of it is measured.
    pub(crate) base: Record,
    /// What there is already.
    pub(crate) begun: Option<Begun>,
    pub(crate) kept: Option<(RunFolder, Repeats)>,
}

/// A run and what it was concluded from.
#[derive(Debug)]
pub struct Concluded {
    /// The record.
    pub record: Record,
    /// The repeats of each case of the plan, in its order.
    pub measured: Vec<Measured>,
    /// Why the run ended early, where the place could not go on.
    pub failed: Option<ExecutorError>,
    /// What was kept of it.
    pub kept: Kept,
}

/// What was kept of a run.
#[derive(Debug)]
pub enum Kept {
    /// Nothing was to be kept.
    Nowhere,
    /// All of it, in this folder.
    Whole(PathBuf),
    /// All that was measured before it was cut short, in this folder, and the log from which it can go on.
    Unfinished(PathBuf),
    /// A shard, in this folder: its log of repeats, from which `merge` makes the run. There is no record of its own.
    Shard {
        /// The folder.
        folder: PathBuf,
        /// Repeats in the log.
        complete: usize,
        /// Repeats that the shard measures.
        planned: usize,
    },
    /// Not the record: the folder cannot be written.
    Failed {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl Session {
    /// Finds the place of an experiment, and what is measured there.
    ///
    /// # Errors
    /// A mistake in the experiment, its files or the options; a place that cannot be measured at all.
    pub fn plan(loaded: Loaded, options: &Options) -> Result<Self, SessionError> {
        let budgets = crate::budgets::read(&loaded, &options.budgets)?;
        let executor = executor(&loaded, options.on)?;
        let site = &executor.place().site;
        let plan = Plan::new(&loaded, site)?;
        let mut ready = plan.cases.iter().filter(|case| !is_recorded_first(case, site));
        let impossible = ready.find_map(|case| executor.refuses(case));
        crate::budgets::check(&loaded, &options.budgets, &plan, &budgets)?;
        options.check(executor.as_ref(), &plan)?;
        let settings = options.settings(&loaded, site);
        options.check_shard(&plan, &settings, site)?;
        let started = options.started(&settings)?;
        let command_line = options.command_line.clone();
        let (commit, recorded) = (options.commit.clone(), Vec::new());
        Ok(Self { loaded, executor, plan, settings, budgets, impossible, command_line, started, commit, recorded })
    }

    /// The experiment.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Its cases here.
    pub fn cases(&self) -> &Plan {
        &self.plan
    }

    /// The cores and mitigations of the place.
    pub fn site(&self) -> &Site {
        &self.executor.place().site
    }

    /// What policies can ask of the place.
    ///
    /// # Errors
    /// A place that offers nothing to policies.
    pub fn offer(&self) -> Result<Offer, SessionError> {
        crate::place::offer(&self.loaded, self.site().executor)
    }

    /// How long and how often cases are measured.
    pub fn settings(&self) -> &RunSettings {
        &self.settings
    }

    /// Why the place cannot measure some case, where that is known beforehand: then it measures none.
    pub fn impossible(&self) -> Option<&ExecutorError> {
        self.impossible.as_ref()
    }

    /// What the record will say besides its figures, of the experiment at this place.
    pub fn notes(&self) -> Vec<String> {
        notes(&self.loaded, &self.plan, self.site())
    }

    /// The budgets that this run cannot meet, whatever is measured: a sentence each.
    pub fn budgets_out_of_reach(&self) -> Vec<String> {
        crate::budgets::out_of_reach(&self.budgets, &self.plan, &self.settings, self.site())
    }

    /// Puts recordings in the place of programs that cannot run here: what is kept from an earlier run, or else each program is
    /// run and recorded now. Before [`start`](Self::start), which does it otherwise without an observer.
    ///
    /// # Errors
    /// A program that cannot be recorded; a stop.
    pub fn record_programs(&mut self, observer: &dyn Observer, stop: &AtomicBool) -> Result<(), SessionError> {
        let progress = |program: &str, accesses: u64| observer.recording(program, accesses);
        let recorded = Programs { stop, progress: &progress }.replace(&mut self.plan, &self.executor.place().site);
        observer.ended();
        self.recorded.extend(recorded?.into_iter().map(|program| program.note));
        Ok(())
    }

    /// Its cases one repeat at a time, kept nowhere. What is [`impossible`](Self::impossible) stays so, case by case.
    pub fn one_by_one(self) -> SingleRepeats {
        let Self { executor, plan, settings, .. } = self;
        SingleRepeats { executor, plan, settings }
    }

    /// Begins the run.
    ///
    /// # Errors
    /// A place that cannot measure some case; a folder that cannot be written, has something in it, or belongs to another
    /// process; a file of the experiment that is gone.
    pub fn start(mut self, keep: Keep<'_>) -> Result<Started, SessionError> {
        if let Some(why) = self.impossible.take() {
            return Err(why.into());
        }
        self.record_programs(&Unobserved, &AtomicBool::new(false))?;
        let folder = match keep {
            Keep::Nowhere => None,
            Keep::InFolder(asked) => {
                let folder = RunFolder::prepare(asked, &self.loaded.name)?;
                let option = format!("--out {}", folder.path().display());
                Some(folder.held(&option)?)
            }
        };
        let base = self.record()?;
        let kept = match folder {
            Some(folder) => {
                let repeats = self.repeats(&folder, &base)?;
                Some((folder, repeats))
            }
            None => None,
        };
        let Self { loaded, executor, plan, settings, budgets, .. } = self;
        Ok(Started { loaded, executor, plan, settings, budgets, base, begun: None, kept })
    }

    /// The log of repeats in a folder.
    fn repeats(&self, folder: &RunFolder, base: &Record) -> Result<Repeats, InputError> {
        let experiment_toml = self.loaded.to_toml();
        let shard = self.settings.shard;
        let is_host = self.site().executor == ExecutorKind::Host;
        let header = Header {
            format: if shard.is_some() { SHARD_FORMAT } else { FORMAT },
            run: base.clone(),
            plan: self.plan.clone(),
            thresholds_ns: Vec::new(),
            budgets: self.budgets.iter().map(ToString::to_string).collect(),
            explain: self.settings.explain,
            fast: self.settings.fast,
            shard,
            machine: if is_host && shard.is_some() { identity() } else { None },
            reproducible: self.settings.reproducible,
            experiment_crc: checksum_of(&experiment_toml),
            files: files(&self.loaded)?,
        };
        Ok(Repeats::new(Log::new(folder.path()), header, experiment_toml))
    }

    /// The record of the run before anything of it is measured.
    fn record(&self) -> Result<Record, InputError> {
        let provenance = Some(provenance(&self.loaded, &self.plan)?);
        let (loaded, settings, place) = (&self.loaded, &self.settings, self.executor.place());
        Ok(Record {
            schema: SCHEMA,
            tool: tool(self.commit.as_deref()),
            command_line: self.command_line.clone(),
            started: self.started.clone().unwrap_or_else(now),
            experiment: loaded.name.clone(),
            title: loaded.experiment.title.clone(),
            platform: place.site.platform.clone(),
            executor: place.site.executor,
            imported: None,
            duration_s: settings.duration_s,
            simulated_samples: settings.simulated_samples,
            peak_interval_s: Some(settings.peak_interval_ns / 1e9).filter(|interval| settings.duration_s > *interval),
            repeats: settings.repeats,
            seed: settings.seed,
            cut_short: false,
            clock: place.clock.clone(),
            machine: place.machine.clone(),
            parameters: place.parameters.clone(),
            provenance,
            privileges: Vec::new(),
            refused: self.plan.refused.clone(),
            sweeps: loaded.experiment.sweep.iter().map(Sweep::record).collect(),
            table: loaded.experiment.table.clone(),
            cases: Vec::new(),
            sentinels: Vec::new(),
            budgets: Vec::new(),
            expectations: Vec::new(),
            notes: place.notes.iter().cloned().chain(self.notes()).chain(self.recorded.iter().cloned()).collect(),
        })
    }
}

impl Started {
    /// Measures what is not there yet, and concludes. A set `stop` ends it early with what there is.
    ///
    /// # Errors
    /// A place that cannot go on before each case was measured once; a stop before anything was measured.
    pub fn run(self, observer: &dyn Observer, stop: &AtomicBool) -> Result<Concluded, SessionError> {
        let (started, finished) = self.measure(observer, stop)?;
        Ok(started.conclude(finished))
    }

    fn measure(mut self, observer: &dyn Observer, stop: &AtomicBool) -> Result<(Self, Finished), ExecutorError> {
        let coarseness = self.base.clock.coarseness().filter(|_| self.base.executor == ExecutorKind::Host);
        coarseness.into_iter().for_each(|coarseness| observer.note(&Note::CoarseClock(coarseness)));
        let begun = self.begun.take();
        let keeper = Noting { repeats: self.kept.as_ref().map(|(_, repeats)| repeats), observer };
        let progress = |progress: waykeeper_executor::Progress<'_>| observer.progress(progress);
        let (executor, plan, settings) = (self.executor.as_ref(), &self.plan, &self.settings);
        let finished = waykeeper_executor::run(executor, plan, settings, begun, &keeper, stop, &progress);
        observer.ended();
        if finished.is_err()
            && let Some((folder, repeats)) = &self.kept
            && repeats.is_begun()
        {
            observer.note(&Note::RepeatsKept(folder.path().to_owned()));
        }
        let finished = finished?;
        let nothing = finished.measured.iter().all(|measured| measured.repeats.is_empty());
        if nothing { Err(ExecutorError::Stopped) } else { Ok((self, finished)) }
    }

    fn conclude(self, finished: Finished) -> Concluded {
        let Finished { measured, cut_short, failed } = finished;
        let mut record = self.base.concluded(&self.loaded.experiment, &self.plan, &measured, &self.budgets);
        record.cut_short = cut_short || self.settings.shard.is_some();
        record.notes.extend(failed.as_ref().map(|error| format!("The run ended early: {error}.")));
        let kept = match &self.kept {
            None => Kept::Nowhere,
            Some((folder, _)) if self.settings.shard.is_some() => shard_in(folder.path(), cut_short),
            Some((folder, _)) => write(folder.path(), &record, &measured, &self.loaded.to_toml()),
        };
        Concluded { record, measured, failed, kept }
    }
}

/// A program as target of a simulated platform.
fn is_recorded_first(case: &Case, site: &Site) -> bool {
    site.executor == ExecutorKind::Sim && matches!(case.target.pattern, Pattern::Command { .. })
}

/// What the log of a shard has.
fn shard_in(path: &Path, cut_short: bool) -> Kept {
    let folder = path.to_owned();
    let failed = |why: String| Kept::Failed { folder: path.to_owned(), error: io::Error::other(why) };
    match unfinished::read(path) {
        Ok(Some(log)) if cut_short || log.repeats.len() == log.planned() => {
            Kept::Shard { folder, complete: log.repeats.len(), planned: log.planned() }
        }
        Ok(Some(log)) => failed(format!("only {} of {} repeats are in its log", log.repeats.len(), log.planned())),
        Ok(None) => failed("no repeat is in its log".into()),
        Err(error) => failed(error.to_string()),
    }
}

pub(crate) fn write(path: &Path, record: &Record, measured: &[Measured], experiment_toml: &str) -> Kept {
    match folder::write(path, record, measured, experiment_toml) {
        Ok(()) if path.join(REPEATS_FILE).exists() => Kept::Unfinished(path.to_owned()),
        Ok(()) => Kept::Whole(path.to_owned()),
        Err(error) => Kept::Failed { folder: path.to_owned(), error },
    }
}

/// Keeps repeats where there is a log, and notes when it cannot be written.
struct Noting<'a> {
    repeats: Option<&'a Repeats>,
    observer: &'a dyn Observer,
}

impl waykeeper_executor::Keeper for Noting<'_> {
    fn begin(&self, thresholds_ns: &[Option<f64>]) {
        if let Some(repeats) = self.repeats {
            repeats.begin(thresholds_ns);
        }
    }

    fn keep(&self, case: usize, repeat: usize, measurement: &Measurement) {
        if let Some(error) = self.repeats.and_then(|repeats| repeats.keep(case, repeat, measurement)) {
            self.observer.note(&Note::LogNotWritten(error));
        }
    }
}

/// Checksums of the files that an experiment names, by their absolute paths.
///
/// # Errors
/// A name that stands for no file.
fn files(loaded: &Loaded) -> Result<BTreeMap<String, u32>, InputError> {
    let mut paths: Vec<String> = loaded.policy_files()?.into_values().collect();
    let platform = loaded.experiment.platform.as_str();
    if platform != HOST && find_bundled(platform).is_none() {
        paths.push(loaded.file("platform", platform)?);
    }
    let absolute =
        |path: String| std::path::absolute(&path).unwrap_or_else(|_| PathBuf::from(path)).display().to_string();
    Ok(paths.into_iter().map(absolute).map(|path| (path.clone(), checksum(&path))).collect())
}
