//! How a plan is run: what is an excursion is decided first, then all repeats are measured, A B C A B C, so that drift hits all cases
//! alike.

mod rounds;
mod settings;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use waykeeper_experiment::cases::{Case, Plan, Purpose};
use waykeeper_experiment::mitigation::{NONE, parts};
use waykeeper_run::ShardRepeats;
use waykeeper_run::measurement::Measurement;

use self::rounds::{Rounds, RoundsOf};
pub use self::settings::{Begun, FigureOfRepeat, Finished, Keeper, Progress, RunSettings};
use self::settings::{bare_repeat, repeat_seed};
use crate::measure::{Executor, ExecutorError, PlannedRepeat};

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
    let under_test = mitigations_under_test(plan);
    let share = settings.share(plan, executor.place().site.executor);
    let Begun { thresholds_ns, repeats } = match begun {
        Some(begun) => begun,
        None => {
            let thresholds_ns = thresholds(executor, plan, settings, stop, &under_test, share.as_ref())?;
            Begun { thresholds_ns, repeats: BTreeMap::new() }
        }
    };
    keeper.begin(&thresholds_ns);
    let rounds =
        Rounds::new(RoundsOf { executor, plan, settings, keeper, stop, progress }, thresholds_ns, under_test, share);
    rounds.measure_all(repeats);
    rounds.finish()
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

fn mitigations_under_test(plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> =
        plan.cases.iter().flat_map(|case| parts(&case.mitigation)).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
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
