//! The order in which repeats run: A B C A B C, so that drift hits all cases alike.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use waykeeper_experiment::cases::{Case, Placed, Plan, Purpose};
use waykeeper_experiment::mitigation::{NONE, parts};
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_linux::thread::spawn_scoped;
use waykeeper_run::measurement::{Measured, Measurement};
use waykeeper_run::{Shard, ShardRepeats};
use waykeeper_workload::Xorshift;

use crate::measure::{Executor, ExecutorError, Pace, PlannedRepeat};

/// How an experiment is run.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// Length of a case and repeat, seconds.
    pub duration_s: f64,
    /// In the simulator a repeat ends with so many samples, if they come before its duration.
    pub simulated_samples: Option<u64>,
    /// In the simulator all of the warm-up is simulated in time.
    pub timed_warm_up: bool,
    /// Whether it is followed who holds how much of the last shared cache, where the place can tell.
    pub occupancy: bool,
    /// How many of the longest samples of a case are explained, where the place can.
    pub explain: usize,
    /// Whether simulated neighbours skip what cannot touch the target, where they can.
    pub fast: bool,
    /// Repeats of each case.
    pub repeats: u32,
    /// The seed.
    pub seed: u64,
    /// A sample this far over the minimum of the unmitigated solo case is an excursion; else a pilot's spread decides.
    pub excursion_over_min_ns: Option<f64>,
    /// Excursions within this time of the first one are one event, nanoseconds.
    pub gap_ns: f64,
    /// The longest sample is kept of each interval of this length, nanoseconds.
    pub peak_interval_ns: f64,
    /// The part of the run that is measured, where it is not the whole run.
    pub shard: Option<Shard>,
    /// Wall time is left out of what is measured, so that equal inputs leave equal bytes.
    pub reproducible: bool,
}

impl RunSettings {
    /// The repeats that a shard measures; none where all are measured.
    fn share(&self, plan: &Plan, place: ExecutorKind) -> Option<ShardRepeats> {
        self.shard.map(|shard| ShardRepeats::new(shard, plan, self.repeats, place))
    }
}

/// What is going on.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The case that has just been measured, or is about to be.
    pub case: &'a str,
    /// Repeats done.
    pub done: usize,
    /// Repeats in all.
    pub total: usize,
}

/// What an experiment gave.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The repeats of each case of the plan, in its order.
    pub measured: Vec<Measured>,
    /// It was interrupted.
    pub cut_short: bool,
    /// It ended early because the place turned out to be unable to go on.
    pub failed: Option<ExecutorError>,
}

/// What there is of a run that goes on.
#[derive(Debug, Clone, Default)]
pub struct Begun {
    /// What is an excursion in each case, nanoseconds.
    pub thresholds_ns: Vec<Option<f64>>,
    /// The complete repeats, by the places of the case and of the repeat, from 0.
    pub repeats: BTreeMap<(usize, usize), Measurement>,
}

/// Keeps what a run measures while it goes on.
pub trait Keeper: Sync {
    /// What is an excursion in each case is decided; the first repeat comes next.
    fn begin(&self, thresholds_ns: &[Option<f64>]);

    /// A repeat is complete. The places of the case and of the repeat are from 0.
    fn keep(&self, case: usize, repeat: usize, measurement: &Measurement);
}

/// Runs every case of a plan, apart from the repeats that are there already. A failure after each case was measured once
/// keeps what was measured.
///
/// # Errors
/// What the place turns out to be unable to do before each case was measured once.
pub fn run(
    executor: &dyn Executor,
    plan: &Plan,
    settings: &RunSettings,
    begun: Option<Begun>,
    keeper: &dyn Keeper,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Finished, ExecutorError> {
    let pace = executor.place().pace;
    let under_test = mitigations_under_test(plan);
    let share = settings.share(plan, executor.place().site.executor);
    let is_mine = |case: usize, repeat: usize| share.as_ref().is_none_or(|share| share.contains(case, repeat));
    let Begun { thresholds_ns, repeats } = match begun {
        Some(begun) => begun,
        None => {
            let thresholds_ns = thresholds(executor, plan, settings, stop, &under_test, share.as_ref())?;
            Begun { thresholds_ns, repeats: BTreeMap::new() }
        }
    };
    keeper.begin(&thresholds_ns);
    let cases = &plan.cases;
    let all = cases.len() * settings.repeats as usize;
    let total = share.as_ref().map_or(all, ShardRepeats::len);
    let slots: Vec<Mutex<Option<Result<Measurement, ExecutorError>>>> = (0..all).map(|_| Mutex::new(None)).collect();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(repeats.len()));
    for ((case, repeat), measurement) in repeats {
        *slots[repeat * cases.len() + case].lock().unwrap_or_else(|e| e.into_inner()) = Some(Ok(measurement));
    }
    let broken = AtomicBool::new(false);
    let measure_next = || {
        let slot = next.fetch_add(1, Ordering::Relaxed);
        if slot >= all || stop.load(Ordering::Relaxed) || broken.load(Ordering::Relaxed) {
            return false;
        }
        let (repeat, index) = (slot / cases.len(), slot % cases.len());
        if !is_mine(index, repeat) || slots[slot].lock().unwrap_or_else(|e| e.into_inner()).is_some() {
            return true;
        }
        let case = &cases[index];
        progress(Progress { case: &case.name, done: done.load(Ordering::Relaxed), total });
        let seed = repeat_seed(settings.seed, repeat);
        let with_it: Vec<Option<usize>> = companions(cases, case);
        let companions_above_ns: Vec<_> =
            with_it.iter().map(|index| index.and_then(|index| thresholds_ns[index])).collect();
        // A round begins where the one before it ended.
        let mut back = (1..=cases.len()).map(|back| (index + cases.len() - back) % cases.len());
        let before = back.find(|before| is_mine(*before, repeat)).map(|before| &cases[before]);
        let assignment = PlannedRepeat {
            case,
            seed,
            duration_s: length(case, settings.duration_s, pace),
            simulated_samples: settings.simulated_samples.filter(|_| case.purpose == Purpose::Case),
            timed_warm_up: settings.timed_warm_up,
            occupancy: settings.occupancy && repeat == 0,
            explain: if case.purpose == Purpose::Case { settings.explain } else { 0 },
            fast: settings.fast,
            check_fast: settings.fast && repeat == 0 && case.purpose == Purpose::Case,
            excursion_above_ns: thresholds_ns[index],
            companions_above_ns: &companions_above_ns,
            gap_ns: settings.gap_ns,
            peak_interval_ns: settings.peak_interval_ns,
            wash: before.is_none_or(|before| before.mitigation != case.mitigation),
            under_test: &under_test,
        };
        let (mut result, beside) = match executor.measure_all(&assignment, stop) {
            Ok((measurement, beside)) => (Ok(measurement), beside),
            Err(error) => (Err(error), Vec::new()),
        };
        if let Some(simulation) = result.as_mut().ok().and_then(|measured| measured.simulation.as_mut()) {
            simulation.wall_s = simulation.wall_s.filter(|_| !settings.reproducible);
        }
        broken.fetch_or(result.is_err(), Ordering::Relaxed);
        if let Some(measurement) = result.as_ref().ok().filter(|measurement| !measurement.cut_short) {
            keeper.keep(index, repeat, measurement);
        }
        *slots[slot].lock().unwrap_or_else(|e| e.into_inner()) = Some(result);
        done.fetch_add(1, Ordering::Relaxed);
        for (other, measurement) in with_it.into_iter().zip(beside) {
            let Some(other) = other.filter(|other| is_mine(*other, repeat)) else { continue };
            let keep = |measurement: &Measurement| keeper.keep(other, repeat, measurement);
            let is_new = settle(&slots[repeat * cases.len() + other], measurement, keep);
            done.fetch_add(usize::from(is_new), Ordering::Relaxed);
        }
        progress(Progress { case: &case.name, done: done.load(Ordering::Relaxed), total });
        true
    };
    std::thread::scope(|scope| {
        let work = || while measure_next() {};
        // Where the system refuses a thread, the others do its work.
        let others: Vec<_> =
            (1..executor.at_once().max(1)).map_while(|_| spawn_scoped(scope, "cases", work).ok()).collect();
        while measure_next() {}
        for other in others {
            let _ = other.join();
        }
    });
    let mut measured: Vec<Measured> = thresholds_ns
        .into_iter()
        .map(|excursion_above_ns| Measured { excursion_above_ns, repeats: Vec::new() })
        .collect();
    let mut failed = None;
    for (slot, result) in slots.into_iter().enumerate() {
        match result.into_inner().unwrap_or_else(|e| e.into_inner()) {
            Some(Ok(repeat)) => measured[slot % cases.len()].repeats.push(repeat),
            Some(Err(ExecutorError::Stopped)) | None => {}
            Some(Err(error)) => failed = failed.or(Some(error)),
        }
    }
    let cut_short = stop.load(Ordering::Relaxed) || failed.is_some();
    match failed {
        Some(error) if (0..cases.len()).any(|case| has_case(&share, case) && measured[case].repeats.is_empty()) => {
            Err(error)
        }
        failed => Ok(Finished { measured, cut_short, failed }),
    }
}

/// Keeps what a target gave that was observed beside another one. False where it is there already, as in a run that goes on.
fn settle(
    slot: &Mutex<Option<Result<Measurement, ExecutorError>>>,
    measurement: Measurement,
    keep: impl FnOnce(&Measurement),
) -> bool {
    let mut slot = slot.lock().unwrap_or_else(|e| e.into_inner());
    if slot.is_some() {
        return false;
    }
    if !measurement.cut_short {
        keep(&measurement);
    }
    *slot = Some(Ok(measurement));
    true
}

/// The cases that are measured together with one, in the order of its companions.
fn companions(cases: &[Case], case: &Case) -> Vec<Option<usize>> {
    let of = |target: &Placed| cases.iter().position(|other| other.target == *target && case.is_measured_with(other));
    case.companions.iter().map(of).collect()
}

/// Whether any repeat of a case is measured.
fn has_case(share: &Option<ShardRepeats>, case: usize) -> bool {
    share.as_ref().is_none_or(|share| share.has_case(case))
}

/// Measures one repeat of one case of a plan, for searches that decide themselves what to measure next. Repeats of the same
/// number have the same placement in all cases, and are those of [`run`].
///
/// # Errors
/// What the place turns out to be unable to do; a stop.
pub fn one(
    executor: &dyn Executor,
    plan: &Plan,
    settings: &RunSettings,
    case: usize,
    repeat: usize,
    stop: &AtomicBool,
) -> Result<Measurement, ExecutorError> {
    let under_test = mitigations_under_test(plan);
    let seed = repeat_seed(settings.seed, repeat);
    // Nobody knows which mitigation was measured before.
    let assignment = PlannedRepeat { wash: true, ..bare_repeat(&plan.cases[case], seed, settings, &under_test) };
    executor.measure(&assignment, stop)
}

/// A repeat of which nothing is asked but its samples.
fn bare_repeat<'a>(case: &'a Case, seed: u64, settings: &RunSettings, under_test: &'a [String]) -> PlannedRepeat<'a> {
    PlannedRepeat {
        case,
        seed,
        duration_s: settings.duration_s,
        simulated_samples: settings.simulated_samples,
        timed_warm_up: settings.timed_warm_up,
        occupancy: false,
        explain: 0,
        fast: settings.fast,
        check_fast: false,
        excursion_above_ns: None,
        companions_above_ns: &[],
        gap_ns: settings.gap_ns,
        peak_interval_ns: settings.peak_interval_ns,
        wash: false,
        under_test,
    }
}

/// The seed of a repeat: the same for all cases, so that they are compared under the same placement.
fn repeat_seed(seed: u64, repeat: usize) -> u64 {
    // JSON readers keep integers exactly up to 2^53.
    Xorshift::new(seed.wrapping_add((repeat as u64).wrapping_mul(0x9e37_79b9))).next_u64() >> 11
}

fn mitigations_under_test(plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> =
        plan.cases.iter().flat_map(|case| parts(&case.mitigation)).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

fn length(case: &Case, duration_s: f64, pace: Pace) -> f64 {
    match case.purpose {
        Purpose::Case => duration_s,
        Purpose::Sentinel => duration_s.min(pace.sentinel_s),
    }
}

/// The excursion threshold of each case: decided once for each target, on its unmitigated solo case, before anything is
/// compared.
fn thresholds(
    executor: &dyn Executor,
    plan: &Plan,
    settings: &RunSettings,
    stop: &AtomicBool,
    under_test: &[String],
    share: Option<&ShardRepeats>,
) -> Result<Vec<Option<f64>>, ExecutorError> {
    let pace = executor.place().pace;
    if settings.simulated_samples.is_some_and(|samples| samples < PILOT_SAMPLES) {
        return Ok(vec![None; plan.cases.len()]);
    }
    let mut known: Vec<(&Case, f64)> = Vec::new();
    let mut thresholds = Vec::new();
    for (index, case) in plan.cases.iter().enumerate() {
        let is_measured = share.is_none_or(|share| share.has_case(index));
        // Without samples nothing can be an excursion.
        if case.purpose == Purpose::Sentinel || case.throughput || !is_measured {
            thresholds.push(None);
            continue;
        }
        if let Some((_, threshold)) = known.iter().find(|(pilot, _)| pilot.target == case.target) {
            thresholds.push(Some(*threshold));
            continue;
        }
        // The same one in every shard.
        let has_target = |c: &&Case| c.target == case.target && c.purpose == Purpose::Case && !c.throughput;
        let with_target = || plan.cases.iter().filter(has_target);
        let pilot = with_target().find(|c| c.solo() && c.mitigation == NONE).or_else(|| with_target().next());
        let pilot = pilot.unwrap_or(case);
        let assignment = PlannedRepeat {
            duration_s: settings.duration_s.min(pace.pilot_s),
            ..bare_repeat(pilot, settings.seed, settings, under_test)
        };
        let threshold = match pilot_run(executor, assignment, settings.duration_s, stop) {
            Ok(measurement) => threshold_ns(&measurement, settings.excursion_over_min_ns, pace.least_excursion_ns),
            Err(ExecutorError::Stopped) => None,
            Err(error) => return Err(error),
        };
        known.extend(threshold.map(|threshold| (case, threshold)));
        thresholds.push(threshold);
    }
    Ok(thresholds)
}

/// A pilot that gave fewer samples than this is made longer, up to the length of a repeat.
const PILOT_SAMPLES: u64 = 100;

fn pilot_run(
    executor: &dyn Executor,
    mut assignment: PlannedRepeat<'_>,
    longest_s: f64,
    stop: &AtomicBool,
) -> Result<Measurement, ExecutorError> {
    loop {
        let measurement = executor.measure(&assignment, stop)?;
        if measurement.samples.count >= PILOT_SAMPLES || assignment.duration_s >= longest_s {
            return Ok(measurement);
        }
        assignment.duration_s = (10.0 * assignment.duration_s).min(longest_s);
    }
}

/// Median plus three times the distance to the 99th percentile, and at least a tenth and `floor_ns` above the median:
/// beyond the ordinary spread of the loop itself, below anything that an engineer would call an excursion.
fn threshold_ns(pilot: &Measurement, over_min_ns: Option<f64>, floor_ns: f64) -> Option<f64> {
    let samples = &pilot.samples;
    let min = samples.min? as f64;
    let ticks = match over_min_ns {
        Some(over) => min + over / samples.tick_ns,
        None => {
            let histogram = samples.counts.to_histogram();
            let at = |quantile| histogram.value_at_quantile(quantile) as f64;
            let median = at(0.5);
            (median + 3.0 * (at(0.99) - median)).max(1.1 * median).max(median + floor_ns / samples.tick_ns)
        }
    };
    Some(ticks.ceil() * samples.tick_ns)
}
