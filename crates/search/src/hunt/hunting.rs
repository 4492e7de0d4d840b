//! An experiment's target beside candidates: from the experiment to the worst neighbour found.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use toml::{Table, Value};
use waykeeper_executor::ExecutorError;
use waykeeper_experiment::mitigation::NONE;
use waykeeper_experiment::site::{ExecutorKind, Site};
use waykeeper_experiment::{InputError, Set};
use waykeeper_linux::Root;
use waykeeper_linux::sharing::{self, SplitLocks};
use waykeeper_platform::explain::{read, read_toml_text};
use waykeeper_run::Parameters;
use waykeeper_run::measurement::Measurement;
use waykeeper_session::{Options, Session, SessionError, SingleRepeats, is_room};
use waykeeper_statistics::{excess_ratio, half_width};
use waykeeper_workload::{Workload, format_ns};

use super::members::{MEMBER_REPEATS, across_members};
use super::mixture::NeighbourMixture;
use super::opened::{group, open};
use super::pattern::NeighbourPattern;
use super::pool::{CandidateSource, HuntExtent, MeasureNeighbours, Pool, RepeatScore, Scored};
use super::prepared::PreparedHunt;
use super::record::{Candidate, HuntRecord, LeftOut, MemberRanks, ReachedMechanism, SCHEMA, StressNgRecord};
use super::rests_on::{Accesses, rests_on};
use super::stress_ng::Stressors;
use super::written::{neighbours_file, workload_file};
use crate::together;
use crate::tune::FRESH;

/// Half of 5 % on each side of an interval.
pub(super) const ONE_SIDED: f64 = 0.975;

/// The part of the time limit in which new candidates are looked for; the rest is for fresh repeats.
const LOOKING: f64 = 0.7;

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
    /// Whether neighbours that access the target's buffer are tried too.
    pub shared_lines: bool,
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
    let prepared = PreparedHunt::new(request)?;
    let extent = HuntExtent {
        candidates: prepared.candidates(),
        confirming: prepared.fresh_repeats(),
        until: begun + request.time_limit.mul_f64(LOOKING),
        end: begun + request.time_limit,
    };
    let PreparedHunt {
        request,
        bare,
        with_neighbours,
        target,
        target_period_ns,
        cores,
        site,
        geometry,
        named,
        stress_ng: found,
        ..
    } = prepared;
    let request = &request;
    let mut place = Beside { request, cores: &cores, watcher, stop, end: None };
    let programs = found.as_ref().map_or(0, |found| found.taken.len());
    let kinds = 1 + usize::from(request.shared_lines);
    suffices(&mut place, &bare, &named, extent.least_repeats(named.len(), programs, kinds))?;
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
        target_buffer_bytes: geometry.target_buffer_bytes(),
        also: request.also.clone(),
        split_locks: split_locks(request, site.executor),
        rests_on: winner_rests_on(&confirmed, &site, cores[0], bare.parameters()),
        stress_ng: found.map(|found| stress_ng(found, &pool.tried, &confirmed)),
        members,
        tried: pool.tried.len() as u64,
        took_s: begun.elapsed().as_secs_f64(),
        cut_short: pool.cut_short,
        over_bundled: over_bundled(&confirmed),
        sharing_over_others: sharing_over_others(&confirmed),
        candidates: confirmed.iter().map(|scored| candidate(scored, &cores)).collect(),
        cores,
    })
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
        let workload = read::<Workload>(&Value::Table(table)).ok()?;
        workload.resolve(&core.caches).ok().map(|pattern| pattern.data_bytes())
    };
    let most = winner.parts().iter().filter_map(|part| bytes(part.workload())).max();
    let accesses = most.map(|bytes| Accesses { bytes, shares_lines: winner.shares_lines() });
    accesses.map_or_else(Vec::new, |accesses| rests_on(accesses, &core.caches, parameters))
}

/// The patterns of the named neighbours, as far as the search knows their kinds.
fn seeds(named: &[String], site: &Site, core: u32) -> Vec<(String, NeighbourMixture)> {
    let pattern = |name: &String| {
        let text = waykeeper_workload::find_bundled(name)?.text;
        let resolved = read_toml_text::<Workload>(text).ok()?.resolve(&site.core(core)?.caches).ok()?;
        Some((name.clone(), NeighbourPattern::of(&resolved)?.into()))
    };
    named.iter().filter_map(pattern).collect()
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
        shares_lines: found.is_some_and(NeighbourMixture::shares_lines),
        workload: found.and_then(workload_file),
        neighbours: found.and_then(|mixture| neighbours_file(mixture, cores)),
        ratios,
        mean,
        interval: half.is_finite().then_some([mean - half, mean + half]),
        unended: scored.unended(),
    }
}

/// The worst one found over the worst bundled one, paired by repeat; none where a repeat of one of them is missing. One that accesses the
/// target's buffer does something that no bundled one does, and is left out.
fn over_bundled(confirmed: &[Scored]) -> Option<[f64; 3]> {
    let found = worst_unshared(confirmed)?;
    over(found, confirmed.iter().find(|scored| matches!(scored.source, CandidateSource::Named(_)))?)
}

/// The worst one found that has a buffer of its own.
pub(super) fn worst_unshared(confirmed: &[Scored]) -> Option<&Scored> {
    let is_found = |scored: &&Scored| matches!(scored.source, CandidateSource::Found(_));
    confirmed.iter().filter(is_found).find(|scored| !scored.source.shares_lines())
}

/// The worst one that accesses the target's buffer over the worst one that does not and is no program of others.
fn sharing_over_others(confirmed: &[Scored]) -> Option<[f64; 3]> {
    let sharing = confirmed.iter().find(|scored| scored.source.shares_lines())?;
    let is_other =
        |scored: &&Scored| !scored.source.shares_lines() && !matches!(scored.source, CandidateSource::Program(_));
    over(sharing, confirmed.iter().find(is_other)?)
}

/// The figure beside one over that beside another, paired by repeat: the mean and the limits of its interval.
fn over(one: &Scored, other: &Scored) -> Option<[f64; 3]> {
    if one.scores.len() != other.scores.len() {
        return None;
    }
    let ratios: Vec<f64> = one.scores.iter().zip(&other.scores).map(|(one, other)| one.ratio / other.ratio).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let half = half_width(&ratios, ONE_SIDED);
    half.is_finite().then_some([mean, mean - half, mean + half])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use waykeeper_experiment::describe::NeighbourBuffer;
    use waykeeper_workload::Operation;

    use super::super::pattern::AccessOrder;
    use super::*;

    /// A pass of 19 us in each 100 us. All of its lines are in the same sets, so that none stays in a cache: neighbours slow it only by what
    /// they do at the same time.
    const PERIODIC: &str = "
title = 'passes'
platform = 'agilex5'
duration = '1 ms'
repeats = 5
[workloads.pass]
kind = 'buffer'
operation = 'read'
size = '8 MiB'
stride = '64 KiB'
period = '100 us'
[[targets]]
workload = 'pass'
core = 1
[[neighbours]]
workload = 'stream_read'
cores = [2, 3]
";

    fn request(experiment: &Path) -> HuntRequest {
        HuntRequest {
            experiment: experiment.display().to_string(),
            sets: Vec::new(),
            on: None,
            policy: None,
            cores: Vec::new(),
            also: Vec::new(),
            shared_lines: false,
            stress_ng: false,
            turns: None,
            objective: Objective::Mean,
            members: 0,
            candidates: 20,
            time_limit: Duration::from_secs(60),
            seed: 1,
        }
    }

    struct Unwatched;

    impl HuntWatcher for Unwatched {
        fn event(&self, _: HuntEvent<'_>) {}
    }

    #[test]
    fn bursts_slow_the_target_at_the_offsets_that_overlap_its_passes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("periodic.toml");
        std::fs::write(&file, PERIODIC).unwrap();
        let request = request(&file);
        // Offsets are drawn beside this target, and in its period.
        let prepared = PreparedHunt::new(&request).unwrap();
        assert_eq!((prepared.target_period_ns, prepared.cores.as_slice()), (Some(100_000), [2, 3].as_slice()));
        let burst = |offset_us: u64| {
            let order = AccessOrder::Burst {
                bytes: 8 << 20,
                stride: 64 << 10,
                period_ns: 100_000,
                offset_ns: Some(1000 * offset_us),
            };
            let pattern = NeighbourPattern { operation: Operation::Modify, order, buffer: NeighbourBuffer::Own };
            CandidateSource::Found(pattern.into())
        };
        // Together, in the middle of the period, and in its last quarter.
        let candidates = [0, 50, 75].map(burst);
        let stop = AtomicBool::new(false);
        let mut place = Beside { request: &request, cores: &[2, 3], watcher: &Unwatched, stop: &stop, end: None };
        let scores = place.measure(&candidates, 0..2).unwrap();
        for repeat in 0..2 {
            let ratios: Vec<f64> = scores.iter().map(|scores| scores[repeat].ratio).collect();
            assert!(ratios[0] > 1.2, "{ratios:?}");
            assert!(ratios[1..].iter().all(|ratio| (ratio - 1.0).abs() < 0.01), "{ratios:?}");
        }
    }

    #[test]
    fn each_kind_of_neighbour_is_compared_with_its_like() {
        let one = |operation| NeighbourPattern::smallest(operation);
        let scored = |source, ratios: [f64; 2]| Scored { source, scores: ratios.map(RepeatScore::from).to_vec() };
        let found = |pattern: NeighbourPattern, ratios| scored(CandidateSource::Found(pattern.into()), ratios);
        let sharing = NeighbourPattern { buffer: NeighbourBuffer::Target, ..one(Operation::Write) };
        let confirmed = [
            found(sharing, [30.0, 36.0]),
            found(one(Operation::Modify), [6.0, 6.6]),
            scored(CandidateSource::Named("stream_read".into()), [3.0, 3.0]),
        ];
        // 6 / 3 and 6.6 / 3; 30 / 6 and 36 / 6.6.
        let near = |over: Option<[f64; 3]>, mean: f64| (over.unwrap()[0] - mean).abs() < 1e-9;
        assert!(near(over_bundled(&confirmed), (2.0 + 2.2) / 2.0));
        assert!(near(sharing_over_others(&confirmed), (5.0 + 36.0 / 6.6) / 2.0));
        let marks = confirmed.iter().map(|scored| candidate(scored, &[2]).shares_lines);
        assert_eq!(marks.collect::<Vec<_>>(), [true, false, false]);
        // Without a winner of its own kind there is nothing to compare with bundled ones.
        let shared_alone = [confirmed[0].clone(), confirmed[2].clone()];
        assert!(over_bundled(&shared_alone).is_none() && near(sharing_over_others(&shared_alone), 11.0));
        assert!(sharing_over_others(&confirmed[1..]).is_none());
    }

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
