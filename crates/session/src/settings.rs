//! What whoever runs an experiment adds to it.

use waykeeper_executor::{Executor, RunSettings};
use waykeeper_experiment::cases::Plan;
use waykeeper_experiment::describe::WarmUp;
use waykeeper_experiment::site::{ExecutorKind, Site};
use waykeeper_experiment::{InputError, Loaded};
use waykeeper_run::{Shard, ShardRepeats};

/// What whoever runs an experiment adds to it. Errors name the options of `waykeeper run` that stand for these.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where to run it: by default on the host if its platform is `host`, else in the simulator.
    pub on: Option<ExecutorKind>,
    /// Budgets beside those of the experiment, as written.
    pub budgets: Vec<String>,
    /// How many of the longest samples of each case are explained.
    pub explain: Option<usize>,
    /// Whether simulated accesses that cannot affect the target are skipped.
    pub fast: bool,
    /// The part of the run that is measured, where it is not the whole run.
    pub shard: Option<Shard>,
    /// The time at which the record of a simulated run says that it began, seconds since 1970 (`SOURCE_DATE_EPOCH`). With it
    /// the run also leaves out wall time: equal inputs leave equal bytes.
    pub source_date_epoch: Option<String>,
    /// The commit that the program was built from, where that is known.
    pub commit: Option<String>,
    /// What the record says about how it was called: the program and its arguments.
    pub command_line: Vec<String>,
}

impl Options {
    /// Checks that the place and the cases can do what the options ask for.
    pub(crate) fn check(&self, executor: &dyn Executor, plan: &Plan) -> Result<(), InputError> {
        if self.explain.is_some() && !executor.explains() {
            let message =
                "only the simulator knows what a core waited for; expected `--on sim` and a simulated platform";
            return Err(InputError::in_option("--explain", message));
        }
        if self.explain.is_some() && plan.cases.iter().any(|case| case.sampled.is_some()) {
            let message = "passes that are measured in windows leave no whole sample to explain; expected targets without \
                           `sampled`, such as with `--set targets.0.sampled=false`";
            return Err(InputError::in_option("--explain", message));
        }
        if self.fast && executor.place().site.executor != ExecutorKind::Sim {
            let message = "only simulated neighbours can skip; expected `--on sim` and a simulated platform";
            return Err(InputError::in_option("--fast", message));
        }
        Ok(())
    }

    /// How an experiment is run at a site.
    pub(crate) fn settings(&self, loaded: &Loaded, site: &Site) -> RunSettings {
        let experiment = &loaded.experiment;
        let simulated = experiment.simulated_duration.filter(|_| site.executor == ExecutorKind::Sim);
        RunSettings {
            duration_s: simulated.unwrap_or(experiment.duration).seconds(),
            simulated_samples: experiment.simulated_samples.filter(|_| site.executor == ExecutorKind::Sim),
            timed_warm_up: experiment.warm_up == WarmUp::Timed,
            explain: self.explain.unwrap_or(0),
            fast: self.fast,
            occupancy: experiment.table.as_ref().is_some_and(|table| table.occupancy),
            repeats: experiment.repeats,
            seed: experiment.seed,
            excursion_over_min_ns: experiment.excursions.over_min.map(|over| over.0),
            gap_ns: experiment.excursions.gap.0,
            peak_interval_ns: experiment.peak_interval.0,
            shard: self.shard,
            reproducible: self.source_date_epoch.is_some() && site.executor == ExecutorKind::Sim,
        }
    }

    /// Checks that each shard has something to measure.
    pub(crate) fn check_shard(&self, plan: &Plan, settings: &RunSettings, site: &Site) -> Result<(), InputError> {
        let Some(shard) = self.shard else { return Ok(()) };
        let most = ShardRepeats::new(shard, plan, settings.repeats, site.executor).most_shards();
        if shard.of as usize <= most {
            return Ok(());
        }
        let what = match site.executor {
            ExecutorKind::Sim => format!("the run has {most} repeats of all cases"),
            ExecutorKind::Host => format!(
                "on a machine the cases of one target are measured alternately, by one shard: there are {most} of such groups \
                 (targets, and cores with sentinels)"
            ),
        };
        Err(InputError::in_option(format!("--shard {shard}"), format!("{what}; expected at most {most} shards")))
    }

    /// When the record says that the run began, RFC 3339, where that was given.
    pub(crate) fn started(&self, settings: &RunSettings) -> Result<Option<String>, InputError> {
        let Some(text) = self.source_date_epoch.as_ref().filter(|_| settings.reproducible) else { return Ok(None) };
        let time = text.parse().ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
        time.map(|time| Some(time.to_string())).ok_or_else(|| {
            let message = "this is no time; expected seconds since 1970 as a whole number, or no such variable";
            InputError::in_option(format!("SOURCE_DATE_EPOCH={text}"), message)
        })
    }
}
