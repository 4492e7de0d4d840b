//! An experiment from its budgets to the smallest measure that holds them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use toml::Value;
use waykeeper_executor::ExecutorError;
use waykeeper_experiment::cases::{Case, Purpose};
use waykeeper_experiment::mitigation::NONE;
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_experiment::{InputError, Loaded, Set, TargetCore};
use waykeeper_policy::Offer;
use waykeeper_run::least_exposure;
use waykeeper_session::{
    Observer, Options, RunFolder, Session, SessionError, SingleRepeats, asked_budgets, own_budgets,
};
use waykeeper_statistics::Budget;
use waykeeper_workload::format_ns;

use super::conclude::{Concluding, conclude};
use super::dimension::TuneOver;
use super::families::{Family, TuneParties, families};
use super::measured::{LOG, MeasuredCases, policy_file};
use super::need::least_bits;
use super::record::Tuned;
use super::search::{Effort, Impossible, Rungs, TuneProgress, search};
use crate::choice::one_target;

/// The result in the folder of a search.
pub const RESULT: &str = "tuned.json";

/// Repeats in which a candidate is screened: two, so that one placement that happens to spare it does not lead astray.
const SCREENING: usize = 2;

/// Fresh repeats of a confirmation at least: as many as verdicts need.
const CONFIRMING: u32 = 5;

/// What is searched.
#[derive(Debug, Clone)]
pub struct TuneRequest {
    /// A bundled experiment or a file.
    pub experiment: String,
    /// Overrides.
    pub sets: Vec<Set>,
    /// Where to run it.
    pub on: Option<ExecutorKind>,
    /// Budgets; those of the experiment where there are none.
    pub budgets: Vec<String>,
    /// What may be varied; everything where there is nothing.
    pub over: Vec<TuneOver>,
    /// How long the search may take.
    pub time_limit: Duration,
    /// The folder of the search: new, or that of an interrupted one.
    pub folder: Option<PathBuf>,
    /// Whether simulated accesses that cannot affect the target are skipped.
    pub fast: bool,
}

/// Something that happened in a search.
#[derive(Debug)]
pub enum TuneEvent<'a> {
    /// The candidates are known.
    Begins {
        /// How many.
        candidates: usize,
        /// Kinds of measures.
        families: usize,
        /// The folder of the search.
        folder: &'a Path,
        /// Repeats that are known from an earlier search.
        known: usize,
    },
    /// A candidate was judged.
    Judged {
        /// What it is.
        called: &'a str,
        /// How far the search is.
        progress: TuneProgress<'a>,
    },
}

/// Follows a search.
pub trait TuneWatcher: Observer {
    /// Something happened.
    fn event(&self, event: TuneEvent<'_>);
}

/// Why a search ended without an answer.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The experiment cannot be measured.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The time limit is shorter than what one judgement takes.
    #[error(transparent)]
    TooShort(InputError),
    /// A file of the search cannot be written.
    #[error("{}: the search cannot be kept: {error}; name another folder with --keep", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
}

impl From<InputError> for TuneError {
    fn from(error: InputError) -> Self {
        SessionError::from(error).into()
    }
}

impl From<ExecutorError> for TuneError {
    fn from(error: ExecutorError) -> Self {
        SessionError::from(error).into()
    }
}

/// Searches for the smallest measure that holds the budgets.
///
/// # Errors
/// A mistake in the experiment or the options; a place that offers nothing or cannot measure the target; a time limit that is too
/// short to judge; a folder that cannot be written.
pub fn tune(request: &TuneRequest, watcher: &dyn TuneWatcher, stop: &AtomicBool) -> Result<Tuned, TuneError> {
    let begun = Instant::now();
    let plain = Loaded::open(&request.experiment, request.sets.clone())?;
    let budgets = budgets(&plain, &request.budgets)?;
    let (options, name) = (options(request), plain.name.clone());
    let bare = Session::plan(open(request, &[])?, &options)?;
    let parties = parties(&bare)?;
    let offer = bare.offer()?;
    let mut found = families(&offer, &parties, &request.over);
    if found.is_empty() {
        return Err(nothing_on_offer(&offer, request).into());
    }
    let folder = folder(request, &name)?;
    // Paths on the command line are taken from the working directory, and runs name files by absolute ones.
    let absolute = std::path::absolute(folder.path()).unwrap_or_else(|_| folder.path().to_owned());
    let files = write_candidates(&absolute, &found)?;
    let loaded = open(request, &files)?;
    is_the_same_search(folder.path(), &asked(&loaded, &budgets, request))?;
    let least_neighbour_work = loaded.experiment.least_neighbour_work;
    let mut session = Session::plan(loaded, &options)?;
    session.record_programs(watcher, stop)?;
    let repeats_asked = session.settings().repeats;
    let site = session.site().clone();
    let repeats = session.one_by_one();
    let refused = drop_refused(&mut found, &files, &repeats);
    let mitigations = mitigations(&found, &absolute);
    let rungs = ladders(&found, &repeats, &site, &offer);
    let names = names(&found);
    let observe = |progress: TuneProgress<'_>| {
        watcher.event(TuneEvent::Judged { called: &names[progress.candidate], progress });
    };
    let mut place = MeasuredCases::new(&repeats, &budgets, mitigations, stop, &observe);
    let kept = |error| TuneError::Write { path: folder.path().to_owned(), error };
    place.keep_in(folder.path()).map_err(kept)?;
    watcher.event(TuneEvent::Begins {
        candidates: names.len() - 1,
        families: found.len(),
        folder: folder.path(),
        known: place.known(),
    });
    let effort = Effort {
        budgets: budgets.clone(),
        screening: SCREENING.min(repeats_asked.max(1) as usize),
        confirming: repeats_asked.max(CONFIRMING) as usize,
        repeat_s: repeats.duration_s(),
        least_work: least_exposure(site.executor, least_neighbour_work),
        deadline: begun + request.time_limit,
    };
    let outcome = search(&place, &rungs, &effort, stop).map_err(|why| impossible(why, request, &budgets))?;
    let concluding = Concluding {
        experiment: &name,
        site: &site,
        cases: repeats.cases(),
        budgets: &budgets,
        families: &found,
        rungs: &rungs,
        least_work: effort.least_work,
        refused: &refused,
        folder: folder.path(),
        took: begun.elapsed(),
    };
    let tuned = conclude(&concluding, &outcome);
    let path = folder.path().join(RESULT);
    let text = serde_json::to_string_pretty(&tuned).map_err(std::io::Error::from);
    text.and_then(|text| std::fs::write(&path, text + "\n")).map_err(|error| TuneError::Write { path, error })?;
    Ok(tuned)
}

/// The candidates, without measuring or writing anything.
///
/// # Errors
/// As for [`tune`], as far as they are known before.
pub fn candidates(request: &TuneRequest) -> Result<Vec<Family>, TuneError> {
    let plain = Loaded::open(&request.experiment, request.sets.clone())?;
    budgets(&plain, &request.budgets)?;
    let bare = Session::plan(open(request, &[])?, &options(request))?;
    let offer = bare.offer()?;
    let found = families(&offer, &parties(&bare)?, &request.over);
    if found.is_empty() { Err(nothing_on_offer(&offer, request).into()) } else { Ok(found) }
}

fn options(request: &TuneRequest) -> Options {
    Options { on: request.on, fast: request.fast, ..Options::default() }
}

/// The experiment with the candidates as its mitigations, and without what a search has no use for.
fn open(request: &TuneRequest, files: &[PathBuf]) -> Result<Loaded, InputError> {
    let empty = || Value::Array(Vec::new());
    let names = files.iter().map(|path| Value::String(path.display().to_string())).collect();
    let own = [
        ("mitigations", Value::Array(names)),
        ("combine", Value::String("alone".into())),
        ("sentinel", Value::Boolean(false)),
        ("budgets", empty()),
        ("references", empty()),
        ("expectations", empty()),
    ];
    let own = own.map(|(key, value)| Set::from_option("waykeeper tune".into(), key, value));
    Loaded::open(&request.experiment, request.sets.iter().cloned().chain(own).collect())
}

/// The budgets that a request is about, its own or those of its experiment.
pub(crate) fn budgets_of(request: &TuneRequest) -> Result<Vec<Budget>, InputError> {
    budgets(&Loaded::open(&request.experiment, request.sets.clone())?, &request.budgets)
}

/// The budgets that were asked for, or else those of the experiment.
fn budgets(loaded: &Loaded, asked: &[String]) -> Result<Vec<Budget>, InputError> {
    let budgets = if asked.is_empty() { own_budgets(loaded)? } else { asked_budgets(asked)? };
    if budgets.is_empty() {
        let message = "there is none, and the experiment has none either; expected what is to hold, such as \
                       `--budget 'max<=50us over 1h'`, `--budget 'misses==0'` or `--budget 'slowdown<=1.05'`";
        return Err(InputError::in_option("--budget", message));
    }
    let named = budgets.iter().enumerate().find_map(|(index, it)| Some((index, it, it.mitigation.as_ref()?)));
    let Some((index, budget, name)) = named else { return Ok(budgets) };
    let message = match target_option(loaded, name) {
        Some(option) => {
            let text = budget.to_string();
            let rest = text.split_once(':').map_or("", |(_, rest)| rest.trim());
            format!(
                "`{name}` is a target of the experiment, and what a budget names is a mitigation; expected `{rest}` with `{option}`"
            )
        }
        None => format!(
            "`{budget}` is for the cases under `{name}` only; a search chooses the measure, expected a budget for all"
        ),
    };
    Err(match asked.get(index) {
        Some(asked) => InputError::in_option(format!("--budget '{asked}'"), message),
        None => loaded.error(&format!("budgets.{index}"), message),
    })
}

/// The option that chooses a target by the name of its workload, where the experiment has one.
fn target_option(loaded: &Loaded, name: &str) -> Option<String> {
    let target = loaded.experiment.targets.iter().find(|target| target.workload == name)?;
    Some(match target.core {
        TargetCore::Number(core) => format!("--target {name}@{core}"),
        TargetCore::Auto => format!("--target {name}@CORE"),
    })
}

/// Who is to be protected from whom. A search is for one target.
fn parties(session: &Session) -> Result<TuneParties, InputError> {
    let cases: Vec<&Case> = session.cases().cases.iter().filter(|case| case.purpose == Purpose::Case).collect();
    one_target(&cases)?;
    if cases.iter().any(|case| case.throughput) {
        let message = "the target's throughput counts, which no budget is about; expected `measure = \"latency\"`";
        return Err(session.loaded().error("targets.0.measure", message));
    }
    let neighbours: BTreeSet<u32> = cases.iter().flat_map(|case| case.neighbours.iter().map(|it| it.core)).collect();
    let target = cases.first().map_or(0, |case| case.target.core);
    let data_bytes = cases.iter().map(|case| case.target.pattern.data_bytes()).max().unwrap_or(0);
    Ok(TuneParties { target, neighbours: neighbours.into_iter().collect(), data_bytes })
}

fn nothing_on_offer(offer: &Offer, request: &TuneRequest) -> ExecutorError {
    let over: Vec<String> = request.over.iter().map(ToString::to_string).collect();
    let within = if over.is_empty() { String::new() } else { format!(" among {}", over.join(", ")) };
    ExecutorError::Refused(format!(
        "{} offers nothing{within} that a policy could set for the target against its neighbours: no cache that both use can be \
         divided, and there is no lock, priority, limit of bandwidth or colour; `waykeeper machine` shows what there is, and \
         `waykeeper doctor` what would bring more",
        offer.called
    ))
}

/// The folder of the search, held for this process. One that has a log goes on.
fn folder(request: &TuneRequest, name: &str) -> Result<RunFolder, TuneError> {
    let asked = request.folder.as_deref();
    let option = |path: &Path| format!("--keep {}", path.display());
    let folder = match asked.filter(|path| path.join(LOG).is_file()) {
        Some(path) => RunFolder::of_unfinished(path, &option(path))?,
        None => {
            let folder = RunFolder::prepare(asked, &format!("tune-{name}"))?;
            let option = option(folder.path());
            folder.held(&option)?
        }
    };
    // `a+b` is two mitigations together.
    if folder.path().display().to_string().contains('+') {
        let message = "the name of the folder has a `+`, which joins mitigations; expected another folder";
        return Err(InputError::in_option(option(folder.path()), message).into());
    }
    Ok(folder)
}

/// All that a repeat's figures depend on, as text.
fn asked(loaded: &Loaded, budgets: &[Budget], request: &TuneRequest) -> String {
    let budgets: Vec<String> = budgets.iter().map(ToString::to_string).collect();
    let version = env!("CARGO_PKG_VERSION");
    let (on, fast) = (request.on, request.fast);
    format!("# waykeeper {version}, budgets {budgets:?}, on {on:?}, fast {fast}\n{}", loaded.to_toml())
}

/// Keeps what was asked for in the folder, or compares it with what an interrupted search was asked for there.
fn is_the_same_search(folder: &Path, asked: &str) -> Result<(), TuneError> {
    let path = folder.join("search.toml");
    match std::fs::read_to_string(&path) {
        Ok(before) if before == asked => Ok(()),
        Ok(_) => {
            let message = "another search is kept in this folder: its experiment, budgets or options differ; expected the same command \
                           again, or a new folder";
            Err(InputError::in_option(format!("--keep {}", folder.display()), message).into())
        }
        Err(_) => std::fs::write(&path, asked).map_err(|error| TuneError::Write { path, error }),
    }
}

/// Writes the policy of each candidate; returns their paths, in the order of the families.
fn write_candidates(folder: &Path, families: &[Family]) -> Result<Vec<PathBuf>, TuneError> {
    let failed = |path: &Path, error| TuneError::Write { path: path.to_owned(), error };
    let mut paths = Vec::new();
    for rung in families.iter().flat_map(|family| &family.rungs) {
        let path = policy_file(folder, &rung.name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
        let text = toml::to_string(&rung.policy).map_err(|error| failed(&path, std::io::Error::other(error)))?;
        std::fs::write(&path, text).map_err(|error| failed(&path, error))?;
        paths.push(path);
    }
    Ok(paths)
}

/// Takes out what the place refuses; returns why, by family.
fn drop_refused(families: &mut [Family], files: &[PathBuf], repeats: &SingleRepeats) -> Vec<Option<String>> {
    let mut files = files.iter();
    let mut refused = Vec::new();
    for family in families {
        let mut why_not = None;
        family.rungs.retain(|_| {
            let mitigation = files.next().map(|path| path.display().to_string()).unwrap_or_default();
            let why = refusal(repeats, &mitigation);
            why_not = why.clone().or(why_not.take());
            why.is_none()
        });
        refused.push(why_not);
    }
    refused
}

fn refusal(repeats: &SingleRepeats, mitigation: &str) -> Option<String> {
    let mut cases = repeats.cases().iter().enumerate().filter(|(_, case)| case.mitigation == mitigation).peekable();
    if cases.peek().is_none() {
        let what = format!("mitigation {mitigation}");
        let refusal = repeats.refused().iter().find(|refusal| refusal.what.starts_with(&what));
        return Some(refusal.map_or_else(|| "the place does not offer it".into(), |refusal| refusal.why.clone()));
    }
    cases.find_map(|(index, _)| repeats.refuses(index))
}

/// The mitigation of each candidate, by its number; 0 is none.
fn mitigations(families: &[Family], folder: &Path) -> Vec<String> {
    let rungs = families.iter().flat_map(|family| &family.rungs);
    let policies = rungs.map(|rung| policy_file(folder, &rung.name).display().to_string());
    std::iter::once(NONE.to_owned()).chain(policies).collect()
}

/// What each candidate is called, by its number.
fn names(families: &[Family]) -> Vec<String> {
    let rungs = families.iter().flat_map(|family| &family.rungs);
    std::iter::once("no measure".to_owned()).chain(rungs.map(|rung| rung.called.clone())).collect()
}

/// The ladders, that of no measure first.
fn ladders(
    families: &[Family],
    repeats: &SingleRepeats,
    site: &waykeeper_experiment::site::Site,
    offer: &Offer,
) -> Vec<Rungs> {
    let mut next = 1;
    let target = repeats.cases().first().map(|case| &case.target);
    let mut ladders = vec![Rungs { candidates: vec![0], hint: None }];
    for family in families {
        let candidates: Vec<usize> = (next..next + family.rungs.len()).collect();
        next += candidates.len();
        let hint = || {
            let (level, target) = (family.ways_of?, target?);
            let domain = offer.cache(level)?.domains.iter().find(|domain| domain.cores.contains(&target.core))?;
            let need = least_bits(&target.pattern, &site.core(target.core)?.caches, level, domain.bits)?;
            let first = domain.bits as usize - candidates.len();
            (need as usize).checked_sub(first.max(1)).map(|rung| rung.min(candidates.len().saturating_sub(1)))
        };
        ladders.push(Rungs { hint: hint(), candidates });
    }
    ladders
}

fn impossible(why: Impossible, request: &TuneRequest, budgets: &[Budget]) -> TuneError {
    match why {
        Impossible::Refused(why) => why.into(),
        Impossible::Stopped => ExecutorError::Stopped.into(),
        Impossible::NotCounted(index) => {
            let message =
                "misses are not counted at this place; expected a budget on times, such as `max`, `mean` or `slowdown`";
            InputError::in_option(format!("--budget '{}'", budgets[index]), message).into()
        }
        Impossible::TooShort(takes) => {
            let ns = |duration: Duration| format_ns(duration.as_nanos() as f64);
            let message = format!(
                "{} is too short to judge: one candidate takes about {} at the length of a repeat and the budgets asked for; expected \
                 several times that, a shorter `over` or a higher rate in the budget",
                ns(request.time_limit),
                ns(takes)
            );
            TuneError::TooShort(InputError::in_option("--time-limit", message))
        }
    }
}
