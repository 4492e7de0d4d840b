//! The target's side of a repeat: warm up, then observe, and note other events on its core.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use waykeeper_kernels::{AccessCounter, IntervalMaximum, Recorder, clock};
use waykeeper_linux::Root;
use waykeeper_linux::core_state::{CoreState, STEAL_MS, frequency_mhz};
use waykeeper_linux::memory::{Mapping, Pages};
use waykeeper_linux::perf::PerfCounters;
use waykeeper_linux::{schedule, thread};
use waykeeper_run::off_core::OFF_CORE_MS;
use waykeeper_run::{PacketRecord, Privilege};

use waykeeper_workload::Pattern;

use super::cycles::TargetCycles;
use super::job::{Job, Recorded};
use super::packets::LINGER;
use super::program::Runner;
use super::signals::STOP;
use super::standstill::Account;
use super::woken::rest::Rest;
use super::worker::privilege;

/// The kernel's name of the policy of real-time threads, and what it is called among the privileges.
pub(super) const SCHED_FIFO: &str = "SCHED_FIFO";

/// Real-time priority of a target: above threaded interrupt handlers (50), below the kernel's own 99.
pub const FIFO_PRIORITY: i32 = 80;

/// The target and its neighbours run this long before the first sample counts: caches and predictors are then in the
/// state that the neighbours leave them in.
pub(super) const WARM_UP_NS: f64 = 50e6;

/// A real-time loop that goes on this much longer than it should is ended by the kernel.
const WATCHDOG_SPARE_US: u64 = 5_000_000;

/// What the target's thread brings home.
#[derive(Debug)]
pub struct TargetObservation {
    pub recorded: Recorded,
    pub observed_s: f64,
    pub accesses: Vec<u64>,
    pub policy: &'static str,
    pub privileges: Vec<Privilege>,
    pub disturbances: BTreeMap<String, f64>,
    pub counters: BTreeMap<String, u64>,
    /// The core at the end.
    pub core: u32,
    /// Why the repeat does not count, as far as the target knows it.
    pub not_counted: Vec<String>,
    /// What became of the packets, where it is a control loop between packets.
    pub packets: Option<PacketRecord>,
}

/// Runs the target on the calling thread, which is pinned already.
pub fn observe(
    job: &Job,
    runner: &mut Runner,
    mut cycles: Option<TargetCycles>,
    progress: &[AccessCounter],
) -> TargetObservation {
    let root = Root::default();
    let core = job.target.core;
    if job.wash_bytes > 0 && job.companions.is_empty() {
        wash(job.wash_bytes);
    }
    let privileges = if job.fifo { become_realtime(job) } else { Vec::new() };
    let mut recorder = Recorder::new_boxed();
    let (above, gap) = (job.excursion_above_ticks.unwrap_or(u64::MAX), job.gap_ticks);

    recorder.reset(above, gap);
    let warm_up = (warm_up_ns(&job.target.pattern) / job.tick_ns) as u64;
    runner.run_target(&mut recorder, clock::now() + warm_up, &STOP);
    // The core has reached its clock by now. While it is measured, neighbours take the caches.
    if let Some(cycles) = &mut cycles {
        cycles.begin(runner);
        runner.run_target(&mut recorder, clock::now() + warm_up, &STOP);
    }
    recorder.reset(above, gap);

    let counters = PerfCounters::start();
    let before = Snapshot::at_the_beginning(&root, core, progress, runner.rest());
    let begun = clock::now();
    let peaks = run_in_intervals(job, runner, &mut recorder, begun);
    let ended = clock::now();
    let core_at_the_end = schedule::current_core();
    let after = Snapshot::at_the_end(&root, core, progress, runner.rest());

    let observed_s = (ended - begun) as f64 * job.tick_ns / 1e9;
    let mut disturbances = after.disturbances_since(&before);
    disturbances.extend(cycles.map(TargetCycles::end).unwrap_or_default());
    disturbances.extend(clock_against_system(job, &before, &after));
    let not_counted = not_counted(&before, &after, &disturbances, &privileges);
    disturbances.extend(frequency_mhz(&root, core).map(|mhz| ("frequency_mhz".to_owned(), mhz)));
    TargetObservation {
        recorded: recorded(&recorder, peaks, begun, job.tick_ns),
        observed_s,
        accesses: after.accesses.iter().zip(&before.accesses).map(|(a, b)| a - b).collect(),
        policy: schedule::policy(),
        privileges,
        disturbances,
        counters: counters.stop(),
        core: core_at_the_end,
        not_counted,
        packets: None,
    }
}

/// Runs the target to its end, and takes the largest sample of each interval out of the recorder. Between two intervals lie
/// some nanoseconds in which no sample is taken.
fn run_in_intervals(job: &Job, runner: &mut Runner, recorder: &mut Recorder, begun: u64) -> Vec<IntervalMaximum> {
    let last = begun.saturating_add(job.duration_ticks);
    let intervals = job.duration_ticks.div_ceil(job.peak_interval_ticks);
    // No memory is asked for meanwhile.
    let mut peaks = Vec::with_capacity(usize::try_from(intervals).unwrap_or(0).min(1 << 20));
    let mut until = begun;
    while until < last {
        until = interval_end(until, job.peak_interval_ticks, last);
        runner.run_target(recorder, until, &STOP);
        peaks.extend(recorder.take_peak());
        if STOP.load(Ordering::Relaxed) != 0 {
            break;
        }
    }
    recorder.put_back(&peaks);
    peaks
}

/// Where the interval that begins at `from` ends. A remainder that only the rounding to ticks has left is no interval.
pub(super) fn interval_end(from: u64, interval: u64, last: u64) -> u64 {
    let end = from.saturating_add(interval).min(last);
    if last - end < interval / 100 { last } else { end }
}

/// What happened to the target itself meanwhile, so that its samples are none of its case.
fn not_counted(
    before: &Snapshot,
    after: &Snapshot,
    disturbances: &BTreeMap<String, f64>,
    privileges: &[Privilege],
) -> Vec<String> {
    let steal_ns = disturbances.get(STEAL_MS).map_or(0.0, |ms| ms * 1e6);
    let moves = after.migrations.zip(before.migrations).map(|(after, before)| after.saturating_sub(before));
    let moved =
        moves.filter(|moves| *moves > 0).map(|moves| format!("the target was moved between cores, {moves} times"));
    let was_realtime = privileges.iter().any(|privilege| privilege.what == SCHED_FIFO && privilege.granted);
    let policy = schedule::policy();
    let demoted = (was_realtime && policy != SCHED_FIFO)
        .then(|| format!("the target lost {SCHED_FIFO} and had {policy} at the end"));
    let still = after.account.stood_still_since(&before.account, steal_ns);
    [moved, demoted, still].into_iter().flatten().collect()
}

/// Long enough for the first pass of a periodic workload too, which comes after one period.
fn warm_up_ns(pattern: &Pattern) -> f64 {
    pattern.period_ns().map_or(WARM_UP_NS, |period_ns| WARM_UP_NS.max(1.5 * period_ns))
}

fn become_realtime(job: &Job) -> Vec<Privilege> {
    let length_us = (job.duration_ticks as f64 * job.tick_ns + 2.0 * warm_up_ns(&job.target.pattern)) / 1e3;
    // A busy-polling loop between packets goes on until its generator has ended.
    let lingers = matches!(job.target.pattern, Pattern::Packets { .. });
    let spare_us = WATCHDOG_SPARE_US + if lingers { LINGER.as_micros() as u64 } else { 0 };
    let watchdog = schedule::limit_realtime(length_us as u64 + spare_us);
    // Without the watchdog a mistake could take the core away for good: then the loop stays an ordinary one.
    let fifo = match &watchdog {
        Ok(()) => schedule::fifo(FIFO_PRIORITY),
        Err(_) => Err(std::io::Error::other("not used, for the watchdog was refused")),
    };
    vec![
        privilege("RLIMIT_RTTIME", watchdog.map(|()| "the kernel ends a loop that does not end".into())),
        privilege(SCHED_FIFO, fifo.map(|()| format!("priority {FIFO_PRIORITY}"))),
    ]
}

/// Writes to every line of a buffer larger than the caches, so that nothing of an earlier setting is left in them.
pub(super) fn wash(bytes: u64) {
    if let Ok(mapping) = Mapping::new(bytes as usize, Pages::Any) {
        for offset in (0..mapping.length()).step_by(64) {
            // SAFETY: the offset lies within the mapping, which this function owns.
            unsafe { mapping.start().add(offset).write_volatile(1) };
        }
    }
}

struct Snapshot {
    core: CoreState,
    migrations: Option<u64>,
    accesses: Vec<u64>,
    ticks: u64,
    account: Account,
}

impl Snapshot {
    /// What is read with the least time between it and the first sample comes last: reading files may make a thread wait.
    fn at_the_beginning(root: &Root, core: u32, progress: &[AccessCounter], rest: Rest) -> Self {
        let (core, migrations) = (CoreState::read(root, core), thread::migrations());
        let accesses = progress.iter().map(AccessCounter::accesses).collect();
        let account = Account::read(rest);
        Self { core, migrations, accesses, account, ticks: clock::now() }
    }

    fn at_the_end(root: &Root, core: u32, progress: &[AccessCounter], rest: Rest) -> Self {
        let (ticks, account) = (clock::now(), Account::read(rest));
        let accesses = progress.iter().map(AccessCounter::accesses).collect();
        Self { ticks, account, accesses, migrations: thread::migrations(), core: CoreState::read(root, core) }
    }

    fn disturbances_since(&self, before: &Self) -> BTreeMap<String, f64> {
        let mut found = self.core.since(&before.core);
        for (name, now, then) in [
            (
                "involuntary_switches",
                self.account.usage.involuntary_switches,
                before.account.usage.involuntary_switches,
            ),
            ("minor_faults", self.account.usage.minor_faults, before.account.usage.minor_faults),
            ("major_faults", self.account.usage.major_faults, before.account.usage.major_faults),
        ] {
            found.insert(name.into(), now.saturating_sub(then) as f64);
        }
        // Those of a sleeper's own will are no interference.
        found.insert("voluntary_switches".into(), self.account.waits_since(&before.account) as f64);
        let waited = self.account.usage.waited_ns.zip(before.account.usage.waited_ns);
        found.extend(waited.map(|(now, then)| (OFF_CORE_MS.to_owned(), now.saturating_sub(then) as f64 / 1e6)));
        found
    }
}

/// How far the counter ran apart from the system's clock meanwhile: a jump of either shows here.
fn clock_against_system(job: &Job, before: &Snapshot, after: &Snapshot) -> Option<(String, f64)> {
    let system_ns = after.account.system_ns - before.account.system_ns;
    let counter_ns = after.ticks.wrapping_sub(before.ticks) as f64 * job.tick_ns;
    (system_ns > 0.0).then(|| ("clock_against_system_ppm".to_owned(), (counter_ns / system_ns - 1.0) * 1e6))
}

pub(super) fn recorded(recorder: &Recorder, peaks: Vec<IntervalMaximum>, begun: u64, tick_ns: f64) -> Recorded {
    let since_s = |at: u64| at.saturating_sub(begun) as f64 * tick_ns / 1e9;
    let peaks = if peaks.len() > 1 { peaks } else { Vec::new() };
    let nonzero = |pairs: &mut dyn Iterator<Item = (u64, u64)>| pairs.filter(|(_, count)| *count > 0).collect();
    Recorded {
        samples: recorder.samples(),
        sum: recorder.sum(),
        min: recorder.min(),
        max: recorder.max(),
        max_at_s: Some(since_s(recorder.max_at())),
        peaks: peaks.into_iter().map(|peak| (peak.ticks, since_s(peak.at))).collect(),
        overflow: recorder.overflow(),
        backwards: recorder.backwards(),
        missed_periods: recorder.missed_periods(),
        excursions: recorder.excursions(),
        events: recorder.clusters(),
        counts: nonzero(&mut recorder.counts()),
        event_counts: nonzero(&mut recorder.cluster_counts()),
        rounded_down_ns: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::interval_end;

    #[test]
    fn a_remainder_of_some_ticks_is_no_interval() {
        assert_eq!(interval_end(0, 1000, 5000), 1000);
        assert_eq!(interval_end(4000, 1000, 5003), 5003);
        assert_eq!(interval_end(4000, 1000, 5100), 5000);
        assert_eq!(interval_end(5000, 1000, 5100), 5100);
        assert_eq!(interval_end(0, 1, 2), 1);
        assert_eq!(interval_end(u64::MAX - 5, 1000, u64::MAX), u64::MAX);
    }
}
