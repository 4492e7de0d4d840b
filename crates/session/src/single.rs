//! The cases of a session, one repeat at a time: for searches, which decide themselves what to measure next.

use std::sync::atomic::AtomicBool;

use waykeeper_executor::{Executor, ExecutorError, RunSettings};
use waykeeper_experiment::cases::{Case, Plan};
use waykeeper_experiment::site::{ExecutorKind, RefusalRecord};
use waykeeper_run::Parameters;
use waykeeper_run::measurement::Measurement;

/// The cases of a session, measured one repeat at a time.
pub struct SingleRepeats {
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) plan: Plan,
    pub(crate) settings: RunSettings,
}

impl SingleRepeats {
    /// The cases.
    pub fn cases(&self) -> &[Case] {
        &self.plan.cases
    }

    /// What of the experiment the place cannot do.
    pub fn refused(&self) -> &[RefusalRecord] {
        &self.plan.refused
    }

    /// What runs them.
    pub fn kind(&self) -> ExecutorKind {
        self.executor.place().site.executor
    }

    /// What the figures of a simulated platform rest on; none on a machine.
    pub fn parameters(&self) -> Option<&Parameters> {
        self.executor.place().parameters.as_ref()
    }

    /// Length of a repeat, seconds.
    pub fn duration_s(&self) -> f64 {
        self.settings.duration_s
    }

    /// How many repeats may run at the same time.
    pub fn at_once(&self) -> usize {
        self.executor.at_once().max(1)
    }

    /// Why the place cannot measure a case, where that is known beforehand.
    pub fn refuses(&self, case: usize) -> Option<String> {
        self.executor.refuses(&self.plan.cases[case]).map(|why| why.to_string())
    }

    /// Measures a repeat of a case. Repeats of the same number have the same placement in all cases.
    ///
    /// # Errors
    /// What the place turns out to be unable to do; a stop.
    pub fn measure(&self, case: usize, repeat: usize, stop: &AtomicBool) -> Result<Measurement, ExecutorError> {
        self.measure_for(self.settings.duration_s, case, repeat, stop)
    }

    /// The same repeat in another length, seconds.
    ///
    /// # Errors
    /// What the place turns out to be unable to do; a stop.
    pub fn measure_for(
        &self,
        duration_s: f64,
        case: usize,
        repeat: usize,
        stop: &AtomicBool,
    ) -> Result<Measurement, ExecutorError> {
        let settings = RunSettings { duration_s, ..self.settings.clone() };
        waykeeper_executor::one(self.executor.as_ref(), &self.plan, &settings, case, repeat, stop)
    }
}
