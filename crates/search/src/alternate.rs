//! The smallest measure and the worst neighbour by turns: each is searched beside what the other one found.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use waykeeper_executor::ExecutorError;
use waykeeper_experiment::describe::NeighbourBuffer;
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_experiment::{InputError, Loaded, Set};
use waykeeper_report::figure::ratio;
use waykeeper_report::text::paragraph;
use waykeeper_session::{Options, Session, is_room};
use waykeeper_statistics::{Budget, Metric};

use crate::hunt::{HuntError, HuntRecord, HuntRequest, HuntWatcher, Objective, as_neighbours, hunt, not_tried};
use crate::tune::{TuneError, TuneRequest, TuneWatcher, Tuned, budgets_of, tune};

/// Version of the record.
pub const SCHEMA: u32 = 1;

/// More rounds than this are not made.
const ROUNDS: usize = 6;

/// The part of the time that is left that a hunt may take.
const HUNTING: f64 = 0.4;

/// Why the rounds ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlternateEnd {
    /// The answer also holds beside the worst neighbour found against it.
    NeitherImproves,
    /// The worst neighbour found is one that the answer was found beside.
    NothingWorse,
    /// Nothing on offer holds beside the neighbours found.
    NothingHolds,
    /// The time or the rounds ran out, or it was stopped: the last answer was not searched beside the last neighbour.
    CutShort,
}

/// A round: the answer beside all neighbours so far, and the worst neighbour found against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlternateRound {
    /// What holds beside all neighbours so far.
    pub answer: Option<String>,
    /// What it takes from everyone else, as a share of what there is.
    pub taken: Option<f64>,
    /// The worst neighbour found against it, in a few words.
    pub neighbour: Option<String>,
    /// The target's figure beside that neighbour over that alone, both under the answer.
    pub slowdown: Option<f64>,
}

/// What the rounds found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlternateRecord {
    /// Version of this record.
    pub schema: u32,
    /// Why they ended.
    pub ended: AlternateEnd,
    /// What of the target the hunts were for: `mean`, `p99.99` or `max`.
    pub objective: String,
    /// The rounds.
    pub rounds: Vec<AlternateRound>,
    /// The worst neighbour found in the last hunt, as a file that `--against` takes.
    pub worst: Option<String>,
    /// The last search of a measure, beside all neighbours that it knew.
    pub tuned: Tuned,
    /// How long it took, seconds.
    pub took_s: f64,
    /// What was not searched.
    pub not_searched: Vec<String>,
}

/// What both searches are asked for.
#[derive(Debug)]
pub struct AlternateRequest {
    /// The search of a measure; its time limit is that of both.
    pub tune: TuneRequest,
    /// At most so many candidates in each hunt.
    pub candidates: usize,
    /// Decides which patterns are drawn.
    pub seed: u64,
}

/// Searches a measure and a neighbour by turns, until neither improves.
///
/// # Errors
/// This machine, where the two are separate commands; as for [`tune`] and [`hunt`].
pub fn alternate(
    request: &AlternateRequest,
    tuning: &dyn TuneWatcher,
    hunting: &dyn HuntWatcher,
    stop: &AtomicBool,
) -> Result<AlternateRecord, TuneError> {
    let begun = Instant::now();
    let left = || request.tune.time_limit.saturating_sub(begun.elapsed());
    is_allowed(&request.tune)?;
    let objective = objective(&budgets_of(&request.tune)?);
    let own = own_neighbour(&request.tune.experiment, &request.tune.sets)?;
    let mut neighbours: Vec<FoundNeighbour> = Vec::new();
    let mut rounds: Vec<AlternateRound> = Vec::new();
    let mut before: Option<Tuned> = None;
    let mut target_period_ns = None;
    let (ended, tuned) = loop {
        let tuned = match tune(&tune_request(request, &neighbours, rounds.len(), left())?, tuning, stop) {
            Ok(tuned) => tuned,
            Err(error) => match before {
                // The time was too short for one more search, or it was stopped: the answer before stands.
                Some(before) => break (cut_short(error)?, before),
                None => return Err(error),
            },
        };
        let same = before.as_ref().is_some_and(|before| before.answer == tuned.answer);
        let holds = tuned.answer.is_some() || tuned.already_met;
        if !holds || tuned.cut_short || same {
            rounds.push(round(&tuned, None));
            let cut = tuned.cut_short || stop.load(Ordering::Relaxed);
            let ended = match (holds && same, cut) {
                (true, _) => AlternateEnd::NeitherImproves,
                (false, true) => AlternateEnd::CutShort,
                (false, false) => AlternateEnd::NothingHolds,
            };
            break (ended, tuned);
        }
        let hunted = match hunt(&hunt_request(request, objective, &tuned, left()), hunting, stop) {
            Ok(hunted) => hunted,
            // The time was too short for a hunt: the answer before it stands.
            Err(HuntError::TooShort(_)) => {
                rounds.push(round(&tuned, None));
                break (AlternateEnd::CutShort, tuned);
            }
            Err(HuntError::Session(error)) => return Err(error.into()),
        };
        rounds.push(round(&tuned, Some(&hunted)));
        target_period_ns = hunted.target_period_ns;
        if hunted.cut_short || rounds.len() >= ROUNDS {
            break (AlternateEnd::CutShort, tuned);
        }
        match worst(&hunted) {
            Some(found) if !neighbours.contains(&found) && own.as_ref() != Some(&found) => neighbours.push(found),
            _ => break (AlternateEnd::NothingWorse, tuned),
        }
        before = Some(tuned);
    };
    Ok(AlternateRecord {
        schema: SCHEMA,
        ended,
        objective: objective.name().into(),
        worst: neighbours.last().and_then(file_of),
        rounds,
        tuned,
        took_s: begun.elapsed().as_secs_f64(),
        not_searched: not_searched(target_period_ns),
    })
}

/// On this machine the policy of a round would have to be applied by hand between the two.
fn is_allowed(request: &TuneRequest) -> Result<(), TuneError> {
    let loaded = Loaded::open(&request.experiment, request.sets.clone())?;
    let session = Session::plan(loaded, &Options { on: request.on, ..Options::default() })?;
    if session.site().executor == ExecutorKind::Sim || is_room() {
        return Ok(());
    }
    let experiment = &request.experiment;
    let message = format!(
        "on this machine the two searches are separate: `waykeeper hunt {experiment} --out worst.toml`, then `waykeeper tune \
         {experiment} --against worst.toml` with the same budgets; `--for PLATFORM` or a room would do for both at once"
    );
    Err(InputError::in_option("--hunt", message).into())
}

/// What hunts are for where these are to hold: their own figure, and the rarest of several.
fn objective(budgets: &[Budget]) -> Objective {
    let of = |budget: &Budget| match budget.metric {
        Metric::Max | Metric::Jitter => Objective::Max,
        Metric::P50 | Metric::P99 | Metric::P99_9 | Metric::P99_99 => Objective::P99_99,
        Metric::Mean | Metric::Min | Metric::Misses | Metric::Slowdown => Objective::Mean,
    };
    budgets.iter().map(of).max().unwrap_or(Objective::Mean)
}

/// What an error of a later search means for the whole: a stop or a short time end it, anything else is one.
fn cut_short(error: TuneError) -> Result<AlternateEnd, TuneError> {
    use waykeeper_session::SessionError;
    match error {
        TuneError::Session(SessionError::Executor(ExecutorError::Stopped)) => Ok(AlternateEnd::CutShort),
        TuneError::TooShort(_) => Ok(AlternateEnd::CutShort),
        error => Err(error),
    }
}

/// The experiment's own neighbour, where it is a bundled workload as it is: a hunt that finds it has found nothing worse.
fn own_neighbour(experiment: &str, sets: &[Set]) -> Result<Option<FoundNeighbour>, TuneError> {
    let loaded = Loaded::open(experiment, sets.to_vec())?;
    Ok(match loaded.experiment.neighbours.as_slice() {
        [only]
            if only.with.is_empty()
                && only.buffer == NeighbourBuffer::Own
                && !loaded.experiment.workloads.contains_key(&only.workload) =>
        {
            Some(FoundNeighbour::Bundled(only.workload.clone()))
        }
        _ => None,
    })
}

/// The search of a measure beside the experiment's neighbours and each one found, as a setting of its own.
fn tune_request(
    request: &AlternateRequest,
    found: &[FoundNeighbour],
    round: usize,
    time_limit: Duration,
) -> Result<TuneRequest, TuneError> {
    let mut own = request.tune.clone();
    let text = Loaded::open(&own.experiment, own.sets.clone())?.to_toml();
    let table: Table = text.parse().unwrap_or_default();
    let neighbours = table.get("neighbours").and_then(Value::as_array).cloned().unwrap_or_default();
    let (cores, mut next) = (cores(&neighbours), neighbours.len());
    for (number, workload) in found.iter().enumerate() {
        let group = format!("found-{}", number + 1);
        let on_all = |name: &str| {
            let entry = [("workload", Value::String(name.to_owned())), ("cores", cores.clone())];
            Value::Table(entry.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
        };
        let (workloads, placed) = match workload {
            FoundNeighbour::Bundled(name) => (Table::new(), vec![on_all(name)]),
            FoundNeighbour::Pattern(table) => {
                (Table::from_iter([(group.clone(), Value::Table(table.clone()))]), vec![on_all(&group)])
            }
            FoundNeighbour::Mixture(table) => as_neighbours(table, &group).unwrap_or_default(),
        };
        own.sets.extend(workloads.into_iter().map(|(name, workload)| set(&["workloads", &name], workload)));
        for mut entry in placed {
            if let Some(entry) = entry.as_table_mut() {
                entry.insert("group".into(), Value::String(group.clone()));
            }
            // Behind the others: sweeps may vary those.
            own.sets.push(set(&["neighbours", &next.to_string()], entry));
            next += 1;
        }
    }
    own.time_limit = time_limit;
    own.folder = own.folder.map(|folder| folder.join(format!("round-{}", round + 1)));
    Ok(own)
}

fn set(path: &[&str], value: Value) -> Set {
    let path = path.iter().map(|part| (*part).to_owned()).collect();
    Set { option: "waykeeper tune --hunt".into(), path, value }
}

/// The cores of all neighbours, as the experiment writes those of the first where they are one entry.
fn cores(neighbours: &[Value]) -> Value {
    let all: Vec<&Value> = neighbours.iter().filter_map(|entry| entry.get("cores")).collect();
    let mut cores: Vec<Value> = Vec::new();
    for value in &all {
        match value {
            Value::Array(list) => {
                cores.extend(list.iter().filter(|core| !cores.contains(core)).cloned().collect::<Vec<_>>())
            }
            other => return (*other).clone(),
        }
    }
    Value::Array(cores)
}

fn hunt_request(request: &AlternateRequest, objective: Objective, tuned: &Tuned, left: Duration) -> HuntRequest {
    HuntRequest {
        experiment: request.tune.experiment.clone(),
        sets: request.tune.sets.clone(),
        on: request.tune.on,
        policy: tuned.policy.as_ref().map(|policy| absolute(Path::new(policy))),
        cores: Vec::new(),
        also: Vec::new(),
        shared_lines: false,
        stress_ng: false,
        turns: None,
        objective,
        members: 0,
        candidates: request.candidates,
        time_limit: left.mul_f64(HUNTING),
        seed: request.seed,
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// A neighbour that was found: the name of a bundled workload, a pattern, or patterns with their cores as in an experiment.
#[derive(Debug, Clone, PartialEq)]
enum FoundNeighbour {
    Bundled(String),
    Pattern(Table),
    Mixture(Table),
}

/// The worst neighbour of a hunt, bundled or not.
fn worst(hunted: &HuntRecord) -> Option<FoundNeighbour> {
    let worst = hunted.candidates.first()?;
    match (&worst.bundled, &worst.workload) {
        (Some(name), _) => Some(FoundNeighbour::Bundled(name.clone())),
        (None, Some(workload)) => Some(FoundNeighbour::Pattern(workload.parse().ok()?)),
        (None, None) => Some(FoundNeighbour::Mixture(worst.neighbours.as_ref()?.parse().ok()?)),
    }
}

/// The neighbour as a file that `--against` takes.
fn file_of(found: &FoundNeighbour) -> Option<String> {
    match found {
        FoundNeighbour::Bundled(name) => Some(waykeeper_workload::find_bundled(name)?.text.to_owned()),
        FoundNeighbour::Pattern(table) | FoundNeighbour::Mixture(table) => toml::to_string(table).ok(),
    }
}

fn round(tuned: &Tuned, hunted: Option<&HuntRecord>) -> AlternateRound {
    let candidates = tuned.families.iter().flat_map(|family| &family.candidates);
    let answer = candidates.into_iter().find(|candidate| Some(&candidate.name) == tuned.answer.as_ref());
    let worst = hunted.and_then(|hunted| hunted.candidates.first());
    let none = tuned.already_met.then(|| "no measure".to_owned());
    AlternateRound {
        answer: answer.map(|answer| answer.called.clone()).or(none),
        taken: answer.map(|answer| answer.taken),
        neighbour: worst.map(|worst| worst.bundled.clone().unwrap_or_else(|| worst.called.clone())),
        slowdown: worst.map(|worst| worst.mean),
    }
}

fn not_searched(target_period_ns: Option<u64>) -> Vec<String> {
    let neighbours = format!("other neighbours: those tried are {}", not_tried(target_period_ns, false));
    vec![neighbours, "measures of different kinds in other amounts together than `tune` lists".to_owned()]
}

/// The rounds as text.
pub fn text(record: &AlternateRecord) -> String {
    let mut lines = Vec::new();
    for (number, round) in record.rounds.iter().enumerate() {
        let answer = round.answer.as_deref().unwrap_or("nothing on offer holds");
        let taken = round.taken.map_or(String::new(), |taken| format!(" ({:.0} % taken)", taken * 100.0));
        let hunted = round.neighbour.as_ref().map_or(String::new(), |neighbour| {
            format!(
                "; worst neighbour against it: {neighbour}, {} in the target's {}",
                ratio(round.slowdown),
                record.objective
            )
        });
        lines.push(format!("Round {}: {answer}{taken}{hunted}.", number + 1));
    }
    lines.push(format!("The hunts were for the target's {}.", record.objective));
    lines.push(match record.ended {
        AlternateEnd::NeitherImproves => {
            "The answer is the smallest share that was not seen broken, also beside the worst neighbour found against it."
        }
        AlternateEnd::NothingWorse => {
            "The answer is the smallest share that was not seen broken; the hunt found no other neighbour against it."
        }
        AlternateEnd::NothingHolds => "Nothing on offer holds beside the neighbours that were found.",
        AlternateEnd::CutShort => {
            "Cut short: the last answer was not searched again beside the last neighbour, so that a larger share may be needed."
        }
    }
    .to_owned());
    lines.extend(record.not_searched.iter().map(|what| format!("Not searched: {what}.")));
    lines.iter().map(|line| paragraph(line, "  ") + "\n").collect()
}

/// The JSON Schema of the rounds.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(AlternateRecord)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunts_are_for_the_figure_of_the_budgets() {
        let of = |budgets: &[&str]| {
            let budgets: Vec<Budget> = budgets.iter().map(|text| text.parse().unwrap()).collect();
            objective(&budgets).name()
        };
        assert_eq!(of(&["mean<=2us"]), "mean");
        assert_eq!(of(&[" max <= 2us over 1h"]), "max");
        assert_eq!(of(&["none:max<=2us"]), "max");
        assert_eq!(of(&["jitter<=2us@1e-4", "mean<=1us"]), "max");
        assert_eq!(of(&["misses==0", "p99.9<=2us"]), "p99.99");
        assert_eq!(of(&["slowdown<=1.05", "misses<=3"]), "mean");
    }

    #[test]
    fn a_neighbour_of_the_experiment_is_known_where_it_is_a_bundled_one_as_it_is() {
        let own = |sets: &[&str]| {
            let sets: Vec<Set> = sets.iter().map(|text| Set::parse(text).unwrap()).collect();
            own_neighbour("this-machine", &sets).unwrap()
        };
        assert_eq!(own(&[]), Some(FoundNeighbour::Bundled("stream_modify".into())));
        assert_eq!(own(&["neighbours.0.workload=stream_read"]), Some(FoundNeighbour::Bundled("stream_read".into())));
        assert_eq!(own(&["neighbours.0.with.stride=128"]), None);
        assert_eq!(own(&["neighbours=[]"]), None);
    }

    #[test]
    fn a_short_time_or_a_stop_ends_the_rounds_and_a_mistake_does_not() {
        use waykeeper_session::SessionError;
        let short = InputError::in_option("--time-limit", "too short");
        assert_eq!(cut_short(TuneError::TooShort(short)).unwrap(), AlternateEnd::CutShort);
        let stopped = SessionError::Executor(ExecutorError::Stopped);
        assert_eq!(cut_short(TuneError::Session(stopped)).unwrap(), AlternateEnd::CutShort);
        // A mistake whose text happens to name the option is a mistake.
        let mistake = InputError::in_option("--keep --time-limit", "another search is kept in this folder");
        assert!(cut_short(mistake.into()).is_err());
    }
}
