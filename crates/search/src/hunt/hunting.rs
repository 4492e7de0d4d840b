//! An experiment's target beside candidates: from the experiment to the worst neighbour found.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use toml::{Table, Value};
use waykeeper_executor::ExecutorError;
use waykeeper_experiment::cases::{Case, Purpose};
use waykeeper_experiment::mitigation::NONE;
use waykeeper_experiment::site::{ExecutorKind, Site};
use waykeeper_experiment::{InputError, Loaded, Set};
use waykeeper_linux::sharing::{self, SplitLocks};
use waykeeper_linux::{Root, format_cpulist};
use waykeeper_run::Parameters;
use waykeeper_run::measurement::Measurement;
use waykeeper_session::{Options, Session, SessionError, SingleRepeats, is_room};
use waykeeper_statistics::{excess_ratio, half_width};
use waykeeper_workload::{CacheShapes, Operation, Pattern, SHORTEST_GRID_NS, Workload, format_ns};

use super::geometry::{Geometry, MemoryMap};
use super::members::{MEMBER_REPEATS, across_members};
use super::mixture::NeighbourMixture;
use super::pattern::NeighbourPattern;
use super::pool::{CandidateSource, HuntExtent, MeasureNeighbours, Pool, RepeatScore, Scored};
use super::record::{Candidate, HuntRecord, LeftOut, MemberRanks, ReachedMechanism, SCHEMA, StressNgRecord};
use super::rests_on::rests_on;
use super::stress_ng::{Stressors, stressors};
use super::written::{as_table, neighbours_file, workload_file};
use crate::choice::one_case;
use crate::together;
use crate::tune::FRESH;

/// Half of 5 % on each side of an interval.
pub(super) const ONE_SIDED: f64 = 0.975;

/// The part of the time limit in which new candidates are looked for; the rest is for fresh repeats.
const LOOKING: f64 = 0.7;

/// Fresh repeats at least: as many as an interval needs.
const CONFIRMING: usize = 5;

/// Fresh repeats at least in which the worst neighbour and stress-ng's worst are compared.
const COMPARING: usize = 20;

/// What of the target counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Objective {
    /// The mean of its samples.
    Mean,
    /// Their 99.99th percentile.
    P99_99,
    /// The largest.
    Max,
}

impl Objective {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P99_99 => "p99.99",
            Self::Max => "max",
        }
    }

    /// What a repeat says. Beside neighbours, a target of which no sample ended was slower than all that were measured: it counts
    /// as one sample of the repeat's length. Alone there is then nothing to compare with.
    fn figure(self, measurement: &Measurement, beside: bool) -> Option<RepeatFigure> {
        match self.of(measurement) {
            Some(ns) => Some(RepeatFigure { ns, ended: true }),
            None if beside && measurement.samples.count == 0 => {
                Some(RepeatFigure { ns: measurement.observed_s * 1e9, ended: false })
            }
            None => None,
        }
    }

    fn of(self, measurement: &Measurement) -> Option<f64> {
        match self {
            Self::Mean => measurement.on_core_mean_ns(),
            Self::Max => measurement.max_ns(),
            Self::P99_99 => {
                let samples = &measurement.samples;
                (samples.count > 0)
                    .then(|| samples.counts.to_histogram().value_at_quantile(0.9999) as f64 * samples.tick_ns)
            }
        }
    }
}

/// What is hunted for.
#[derive(Debug, Clone)]
pub struct HuntRequest {
    /// The experiment whose target counts.
    pub experiment: String,
    /// Overrides.
    pub sets: Vec<Set>,
    /// Where to run it.
    pub on: Option<ExecutorKind>,
    /// A policy file under which the target is measured, alone and beside each neighbour.
    pub policy: Option<PathBuf>,
    /// The neighbours' cores; those of the experiment's neighbours where there are none.
    pub cores: Vec<u32>,
    /// Bundled workloads that are unfair, and tried nevertheless.
    pub also: Vec<String>,
    /// Whether stress-ng's stressors are measured beside the others.
    pub stress_ng: bool,
    /// Fresh repeats of what is shown, where others than usual are asked for.
    pub turns: Option<usize>,
    /// What of the target counts.
    pub objective: Objective,
    /// Sets of a simulated platform's assumed parameters in which the winner is ranked.
    pub members: usize,
    /// At most so many candidates.
    pub candidates: usize,
    /// How long it may take.
    pub time_limit: Duration,
    /// Decides which patterns are drawn.
    pub seed: u64,
}

/// How far a hunt is.
#[derive(Debug)]
pub struct HuntEvent<'a> {
    /// Candidates tried.
    pub tried: usize,
    /// What the best one does.
    pub best: &'a str,
    /// The target's figure beside it over that alone.
    pub ratio: f64,
}

/// Follows a hunt.
pub trait HuntWatcher: Sync {
    /// A round has ended.
    fn event(&self, event: HuntEvent<'_>);
}

/// Why a hunt ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum HuntError {
    /// The experiment cannot be measured.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The time limit is too short for a first round and fresh repeats.
    #[error(transparent)]
    TooShort(InputError),
}

impl From<ExecutorError> for HuntError {
    fn from(error: ExecutorError) -> Self {
        Self::Session(error.into())
    }
}

impl From<InputError> for HuntError {
    fn from(error: InputError) -> Self {
        Self::Session(error.into())
    }
}

/// A hunt's result.
pub type Hunted = Result<HuntRecord, HuntError>;

/// Looks for the worst neighbour of the experiment's target.
///
/// # Errors
/// A mistake in the experiment or the options; a place that cannot measure the target; a time limit that a first round and
/// fresh repeats do not fit into; a stop before anything was measured.
pub fn hunt(request: &HuntRequest, watcher: &dyn HuntWatcher, stop: &AtomicBool) -> Hunted {
    let begun = Instant::now();
    let loaded = Loaded::open(&request.experiment, request.sets.clone())?;
    let request = &without_swept(request, &loaded)?;
    let bare = Session::plan(open(request, &[], &[])?, &Options { on: request.on, ..Options::default() })?;
    let (target, target_period_ns) = target(&bare)?;
    let with_neighbours = Session::plan(loaded, &Options { on: request.on, ..Options::default() })?;
    let cores = cores(request, &with_neighbours)?;
    are_free(request)?;
    let (site, repeats) = (bare.site().clone(), bare.settings().repeats);
    let geometry = site.core(cores[0]).map(|core| Geometry::of(&core.caches));
    let geometry = geometry.unwrap_or_else(|| Geometry::of(&CacheShapes::default()));
    let geometry = geometry.with(operations(request, &cores)?).on_cores(cores.len()).beside_period(target_period_ns);
    let bare = bare.one_by_one();
    let memory = bare.parameters().and_then(MemoryMap::of);
    let geometry = memory.iter().fold(geometry, |geometry, memory| geometry.beside_memory(memory));
    let mut named = bundled();
    named.extend(also(request, &cores)?);
    let found = request.stress_ng.then(|| installed(site.executor, &geometry)).transpose()?;
    if request.members > 0 && site.executor == ExecutorKind::Host {
        let message = "its members are sets of a simulated platform's assumed parameters, and this is a machine";
        return Err(InputError::in_option(format!("--members {}", request.members), message).into());
    }
    let mut place = Beside { request, cores: &cores, watcher, stop, end: None };
    let extent = HuntExtent {
        candidates: request.candidates.max(named.len() + 1),
        confirming: request.turns.unwrap_or_else(|| confirming(request, repeats)),
        until: begun + request.time_limit.mul_f64(LOOKING),
        end: begun + request.time_limit,
    };
    let programs = found.as_ref().map_or(0, |found| found.taken.len());
    suffices(&mut place, &bare, &named, extent.least_repeats(named.len(), programs))?;
    let mut pool = Pool::new(&geometry, request.seed).with_seeds(seeds(&named, &site, cores[0]));
    pool.hunt(&mut place, &named, &extent, stop)?;
    if let Some(found) = found.as_ref().filter(|_| !pool.cut_short) {
        pool.screen(&mut place, &found.taken)?;
    }
    let confirmed = match pool.confirm(&mut place, &extent, stop) {
        Err(ExecutorError::Stopped) => {
            pool.cut_short = true;
            pool.unconfirmed()
        }
        confirmed => confirmed?,
    };
    let members = if request.members == 0 || pool.cut_short {
        None
    } else {
        ranks(request, &with_neighbours, &cores, &confirmed, (watcher, stop))?
    };
    Ok(HuntRecord {
        schema: SCHEMA,
        experiment: with_neighbours.loaded().name.clone(),
        platform: site.platform.clone(),
        executor: site.executor,
        target,
        objective: request.objective.name().into(),
        target_period_ns,
        also: request.also.clone(),
        split_locks: split_locks(request, site.executor),
        rests_on: winner_rests_on(&confirmed, &site, cores[0], bare.parameters()),
        stress_ng: found.map(|found| stress_ng(found, &pool.tried, &confirmed)),
        members,
        tried: pool.tried.len() as u64,
        took_s: begun.elapsed().as_secs_f64(),
        cut_short: pool.cut_short,
        over_bundled: over_bundled(&confirmed),
        candidates: confirmed.iter().map(|scored| candidate(scored, &cores)).collect(),
        cores,
    })
}

/// The request without what sweeps vary of neighbours and mitigations: a hunt has its own.
fn without_swept(request: &HuntRequest, loaded: &Loaded) -> Result<HuntRequest, InputError> {
    let replacement =
        loaded.without_swept("waykeeper hunt", |path| ["neighbours", "mitigations"].contains(&path[0]))?;
    let sets = request.sets.iter().cloned().chain(replacement.sets).collect();
    Ok(HuntRequest { sets, ..request.clone() })
}

/// The winner's ranks across sets of parameters; a stop leaves out the rest.
fn ranks(
    request: &HuntRequest,
    session: &Session,
    cores: &[u32],
    confirmed: &[Scored],
    (watcher, stop): (&dyn HuntWatcher, &AtomicBool),
) -> Result<Option<MemberRanks>, HuntError> {
    across_members(request, session.loaded(), confirmed, &mut |on, candidates| {
        let mut place = Beside { request: on, cores, watcher, stop, end: None };
        place.measure(candidates, FRESH..FRESH + MEMBER_REPEATS)
    })
}

/// The experiment with these workloads as its neighbours, each in a group of its own.
fn open(request: &HuntRequest, candidates: &[CandidateSource], cores: &[u32]) -> Result<Loaded, InputError> {
    let empty = || Value::Array(Vec::new());
    let mut sets = request.sets.clone();
    let own = |path: &[&str], value: Value| Set {
        option: "waykeeper hunt".into(),
        path: path.iter().map(|part| (*part).to_owned()).collect(),
        value,
    };
    let policies = request.policy.iter().map(|path| Value::String(path.display().to_string())).collect();
    let mut neighbours = Vec::new();
    for (number, candidate) in candidates.iter().enumerate() {
        let group = group(number);
        let mut add = |workload: String, cores: Value| {
            neighbours.push(Value::Table(Table::from_iter([
                ("workload".to_owned(), Value::String(workload)),
                ("cores".to_owned(), cores),
                ("group".to_owned(), Value::String(group.clone())),
            ])));
        };
        let all_cores = || Value::Array(cores.iter().map(|core| Value::Integer(i64::from(*core))).collect());
        match candidate {
            CandidateSource::Named(name) => add(name.clone(), all_cores()),
            CandidateSource::Found(mixture) => {
                let table = as_table(mixture, cores, &group);
                let workloads = table["workloads"].as_table().into_iter().flatten();
                sets.extend(workloads.map(|(name, workload)| own(&["workloads", name], workload.clone())));
                for neighbour in table["neighbours"].as_array().into_iter().flatten() {
                    let name = neighbour["workload"].as_str().unwrap_or_default();
                    add(name.to_owned(), neighbour["cores"].clone());
                }
            }
            CandidateSource::Program(stressor) => {
                let argv = stressor.argv.iter().cloned().map(Value::String).collect();
                let table = [("kind", Value::String("command".into())), ("argv", Value::Array(argv))];
                let table = table.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
                sets.push(own(&["workloads", &group], Value::Table(table)));
                add(group.clone(), all_cores());
            }
        }
    }
    sets.extend([
        own(&["neighbours"], Value::Array(neighbours)),
        own(&["mitigations"], Value::Array(policies)),
        own(&["combine"], Value::String("alone".into())),
        own(&["sentinel"], Value::Boolean(false)),
        own(&["budgets"], empty()),
        own(&["references"], empty()),
        own(&["expectations"], empty()),
    ]);
    Loaded::open(&request.experiment, sets)
}

fn group(number: usize) -> String {
    format!("candidate-{number}")
}

/// What the target is called, and its period where a neighbour's passes can be chosen against it.
fn target(session: &Session) -> Result<(String, Option<u64>), InputError> {
    let cases: Vec<&Case> =
        session.cases().cases.iter().filter(|case| case.purpose == Purpose::Case && case.mitigation == NONE).collect();
    one_case(&cases)?;
    match cases.first() {
        Some(case) if !case.throughput => {
            let called = format!("{} on core {}", case.target.called(), case.target.core);
            Ok((called, chosen_against(&case.target.pattern, session.site().executor)))
        }
        Some(_) => Err(session
            .loaded()
            .error("targets.0.measure", "a hunt is for the latency of a target; expected `latency`")),
        None => Err(session.loaded().error("targets", "a hunt is for one target; expected one")),
    }
}

/// The period of a target whose passes are at known times, in whole nanoseconds: those with an `offset`, and all on a simulated
/// platform, where everything begins within a microsecond and nothing drifts.
fn chosen_against(target: &Pattern, executor: ExecutorKind) -> Option<u64> {
    let period_ns = target.period_ns().filter(|ns| *ns >= SHORTEST_GRID_NS && ns.fract() == 0.0)?;
    (target.offset_ns().is_some() || executor == ExecutorKind::Sim).then_some(period_ns as u64)
}

/// The cores of the neighbour.
fn cores(request: &HuntRequest, session: &Session) -> Result<Vec<u32>, InputError> {
    if !request.cores.is_empty() {
        return Ok(request.cores.clone());
    }
    let cases = session.cases().cases.iter().filter(|case| case.purpose == Purpose::Case);
    let mut cores: Vec<u32> = cases.flat_map(|case| case.neighbours.iter().map(|it| it.core)).collect();
    cores.sort_unstable();
    cores.dedup();
    if cores.is_empty() {
        let message =
            "the experiment has no neighbours, so their cores are not known; expected some, such as `--cores 2,3`";
        return Err(InputError::in_option("--cores", message));
    }
    Ok(cores)
}

/// Refuses a core of `--cores` that the place does not have, or that is the target's.
fn are_free(request: &HuntRequest) -> Result<(), HuntError> {
    if request.cores.is_empty() {
        return Ok(());
    }
    let options = Options { on: request.on, ..Options::default() };
    let any = [CandidateSource::Found(NeighbourPattern::smallest(Operation::Read).into())];
    match Session::plan(open(request, &any, &request.cores)?, &options) {
        Err(SessionError::Input(error)) if error.key.starts_with("neighbours.") => {
            Err(InputError::in_option(format!("--cores {}", format_cpulist(&request.cores)), error.message).into())
        }
        _ => Ok(()),
    }
}

/// Refuses a time limit that so many repeats do not fit into. How long one takes is known on this machine, and tried elsewhere.
fn suffices(place: &mut Beside<'_>, single: &SingleRepeats, named: &[String], repeats: usize) -> Result<(), HuntError> {
    let limit = place.request.time_limit;
    let at_once = single.at_once().max(1);
    let of_one = if single.kind() == ExecutorKind::Host && !is_room() {
        Duration::from_secs_f64(single.duration_s())
    } else {
        let begun = Instant::now();
        place.measure(&[CandidateSource::Named(named[0].clone())], 0..1)?;
        begun.elapsed() / if at_once > 1 { 1 } else { 2 }
    };
    let takes = of_one.saturating_mul(u32::try_from(repeats.div_ceil(at_once)).unwrap_or(u32::MAX));
    if takes <= limit {
        return Ok(());
    }
    let ns = |duration: Duration| format_ns(duration.as_nanos() as f64);
    let message = format!(
        "{} is too short: the first round and two fresh repeats of what is shown take about {} at the length of a repeat; expected \
         several times that, or a shorter `--duration`",
        ns(limit),
        ns(takes)
    );
    Err(HuntError::TooShort(InputError::in_option("--time-limit", message)))
}

/// The bundled workloads that do nothing but access memory as fast as they can, and leave others theirs.
fn bundled() -> Vec<String> {
    let is_neighbour = |text: &str| match toml::from_str(text) {
        Ok(Workload::Walk(walk)) => !walk.operation.is_unfair(),
        Ok(Workload::Stream(stream)) => !stream.operation.is_unfair(),
        Ok(Workload::Chase(_)) => true,
        _ => false,
    };
    let random = ["cache_stressor", "random_write"];
    let all =
        waykeeper_workload::bundled().iter().filter(|file| is_neighbour(file.text) || random.contains(&file.name));
    all.map(|file| file.name.to_owned()).collect()
}

/// The unfair workloads that were asked for. A place that would not run one refuses the hunt: left out silently, it would look as if
/// it did nothing.
fn also(request: &HuntRequest, cores: &[u32]) -> Result<Vec<String>, HuntError> {
    for name in &request.also {
        if let Some(why) = refusal(request, CandidateSource::Named(name.clone()), cores)? {
            return Err(InputError::in_option(format!("--also {name}"), why).into());
        }
    }
    Ok(request.also.clone())
}

/// What accesses may do at the place: what simulated cores have, and what else it does not refuse and leaves others theirs.
fn operations(request: &HuntRequest, cores: &[u32]) -> Result<Vec<Operation>, HuntError> {
    let mut operations = Vec::new();
    for operation in Operation::ALL.into_iter().filter(|operation| !operation.is_unfair()) {
        let one = || CandidateSource::Found(NeighbourPattern::smallest(operation).into());
        if operation.is_simulated() || refusal(request, one(), cores)?.is_none() {
            operations.push(operation);
        }
    }
    Ok(operations)
}

/// Why the place does not run a neighbour.
fn refusal(request: &HuntRequest, candidate: CandidateSource, cores: &[u32]) -> Result<Option<String>, HuntError> {
    let options = Options { on: request.on, ..Options::default() };
    let single = match Session::plan(open(request, &[candidate], cores)?, &options) {
        Ok(session) => session.one_by_one(),
        Err(error) => return Ok(Some(error.to_string())),
    };
    Ok(match single.cases().iter().position(|case| !case.solo()) {
        Some(case) => single.refuses(case),
        None => Some(single.refused().first().map_or("the place does not run it".into(), |it| it.why.clone())),
    })
}

/// The target beside candidates.
struct Beside<'a> {
    request: &'a HuntRequest,
    cores: &'a [u32],
    watcher: &'a dyn HuntWatcher,
    stop: &'a AtomicBool,
    /// When no repeat begins any more.
    end: Option<Instant>,
}

/// What a repeat says of the target.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RepeatFigure {
    ns: f64,
    /// Whether it was measured; else no sample ended, and the first one would have taken longer than the repeat.
    ended: bool,
}

impl MeasureNeighbours for Beside<'_> {
    fn measure(
        &mut self,
        candidates: &[CandidateSource],
        repeats: std::ops::Range<usize>,
    ) -> Result<Vec<Vec<RepeatScore>>, ExecutorError> {
        let loaded = open(self.request, candidates, self.cores).map_err(SessionError::from)?;
        let options = Options { on: self.request.on, ..Options::default() };
        let session = Session::plan(loaded, &options)?;
        let single = session.one_by_one();
        let measure = self.request.policy.as_ref().map_or(NONE.to_owned(), |path| path.display().to_string());
        let case_of = |number: Option<usize>| {
            let group = number.map(group);
            let mut own = single.cases().iter().enumerate().filter(|(_, case)| case.mitigation == measure);
            let found = own.find(|(_, case)| match &group {
                None => case.solo(),
                Some(group) => !case.solo() && case.group.as_ref() == Some(group),
            });
            found.map(|(index, _)| index)
        };
        let alone = case_of(None).ok_or_else(|| ExecutorError::Refused("the target has no case alone".into()))?;
        // Turn after turn, and each begins with another candidate, so that drift of the place hits all alike.
        let mut jobs: Vec<(Option<usize>, usize, usize)> = Vec::new();
        for number in repeats.clone() {
            jobs.push((None, alone, number));
            let turned = (0..candidates.len()).map(|at| (at + number) % candidates.len());
            jobs.extend(turned.filter_map(|at| Some((Some(at), case_of(Some(at))?, number))));
        }
        let figures = self.figures(&single, candidates, &jobs)?;
        let figure = |at: Option<usize>, number: usize| {
            let place = jobs.iter().position(|(of, _, repeat)| *of == at && *repeat == number)?;
            figures[place]
        };
        let scores = |at: usize| {
            let pairs = repeats.clone().filter_map(|number| Some((figure(Some(at), number)?, figure(None, number)?)));
            let scores = pairs.map(|(beside, alone)| RepeatScore { ratio: beside.ns / alone.ns, ended: beside.ended });
            scores.filter(|score| score.ratio.is_finite()).collect()
        };
        Ok((0..candidates.len()).map(scores).collect())
    }

    fn end_at(&mut self, end: Option<Instant>) {
        self.end = end;
    }

    fn progress(&self, tried: usize, best: &Scored) {
        self.watcher.event(HuntEvent { tried, best: &called(&best.source), ratio: best.mean() });
    }
}

/// A repeat beside neighbours in which no sample of the target ended is made anew, so many times as long, until one ends.
const LONGER: [f64; 2] = [10.0, 100.0];

impl Beside<'_> {
    /// A repeat. Where no sample ended, those that took longest are missing: the worst neighbours would look better than others.
    fn repeat(
        &self,
        single: &SingleRepeats,
        beside: bool,
        case: usize,
        number: usize,
    ) -> Result<Measurement, ExecutorError> {
        let mut measurement = single.measure(case, number, self.stop)?;
        // The largest of a longer repeat is larger by itself.
        let may_be_longer = beside && self.request.objective != Objective::Max;
        for times in LONGER.into_iter().filter(|_| may_be_longer) {
            if measurement.samples.count > 0 || measurement.cut_short {
                break;
            }
            measurement = single.measure_for(times * single.duration_s(), case, number, self.stop)?;
        }
        Ok(measurement)
    }

    /// The figures of some repeats of cases, measured side by side where the place allows; none for a case that it refuses.
    fn figures(
        &self,
        single: &SingleRepeats,
        candidates: &[CandidateSource],
        jobs: &[(Option<usize>, usize, usize)],
    ) -> Result<Vec<Option<RepeatFigure>>, ExecutorError> {
        let measure = |at: usize| {
            let (of, case, number) = jobs[at];
            if self.end.is_some_and(|end| Instant::now() >= end) {
                return Err(ExecutorError::Stopped);
            }
            match self.repeat(single, of.is_some(), case, number) {
                Ok(measurement) if measurement.cut_short => Err(ExecutorError::Stopped),
                Ok(measurement) if measurement.not_counted.is_some() => Ok(None),
                Ok(measurement) => Ok(self.request.objective.figure(&measurement, of.is_some())),
                Err(ExecutorError::Stopped) => Err(ExecutorError::Stopped),
                // Without the target alone there is nothing to compare with.
                Err(ExecutorError::Refused(_)) if of.is_some() => Ok(None),
                // A program of others may end by itself, such as where the kernel refuses what it asks for.
                Err(_) if of.is_some_and(|at| matches!(candidates[at], CandidateSource::Program(_))) => Ok(None),
                Err(error) => Err(error),
            }
        };
        let figures = together::all(jobs.len(), single.at_once(), self.stop, measure);
        figures.into_iter().map(|figure| figure.unwrap_or(Err(ExecutorError::Stopped))).collect()
    }
}

/// What the kernel does with split locks, where they were tried.
fn split_locks(request: &HuntRequest, executor: ExecutorKind) -> Option<String> {
    let tried = executor == ExecutorKind::Host && request.also.iter().any(|name| name == "split_lock");
    tried.then(|| match sharing::split_locks(&Root::default()) {
        SplitLocks::Fatal(place) => format!("the kernel ends programs that make split locks: {place}"),
        SplitLocks::Slowed(place) => {
            format!("the kernel slows programs that make split locks, so that they do less than they could: {place}")
        }
        SplitLocks::Free(place) => format!("the kernel lets split locks pass: {place}"),
        SplitLocks::Unknown(why) => format!("what the kernel does with split locks is not seen: {why}"),
    })
}

fn called(source: &CandidateSource) -> String {
    match source {
        CandidateSource::Named(name) => name.clone(),
        CandidateSource::Found(mixture) => mixture.called(),
        CandidateSource::Program(stressor) => format!("stress-ng --{}", stressor.name),
    }
}

/// What the worst one found rests on, on a simulated platform.
fn winner_rests_on(
    confirmed: &[Scored],
    site: &Site,
    core: u32,
    parameters: Option<&Parameters>,
) -> Vec<ReachedMechanism> {
    let winner = confirmed.iter().find_map(|scored| match &scored.source {
        CandidateSource::Found(mixture) => Some(mixture),
        _ => None,
    });
    let (Some(winner), Some(core), Some(parameters)) = (winner, site.core(core), parameters) else {
        return Vec::new();
    };
    let bytes = |table: Table| {
        let workload = Value::Table(table).try_into::<Workload>().ok()?;
        workload.resolve(&core.caches).ok().map(|pattern| pattern.data_bytes())
    };
    let most = winner.parts().iter().filter_map(|part| bytes(part.workload())).max();
    most.map_or_else(Vec::new, |bytes| rests_on(bytes, &core.caches, parameters))
}

/// The patterns of the named neighbours, as far as the search knows their kinds.
fn seeds(named: &[String], site: &Site, core: u32) -> Vec<(String, NeighbourMixture)> {
    let pattern = |name: &String| {
        let text = waykeeper_workload::find_bundled(name)?.text;
        let resolved = toml::from_str::<Workload>(text).ok()?.resolve(&site.core(core)?.caches).ok()?;
        Some((name.clone(), NeighbourPattern::of(&resolved)?.into()))
    };
    named.iter().filter_map(pattern).collect()
}

/// Fresh repeats: at least as many as intervals need, and more for a comparison with stress-ng.
fn confirming(request: &HuntRequest, repeats: u32) -> usize {
    let least = if request.stress_ng { COMPARING } else { CONFIRMING };
    (repeats as usize).max(least)
}

/// The stressors that are installed here.
fn installed(executor: ExecutorKind, geometry: &Geometry) -> Result<Stressors, InputError> {
    let refuse = |why: String| InputError::in_option("--beside stress-ng", why);
    match executor {
        ExecutorKind::Host => stressors(geometry.last()).map_err(refuse),
        ExecutorKind::Sim => {
            Err(refuse("stress-ng is a program, and simulated platforms run access patterns only".into()))
        }
    }
}

/// What the fresh repeats say of stress-ng beside the others.
fn stress_ng(mut found: Stressors, tried: &[Scored], confirmed: &[Scored]) -> StressNgRecord {
    let is_stressor = |scored: &&Scored| matches!(scored.source, CandidateSource::Program(_));
    let failed = |name: &String| {
        let scored =
            tried.iter().find(|scored| matches!(&scored.source, CandidateSource::Program(it) if it.name == *name));
        scored.is_none_or(|scored| scored.scores.is_empty())
    };
    let names: Vec<String> = found.taken.iter().map(|stressor| stressor.name.clone()).collect();
    let (failed, measured): (Vec<String>, Vec<String>) = names.into_iter().partition(failed);
    if !failed.is_empty() {
        found.left_out.push(("could not be measured here".into(), failed));
    }
    let stressor = confirmed.iter().find(is_stressor);
    let other = confirmed.iter().find(|scored| !is_stressor(scored));
    let excess_ratio = other.zip(stressor).and_then(|(a, b)| excess_ratio(&a.ratios(), &b.ratios(), ONE_SIDED));
    StressNgRecord {
        version: found.version,
        tried: measured,
        left_out: found.left_out.into_iter().map(|(why, names)| LeftOut { why, names }).collect(),
        worst: stressor.map(|scored| called(&scored.source)),
        excess_ratio,
    }
}

fn candidate(scored: &Scored, cores: &[u32]) -> Candidate {
    let ratios = scored.ratios();
    let (mean, half) = (scored.mean(), half_width(&ratios, ONE_SIDED));
    let program = match &scored.source {
        CandidateSource::Program(stressor) => Some(stressor.argv.join(" ")),
        _ => None,
    };
    let (bundled, found) = match &scored.source {
        CandidateSource::Named(name) => (Some(name.clone()), None),
        CandidateSource::Program(_) => (None, None),
        CandidateSource::Found(mixture) => (None, Some(mixture)),
    };
    Candidate {
        bundled,
        program,
        called: called(&scored.source),
        workload: found.and_then(workload_file),
        neighbours: found.and_then(|mixture| neighbours_file(mixture, cores)),
        ratios,
        mean,
        interval: half.is_finite().then_some([mean - half, mean + half]),
        unended: scored.unended(),
    }
}

/// The worst one found over the worst bundled one, paired by repeat; none where a repeat of one of them is missing.
fn over_bundled(confirmed: &[Scored]) -> Option<[f64; 3]> {
    let is_found = |scored: &&Scored| matches!(scored.source, CandidateSource::Found(_));
    let found = confirmed.iter().find(is_found)?;
    let is_bundled = |scored: &&Scored| matches!(scored.source, CandidateSource::Named(_));
    let bundled = confirmed.iter().find(is_bundled)?;
    if found.scores.len() != bundled.scores.len() {
        return None;
    }
    let ratios: Vec<f64> =
        found.scores.iter().zip(&bundled.scores).map(|(found, bundled)| found.ratio / bundled.ratio).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let half = half_width(&ratios, ONE_SIDED);
    half.is_finite().then_some([mean, mean - half, mean + half])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repeat_has_no_interval() {
        let json = |scores: &[f64]| {
            let source = CandidateSource::Named("stream_read".into());
            let scores = scores.iter().copied().map(RepeatScore::from).collect();
            serde_json::to_value(candidate(&Scored { source, scores }, &[2])).unwrap()
        };
        assert!(json(&[1.5]).get("interval").is_none());
        // 1, 2, 3: s = 1, t(0.975, 2) = 4.3027 (tables): 2 -/+ 4.3027 / sqrt 3 = -0.4841 and 4.4841.
        let three = json(&[1.0, 2.0, 3.0]);
        let limits: Vec<f64> =
            three["interval"].as_array().unwrap().iter().filter_map(|limit| limit.as_f64()).collect();
        assert!((limits[0] + 0.4841).abs() < 1e-3 && (limits[1] - 4.4841).abs() < 1e-3, "{limits:?}");
    }
}
