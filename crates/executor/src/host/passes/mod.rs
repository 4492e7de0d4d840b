//! An external program as target: it runs on its core as it is, and its passes are observed from other cores.

mod anchor;
mod collector;
mod cyclictest;
mod intervals;
mod marked;
mod source;
mod tasks;
mod whole;

use std::collections::BTreeMap;
use std::time::Instant;

use waykeeper_kernels::{AccessCounter, clock};
use waykeeper_linux::core_state::{CoreState, frequency_mhz};
use waykeeper_linux::{Root, schedule};
use waykeeper_run::{PlacementRecord, Privilege};
use waykeeper_workload::{Passes, Pattern};

use super::command::{AsTarget, Surroundings};
use super::job::{Job, Recorded};
use super::target::{FIFO_PRIORITY, SCHED_FIFO, TargetObservation, wash};
use super::watch::Watch;
use cyclictest::Cyclictest;
use marked::Marked;
pub use source::functions;
use whole::Whole;

use crate::measure::ExecutorError;

/// A real-time program may run this much longer than it is observed without ever sleeping before the kernel ends it.
const WATCHDOG_SPARE_US: u64 = 60_000_000;

/// What was found out about a program beside its samples.
#[derive(Debug, Default)]
pub struct Beside {
    /// Where it and its memory were, and how its passes were known.
    pub placements: BTreeMap<String, PlacementRecord>,
    /// What a reader of its samples must know.
    pub remarks: Vec<String>,
}

/// An external program that is the target of a job.
pub enum ProgramTarget<'j> {
    /// It runs all the time, and its passes are marked by itself or seen by the kernel.
    Marked(Box<Marked<'j>>),
    /// It runs again and again.
    Whole(Whole<'j>),
    /// It measures, and says what it saw.
    Cyclictest(Cyclictest<'j>),
}

impl<'j> ProgramTarget<'j> {
    /// Prepares the job's target, where it is an external program: before memory is laid out, for its guardian is a fork.
    ///
    /// # Errors
    /// What this machine lacks for it.
    pub fn prepare(job: &'j Job) -> Result<Option<Self>, ExecutorError> {
        let Pattern::Command { argv, passes } = &job.target.pattern else { return Ok(None) };
        if let Some(region) = &job.region {
            return Err(format!(
                "the policy locks {} for the target's memory, and the memory of the program `{}` cannot be put there from \
                 outside; expected a policy without `lock`, or a program that maps this file itself",
                region.display(),
                argv[0]
            )
            .into());
        }
        if job.colours.is_some() {
            return Err(format!(
                "the pages of the program `{}` cannot be given colours from outside; expected a mitigation without colours",
                argv[0]
            )
            .into());
        }
        Ok(Some(match passes {
            Passes::Process => Self::Whole(Whole::new(job, argv)),
            Passes::Cyclictest => Self::Cyclictest(Cyclictest::prepare(job, argv)?),
            passes => Self::Marked(Box::new(Marked::new(job, argv, passes)?)),
        }))
    }

    /// Starts it, and waits until it is at work.
    ///
    /// # Errors
    /// A program that cannot be started, that ends at once, or whose passes are not seen.
    pub fn start(&mut self, job: &Job) -> Result<(), ExecutorError> {
        if job.wash_bytes > 0 {
            wash(job.wash_bytes);
        }
        match self {
            Self::Marked(marked) => marked.start(),
            Self::Whole(_) | Self::Cyclictest(_) => Ok(()),
        }
    }

    /// Observes it for the job's length; everything runs.
    ///
    /// # Errors
    /// A program that ends too early, or whose passes cannot be found.
    pub fn observe(
        self,
        progress: &[AccessCounter],
        watch: &mut Watch,
    ) -> Result<(TargetObservation, Beside), ExecutorError> {
        let mut view = NeighbourWatch { progress, watch, looked: Instant::now() };
        match self {
            Self::Marked(marked) => marked.observe(&mut view),
            Self::Whole(whole) => whole.observe(&mut view),
            Self::Cyclictest(cyclictest) => Ok(cyclictest.observe(&mut view)?),
        }
    }
}

/// cyclictest as a further target of a repeat, observed from a thread of its own.
pub struct FurtherProgram<'j>(Cyclictest<'j>);

impl<'j> FurtherProgram<'j> {
    /// Prepares a job's target, where it is an external program: before memory is laid out, for its guardian is a fork.
    ///
    /// # Errors
    /// A program that is not cyclictest, or that cannot be started.
    pub fn prepare(job: &'j Job) -> Result<Option<Self>, ExecutorError> {
        match ProgramTarget::prepare(job)? {
            None => Ok(None),
            Some(ProgramTarget::Cyclictest(program)) => Ok(Some(Self(program))),
            Some(_) => Err("of external programs only cyclictest is observed together with another target".into()),
        }
    }

    /// Observes it for the job's length.
    ///
    /// # Errors
    /// A program that says nothing that is understood.
    pub fn observe(self, job: &Job, progress: &[AccessCounter]) -> Result<(TargetObservation, Beside), ExecutorError> {
        let mut watch = Watch::new(Vec::new(), job.target.core);
        Ok(self.0.observe(&mut NeighbourWatch { progress, watch: &mut watch, looked: Instant::now() })?)
    }
}

/// What is looked at beside the program meanwhile.
pub struct NeighbourWatch<'v> {
    progress: &'v [AccessCounter],
    watch: &'v mut Watch,
    looked: Instant,
}

impl NeighbourWatch<'_> {
    /// Looks at the neighbours, where the last look is long enough ago.
    fn look(&mut self) {
        self.watch.look_when_due(&mut self.looked);
    }

    fn accesses(&self) -> Vec<u64> {
        self.progress.iter().map(AccessCounter::accesses).collect()
    }
}

/// What a program gets beside its core.
fn surroundings(job: &Job, inherits: i32, mut variables: Vec<(String, String)>) -> Surroundings {
    if job.huge_pages {
        variables.push(huge_pages_of_malloc());
    }
    let longest_us = (job.duration_ticks as f64 * job.tick_ns / 1e3) as u64 + WATCHDOG_SPARE_US;
    // Where there is no other core, a program that never sleeps would let nobody end it.
    let others = schedule::allowed().iter().any(|core| *core != job.target.core);
    let realtime = (job.fifo && others).then_some((FIFO_PRIORITY, longest_us));
    Surroundings { variables, as_target: AsTarget { inherits, realtime, small_pages: !job.huge_pages, timed: false } }
}

/// The C library's `malloc` then asks for transparent huge pages (glibc 2.35 and later).
fn huge_pages_of_malloc() -> (String, String) {
    const NAME: &str = "GLIBC_TUNABLES";
    let own = std::env::var(NAME).map(|own| own + ":").unwrap_or_default();
    (NAME.into(), format!("{own}glibc.malloc.hugetlb=1"))
}

/// The machine at one end of the observation.
struct End {
    core: CoreState,
    accesses: Vec<u64>,
    ticks: u64,
}

impl End {
    fn read(job: &Job, view: &NeighbourWatch<'_>) -> Self {
        let core = CoreState::read(&Root::default(), job.target.core);
        Self { core, accesses: view.accesses(), ticks: clock::now() }
    }
}

/// What the observation between two ends comes to.
fn observed(job: &Job, before: &End, after: &End, recorded: Recorded, tasks: &tasks::Tasks) -> TargetObservation {
    let mut disturbances = after.core.since(&before.core);
    disturbances.extend(tasks.disturbances());
    disturbances.extend(frequency_mhz(&Root::default(), job.target.core).map(|mhz| ("frequency_mhz".to_owned(), mhz)));
    let policy = tasks.policy();
    let mut privileges = Vec::new();
    // Nothing is known of a program that ended before it was looked at: [`not_seen`] says so.
    if job.fifo && tasks.is_seen() {
        let detail = match policy == SCHED_FIFO {
            true => format!("the program began with priority {FIFO_PRIORITY}"),
            false => format!("the program ran under {policy}"),
        };
        privileges.push(Privilege { what: SCHED_FIFO.into(), granted: policy == SCHED_FIFO, detail });
    }
    TargetObservation {
        recorded,
        observed_s: after.ticks.saturating_sub(before.ticks) as f64 * job.tick_ns / 1e9,
        accesses: after.accesses.iter().zip(&before.accesses).map(|(a, b)| a - b).collect(),
        policy,
        privileges,
        disturbances,
        counters: BTreeMap::new(),
        core: tasks.last_core().unwrap_or(job.target.core),
        not_counted: tasks.not_counted(),
        packets: None,
    }
}

/// What a reader must know where a program ended before its scheduling policy was seen.
fn not_seen(job: &Job, tasks: &tasks::Tasks) -> Option<String> {
    (job.fifo && !tasks.is_seen())
        .then(|| format!("{SCHED_FIFO}: not seen whether the program ran under it; it ended before it was looked at"))
}

fn placement(asked: impl Into<String>, got: impl Into<String>) -> PlacementRecord {
    PlacementRecord { asked: asked.into(), got: got.into() }
}
