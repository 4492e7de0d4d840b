//! Samples that the core's cycle counter times, where the counter is too coarse (`clock = "pmccntr"`).

use std::collections::BTreeMap;

use waykeeper_experiment::cases::Case;
use waykeeper_kernels::clock::cycles::units_per_tick_log2;
use waykeeper_linux::cycle_access::CycleAccess;
use waykeeper_linux::schedule;
use waykeeper_linux::thread::spawn;
use waykeeper_platform::CoreId;

use super::job::Job;
use super::program::Runner;
use crate::measure::ExecutorError;

/// The core's cycle counter, in use by the thread that runs a target.
#[derive(Debug)]
pub struct TargetCycles {
    access: CycleAccess,
    /// What was measured last; 0 before.
    hz: f64,
    units_per_tick_log2: u64,
}

impl TargetCycles {
    /// Asks the kernel for the counter where the job wants it, on the target's own thread.
    pub fn open(job: &Job) -> Result<Option<Self>, String> {
        let Some(units_per_tick_log2) = job.units_per_tick_log2 else { return Ok(None) };
        let access = CycleAccess::open().map_err(|why| format!("core {}: {why}", job.target.core))?;
        Ok(Some(Self { access, hz: 0.0, units_per_tick_log2 }))
    }

    /// Measures the counter of this core and has it time the samples from now on.
    pub fn begin(&mut self, runner: &mut Runner) {
        self.hz = self.measure(Some(runner));
    }

    /// What a reader may want to know of the counter: its frequency, and how far it is from that of the beginning.
    pub fn end(mut self) -> BTreeMap<String, f64> {
        let before = std::mem::replace(&mut self.hz, 0.0);
        let after = self.measure(None);
        [("cycle_counter_mhz", before / 1e6), ("cycle_counter_change_ppm", (after / before - 1.0) * 1e6)]
            .into_iter()
            .filter(|(_, value)| value.is_finite())
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    #[cfg(target_arch = "aarch64")]
    fn measure(&self, runner: Option<&mut Runner>) -> f64 {
        use waykeeper_kernels::clock::cycles::CycleCounter;

        let CycleAccess { .. } = &self.access;
        // SAFETY: this thread opened `access`.
        let counter = unsafe { CycleCounter::measure(self.units_per_tick_log2) };
        if let Some(Runner::Kernel(kernel)) = runner {
            // SAFETY: the target runs on this thread, and `self` lives until it has been observed.
            unsafe { kernel.time_in_cycles(counter.unit) };
        }
        counter.frequency_hz
    }

    #[cfg(not(target_arch = "aarch64"))]
    fn measure(&self, _runner: Option<&mut Runner>) -> f64 {
        let _ = self.units_per_tick_log2;
        match self.access {}
    }
}

/// Cycles in a second of a core. Measured by a thread that stays there: on another core it might not be let read them.
///
/// # Errors
/// Why the kernel lets nobody read them, or nobody run there.
pub fn measured_on(core: CoreId, tick_ns: f64) -> Result<f64, String> {
    let units_per_tick_log2 = units_per_tick_log2(tick_ns);
    let work = move || -> Result<f64, String> {
        schedule::pin(core).map_err(|error| format!("core {core} cannot be used: {error}"))?;
        let access = CycleAccess::open().map_err(|why| why.to_string())?;
        Ok(TargetCycles { access, hz: 0.0, units_per_tick_log2 }.measure(None))
    };
    let measuring = spawn("cycles", work).map_err(|why| why.to_string())?;
    measuring.join().unwrap_or_else(|_| Err("the thread that measures it panicked".into()))
}

/// Why a target's samples cannot be timed in cycles.
pub fn refuses(case: &Case) -> Option<ExecutorError> {
    let targets = std::iter::once(&case.target).chain(&case.companions);
    let other = targets.into_iter().find(|target| !target.pattern.is_timed_loop())?;
    Some(ExecutorError::Refused(format!(
        "`clock = \"pmccntr\"` times the passes of loops (walk, chase, buffer, random, tick), and `{}` is none: the kernel wakes \
         it, or it reads the clock itself; leaving `clock` out would do",
        other.workload
    )))
}
