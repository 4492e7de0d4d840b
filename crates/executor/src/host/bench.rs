//! What runs the loops of a case: the cores of this machine, or those of a simulated one that this process sees as its own.

use std::fmt::Debug;
use std::sync::atomic::AtomicBool;

use waykeeper_experiment::cases::Case;
use waykeeper_experiment::describe::SampleClock;
use waykeeper_kernels::clock;
use waykeeper_linux::schedule;
use waykeeper_platform::CoreId;
use waykeeper_run::ClockRecord;
use waykeeper_workload::format_ns;

use super::job::{Job, WorkerAnswer};
use super::{ask_worker, cycles, limits};
use crate::measure::{ExecutorError, Pace};

/// On a machine, what is less than about one access to memory over the median is the loop's own wobble.
const PACE: Pace = Pace { pilot_s: 0.2, sentinel_s: 0.25, least_excursion_ns: 200.0 };

/// Spread of the counter's frequency above which a reader must be warned, parts in a million.
const UNSTEADY_PPM: f64 = 200.0;

/// Runs the loops of a case.
pub trait Bench: Debug + Send + Sync {
    /// Runs one repeat. A set `stop` ends it early with what there is.
    ///
    /// # Errors
    /// What cannot be done.
    fn run(&self, job: &Job, stop: &AtomicBool) -> Result<WorkerAnswer, ExecutorError>;

    /// Why a case cannot be run, where that is known before it is tried.
    fn refuses(&self, case: &Case) -> Option<ExecutorError>;

    /// Cores that loops may run on; besides them those that are isolated.
    fn cores(&self) -> Vec<CoreId>;

    /// The clock that times the samples.
    fn clock(&self) -> ClockRecord;

    /// How long pilots and sentinels take.
    fn pace(&self) -> Pace;

    /// How it is called in refusals: `this machine`.
    fn called(&self) -> &str;

    /// What a reader of the figures must know.
    fn notes(&self) -> Vec<String>;

    /// Units of samples in a tick, as a power of two, where the cycle counter times them.
    fn units_per_tick_log2(&self) -> Option<u64> {
        None
    }

    /// Whether its cores are simulated, so that this machine's scheduler has no effect on them.
    fn is_simulated(&self) -> bool {
        false
    }
}

/// The cores of this machine. Every repeat is a fresh worker process with fresh memory.
#[derive(Debug)]
pub struct Workers {
    clock: clock::TimestampCounter,
    /// Cycles in a second of a core of this process, where they time the samples.
    cycles_hz: Option<f64>,
}

impl Workers {
    /// Measures the clock.
    ///
    /// # Errors
    /// A clock of samples that this machine has not, or does not let programs read.
    pub fn new(samples: SampleClock) -> Result<Self, ExecutorError> {
        let clock = clock::measure();
        let cycles_hz = match samples {
            SampleClock::Counter => None,
            SampleClock::Pmccntr => {
                let measured = cycles::measured_on(schedule::current_core(), 1e9 / clock.frequency_hz);
                Some(measured.map_err(|why| ExecutorError::Refused(format!("`clock = \"pmccntr\"`: {why}")))?)
            }
        };
        Ok(Self { clock, cycles_hz })
    }

    /// Of the counter.
    fn tick_ns(&self) -> f64 {
        1e9 / self.clock.frequency_hz
    }
}

impl Bench for Workers {
    fn run(&self, job: &Job, stop: &AtomicBool) -> Result<WorkerAnswer, ExecutorError> {
        ask_worker(job, stop)
    }

    fn refuses(&self, case: &Case) -> Option<ExecutorError> {
        let in_cycles = || if self.cycles_hz.is_some() { cycles::refuses(case) } else { None };
        limits::refuses(case).or_else(in_cycles)
    }

    fn cores(&self) -> Vec<CoreId> {
        schedule::allowed()
    }

    fn clock(&self) -> ClockRecord {
        let clock = &self.clock;
        let tick_ns = self.tick_ns();
        if let Some(log2) = self.units_per_tick_log2() {
            let units = (1_u64 << log2) as f64;
            return ClockRecord {
                name: ClockRecord::PMCCNTR.into(),
                frequency_hz: clock.frequency_hz * units,
                tick_ns: tick_ns / units,
                // A cycle here; each repeat measures that of its own core.
                resolution_ns: self.cycles_hz.map(|hz| 1e9 / hz),
                read_overhead_ns: None,
                stability_ppm: Some(clock.stability_ppm),
                invariant: clock.invariant,
            };
        }
        ClockRecord {
            name: clock.name.into(),
            frequency_hz: clock.frequency_hz,
            tick_ns,
            resolution_ns: Some(clock.resolution_ticks as f64 * tick_ns),
            read_overhead_ns: Some(clock.read_overhead_ticks as f64 * tick_ns),
            stability_ppm: Some(clock.stability_ppm),
            invariant: clock.invariant,
        }
    }

    fn units_per_tick_log2(&self) -> Option<u64> {
        self.cycles_hz.map(|_| clock::cycles::units_per_tick_log2(self.tick_ns()))
    }

    fn pace(&self) -> Pace {
        PACE
    }

    fn called(&self) -> &str {
        "this machine"
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.clock.invariant == Some(false) {
            notes.push(
                "The processor does not promise a counter of constant rate: read absolute times with care.".into(),
            );
        }
        notes.extend(self.units_per_tick_log2().map(|_| {
            format!(
                "Samples are timed by the core's cycle counter ({}) between the ticks of {}, which are {} long: each is right \
                 to a cycle while the core keeps its clock, and to a tick in any case.",
                ClockRecord::PMCCNTR,
                self.clock.name,
                format_ns(self.tick_ns())
            )
        }));
        notes.extend(self.clock().coarseness());
        if self.clock.stability_ppm > UNSTEADY_PPM {
            notes.push(format!(
                "The counter's frequency moved by {:.0} parts in a million between two measurements.",
                self.clock.stability_ppm
            ));
        }
        notes
    }
}
