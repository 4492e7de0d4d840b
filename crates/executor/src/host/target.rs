//! The target's side of a repeat: warm up, then observe, and note what else happened on its core.

use std::collections::BTreeMap;

use waykeeper_experiment::off_core::OFF_CORE_MS;
use waykeeper_experiment::run::Privilege;
use waykeeper_kernels::{Progress, Recorder, clock};
use waykeeper_linux::Root;
use waykeeper_linux::core_state::{CoreState, frequency_mhz};
use waykeeper_linux::memory::{Mapping, Pages};
use waykeeper_linux::perf::Counters;
use waykeeper_linux::schedule::{self, ThreadUsage};

use waykeeper_workload::Pattern;

use super::job::{Job, Recorded};
use super::program::Runner;
use super::signals::STOP;
use super::worker::privilege;

/// Real-time priority of a target: above threaded interrupt handlers (50), below the kernel's own 99.
pub const FIFO_PRIORITY: i32 = 80;

/// The target and its neighbours run this long before the first sample counts: caches and predictors are then in the
/// state that the neighbours leave them in.
const WARM_UP_NS: f64 = 50e6;

/// A real-time loop that goes on this much longer than it should is ended by the kernel.
const WATCHDOG_SPARE_US: u64 = 5_000_000;

/// What the target's thread brings home.
#[derive(Debug)]
pub struct Observed {
    pub recorded: Recorded,
    pub observed_s: f64,
    pub accesses: Vec<u64>,
    pub policy: &'static str,
    pub privileges: Vec<Privilege>,
    pub disturbances: BTreeMap<String, f64>,
    pub counters: BTreeMap<String, u64>,
}

/// Runs the target on the calling thread, which is pinned already.
pub fn observe(job: &Job, runner: &mut Runner, progress: &[Progress]) -> Observed {
    let root = Root::default();
    let core = job.target.core;
    if job.wash_bytes > 0 {
        wash(job.wash_bytes);
    }
    let privileges = if job.fifo { become_realtime(job) } else { Vec::new() };
    let mut recorder = Recorder::new_boxed();
    let (above, gap) = (job.excursion_above_ticks.unwrap_or(u64::MAX), job.gap_ticks);

    recorder.reset(above, gap);
    let warm_up = (warm_up_ns(&job.target.pattern) / job.tick_ns) as u64;
    runner.run_target(&mut recorder, clock::now() + warm_up, &STOP);
    recorder.reset(above, gap);

    let counters = Counters::start();
    let before = Snapshot::take(&root, core, progress);
    let begun = clock::now();
    runner.run_target(&mut recorder, begun + job.duration_ticks, &STOP);
    let ended = clock::now();
    let after = Snapshot::take(&root, core, progress);

    let observed_s = (ended - begun) as f64 * job.tick_ns / 1e9;
    let mut disturbances = after.disturbances_since(&before);
    disturbances.extend(clock_against_system(job, &before, &after));
    disturbances.extend(frequency_mhz(&root, core).map(|mhz| ("frequency_mhz".to_owned(), mhz)));
    Observed {
        recorded: recorded(&recorder, begun, job.tick_ns),
        observed_s,
        accesses: after.accesses.iter().zip(&before.accesses).map(|(a, b)| a - b).collect(),
        policy: schedule::policy(),
        privileges,
        disturbances,
        counters: counters.stop(),
    }
}

/// Long enough for a buffer's first pass too, which comes after one period.
fn warm_up_ns(pattern: &Pattern) -> f64 {
    match pattern {
        Pattern::Buffer { period_ns, .. } => WARM_UP_NS.max(1.5 * period_ns),
        _ => WARM_UP_NS,
    }
}

fn become_realtime(job: &Job) -> Vec<Privilege> {
    let length_us = (job.duration_ticks as f64 * job.tick_ns + warm_up_ns(&job.target.pattern)) / 1e3;
    let watchdog = schedule::limit_realtime(length_us as u64 + WATCHDOG_SPARE_US);
    // Without the watchdog a mistake could take the core away for good: then the loop stays an ordinary one.
    let fifo = match &watchdog {
        Ok(()) => schedule::fifo(FIFO_PRIORITY),
        Err(_) => Err(std::io::Error::other("not used, for the watchdog was refused")),
    };
    vec![
        privilege("RLIMIT_RTTIME", watchdog.map(|()| "the kernel ends a loop that does not end".into())),
        privilege("SCHED_FIFO", fifo.map(|()| format!("priority {FIFO_PRIORITY}"))),
    ]
}

/// Writes to every line of a buffer larger than the caches, so that nothing of an earlier setting is left in them.
fn wash(bytes: u64) {
    if let Ok(mapping) = Mapping::new(bytes as usize, Pages::Any) {
        for offset in (0..mapping.length()).step_by(64) {
            // SAFETY: the offset lies within the mapping, which this function owns.
            unsafe { mapping.start().add(offset).write_volatile(1) };
        }
    }
}

struct Snapshot {
    core: CoreState,
    thread: ThreadUsage,
    accesses: Vec<u64>,
    ticks: u64,
    system_ns: f64,
}

impl Snapshot {
    fn take(root: &Root, core: u32, progress: &[Progress]) -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicRaw);
        Self {
            ticks: clock::now(),
            system_ns: time.tv_sec as f64 * 1e9 + time.tv_nsec as f64,
            core: CoreState::read(root, core),
            accesses: progress.iter().map(Progress::accesses).collect(),
            thread: ThreadUsage::read(),
        }
    }

    fn disturbances_since(&self, before: &Self) -> BTreeMap<String, f64> {
        let mut found = self.core.since(&before.core);
        for (name, now, then) in [
            ("involuntary_switches", self.thread.involuntary_switches, before.thread.involuntary_switches),
            ("voluntary_switches", self.thread.voluntary_switches, before.thread.voluntary_switches),
            ("minor_faults", self.thread.minor_faults, before.thread.minor_faults),
            ("major_faults", self.thread.major_faults, before.thread.major_faults),
        ] {
            found.insert(name.into(), now.saturating_sub(then) as f64);
        }
        let waited = self.thread.waited_ns.zip(before.thread.waited_ns);
        found.extend(waited.map(|(now, then)| (OFF_CORE_MS.to_owned(), now.saturating_sub(then) as f64 / 1e6)));
        found
    }
}

/// How far the counter ran apart from the system's clock meanwhile: a jump of either shows here.
fn clock_against_system(job: &Job, before: &Snapshot, after: &Snapshot) -> Option<(String, f64)> {
    let system_ns = after.system_ns - before.system_ns;
    let counter_ns = after.ticks.wrapping_sub(before.ticks) as f64 * job.tick_ns;
    (system_ns > 0.0).then(|| ("clock_against_system_ppm".to_owned(), (counter_ns / system_ns - 1.0) * 1e6))
}

fn recorded(recorder: &Recorder, begun: u64, tick_ns: f64) -> Recorded {
    let nonzero = |pairs: &mut dyn Iterator<Item = (u64, u64)>| pairs.filter(|(_, count)| *count > 0).collect();
    Recorded {
        samples: recorder.samples(),
        sum: recorder.sum(),
        min: recorder.min(),
        max: recorder.max(),
        max_at_s: recorder.max_at().saturating_sub(begun) as f64 * tick_ns / 1e9,
        overflow: recorder.overflow(),
        backwards: recorder.backwards(),
        missed_periods: recorder.missed_periods(),
        excursions: recorder.excursions(),
        events: recorder.clusters(),
        counts: nonzero(&mut recorder.counts()),
        event_counts: nonzero(&mut recorder.cluster_counts()),
    }
}
