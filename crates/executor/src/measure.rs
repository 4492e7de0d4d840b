//! What every executor does: one repeat of one case.

use std::sync::atomic::AtomicBool;

use waykeeper_experiment::cases::Case;
use waykeeper_experiment::site::Site;
use waykeeper_run::measurement::Measurement;
use waykeeper_run::{ClockRecord, MachineRecord, Parameters};

/// One repeat to be measured.
#[derive(Debug, Clone, Copy)]
pub struct PlannedRepeat<'a> {
    /// The case.
    pub case: &'a Case,
    /// Seed of this repeat: placement, phases, random orders.
    pub seed: u64,
    /// How long the target is observed, seconds: wall time on the host, simulated time in the simulator.
    pub duration_s: f64,
    /// In the simulator it ends with so many samples, if they come before its duration.
    pub simulated_samples: Option<u64>,
    /// In the simulator all of the warm-up is simulated in time.
    pub timed_warm_up: bool,
    /// Whether it is followed who holds how much of the last shared cache, where the place can tell.
    pub occupancy: bool,
    /// How many of the longest samples are explained, where the place can.
    pub explain: usize,
    /// Whether simulated neighbours skip what cannot touch the target, where they can.
    pub fast: bool,
    /// Whether that is compared with a simulation in full.
    pub check_fast: bool,
    /// Samples above this many nanoseconds are excursions; `None` for a pilot, which has no threshold yet.
    pub excursion_above_ns: Option<f64>,
    /// The same for each of the case's companions.
    pub companions_above_ns: &'a [Option<f64>],
    /// Excursions within this time of the first one are one event, nanoseconds.
    pub gap_ns: f64,
    /// The longest sample is kept of each interval of this length, nanoseconds.
    pub peak_interval_ns: f64,
    /// The caches are washed first: the mitigation is not that of the measurement before.
    pub wash: bool,
    /// Mitigations that some case of the experiment has: they are off unless this case has them.
    pub under_test: &'a [String],
}

/// Why a repeat could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecutorError {
    /// A mistake in an option or a file that shows at the place only: a program, a function or a phase that does not exist.
    #[error("{0}")]
    Input(String),
    /// This place cannot do it; what it lacks.
    #[error("{0}")]
    Refused(String),
    /// It was stopped before it gave anything.
    #[error("stopped before the first sample")]
    Stopped,
}

impl From<String> for ExecutorError {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

impl From<&str> for ExecutorError {
    fn from(why: &str) -> Self {
        Self::Refused(why.into())
    }
}

/// How long the measurements beside the cases take at a place, and what is too small to be an excursion there.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Length of a pilot, seconds, where a repeat is not shorter and it has samples enough.
    pub pilot_s: f64,
    /// Length of a sentinel's repeat, seconds, where a case's is not shorter: enough for the mean that it witnesses.
    pub sentinel_s: f64,
    /// An excursion is at least this far above the median, nanoseconds.
    pub least_excursion_ns: f64,
}

/// What a place says about itself.
#[derive(Debug, Clone)]
pub struct OfferedSite {
    /// How long its pilots and sentinels take.
    pub pace: Pace,
    /// Its cores and mitigations.
    pub site: Site,
    /// The clock that times the samples.
    pub clock: ClockRecord,
    /// The machine.
    pub machine: MachineRecord,
    /// What its figures rest on, where they are simulated.
    pub parameters: Option<Parameters>,
    /// What a reader of its figures must know.
    pub notes: Vec<String>,
}

/// A place that runs cases.
pub trait Executor: Sync {
    /// What the place says about itself.
    fn place(&self) -> &OfferedSite;

    /// Why the place cannot run a case, where that is known before it is tried.
    fn refuses(&self, case: &Case) -> Option<ExecutorError>;

    /// Measures one repeat. A set `stop` ends it early with what there is.
    ///
    /// # Errors
    /// What the place cannot do.
    fn measure(&self, assignment: &PlannedRepeat<'_>, stop: &AtomicBool) -> Result<Measurement, ExecutorError>;

    /// The same, beside what the case's companions gave, in their order, where the place observes them at the same time.
    ///
    /// # Errors
    /// What the place cannot do.
    fn measure_all(
        &self,
        assignment: &PlannedRepeat<'_>,
        stop: &AtomicBool,
    ) -> Result<(Measurement, Vec<Measurement>), ExecutorError> {
        self.measure(assignment, stop).map(|measurement| (measurement, Vec::new()))
    }

    /// Whether it can say what the target waited for in a sample.
    fn explains(&self) -> bool {
        false
    }

    /// How many repeats may run at the same time without interfering with each other.
    fn at_once(&self) -> usize;
}
