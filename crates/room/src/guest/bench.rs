//! The cases of an experiment inside a room.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use waykeeper_executor::{Bench, ExecutorError, Job, JobPart, Pace, Recorded, WorkerAnswer};
use waykeeper_experiment::cases::Case;
use waykeeper_platform::{CoreId, Platform};
use waykeeper_run::{ClockRecord, PlacementRecord};
use waykeeper_workload::Pattern;

use crate::socket::client::Client;
use crate::socket::protocol::{RoomStatus, Start, WorkloadSamples};

/// The target and its neighbours run this long before the first sample counts, simulated; as in the simulator's own runs.
const WARM_UP: Duration = Duration::from_millis(5);

/// Simulated time is slow: pilots and sentinels are short, and what is above two misses over the median is an excursion.
const PACE: Pace = Pace { pilot_s: 0.02, sentinel_s: 0.02, least_excursion_ns: 200.0 };

/// Simulated time is waited for in pieces of this length, so that Ctrl-C is heard.
const PIECE: Duration = Duration::from_millis(2);

/// Runs the loops of cases as simulated tasks of the calling process.
#[derive(Debug)]
pub struct RoomBench {
    status: RoomStatus,
    cores: Vec<CoreId>,
}

fn refused(error: impl std::fmt::Display) -> ExecutorError {
    ExecutorError::Refused(format!("the room: {error}"))
}

fn connect() -> Result<Client, ExecutorError> {
    match Client::of_environment() {
        Ok(Some(client)) => Ok(client),
        Ok(None) => Err(refused("this process is in none any more")),
        Err(error) => Err(refused(error)),
    }
}

impl RoomBench {
    /// The room that this process is in; its cores are those that its files show.
    ///
    /// # Errors
    /// A room that does not answer.
    pub fn new(machine: &Platform) -> Result<Self, ExecutorError> {
        Ok(Self { status: connect()?.status().map_err(refused)?, cores: machine.core_ids() })
    }
}

impl Bench for RoomBench {
    fn run(&self, job: &Job, stop: &AtomicBool) -> Result<WorkerAnswer, ExecutorError> {
        let mut client = connect()?;
        let mut neighbours = Vec::new();
        for part in &job.neighbours {
            neighbours.push(client.start(start(part, false)).map_err(refused)?);
        }
        // The target begins when its neighbours have warmed up; what it needs to warm up itself is not kept.
        wait(&mut client, WARM_UP, stop)?;
        let target = Start { region: job.region.as_deref().and_then(name), ..start(&job.target, true) };
        let warming = client.start(target.clone()).map_err(refused)?;
        wait(&mut client, WARM_UP, stop)?;
        let before = accesses(&mut client, &neighbours)?;
        let warm = client.samples(warming).map_err(refused)?;
        let length = Duration::from_secs_f64(job.duration_ticks as f64 * job.tick_ns / 1e9);
        let observed_ns = wait(&mut client, length, stop)?;
        let after = accesses(&mut client, &neighbours)?;
        let samples = client.samples(warming).map_err(refused)?;
        client.stop(warming).map_err(refused)?;
        for id in neighbours {
            client.stop(id).map_err(refused)?;
        }
        let recorded = recorded(&samples, &warm, job);
        let cut_short = stop.load(Ordering::Relaxed);
        if recorded.samples == 0 && !cut_short {
            return Err(refused(format!(
                "no sample ended within {length:?} of simulated time; a longer --duration would do"
            )));
        }
        let asked = format!("core {}", job.target.core);
        let got = format!("{asked}, simulated");
        let reads = samples.counted.sample_reads.saturating_sub(warm.counted.sample_reads);
        Ok(WorkerAnswer {
            recorded,
            observed_s: observed_ns / 1e9,
            accesses: after.iter().zip(&before).map(|(after, before)| Some(after.saturating_sub(*before))).collect(),
            cpu_s_per_s: vec![None; after.len()],
            placement: BTreeMap::from([("target".to_owned(), PlacementRecord { asked, got })]),
            privileges: Vec::new(),
            disturbances: BTreeMap::new(),
            counters: BTreeMap::from([("memory_reads".to_owned(), reads)]),
            cut_short,
            not_counted: None,
            remarks: Vec::new(),
            packets: None,
            companions: Vec::new(),
        })
    }

    fn refuses(&self, case: &Case) -> Option<ExecutorError> {
        let placed = std::iter::once(&case.target).chain(&case.neighbours);
        let command = placed.map(|placed| &placed.pattern).find(|pattern| matches!(pattern, Pattern::Command { .. }));
        let why =
            command.map(|_| format!("case `{}` runs a program, and the cores of a room are simulated", case.name));
        let together = (!case.companions.is_empty()).then(|| {
            format!("case `{}` measures several targets at the same time, and a room measures one", case.name)
        });
        let why = why.or(together).or_else(|| {
            let mut placed = std::iter::once(&case.target).chain(&case.neighbours);
            let why = placed.find_map(|placed| placed.pattern.host_only())?;
            Some(format!("case `{}` cannot run here: {why}, and the cores of a room are simulated", case.name))
        });
        why.map(ExecutorError::Refused)
    }

    fn cores(&self) -> Vec<CoreId> {
        self.cores.clone()
    }

    fn clock(&self) -> ClockRecord {
        let tick_ns = self.status.tick_ns;
        ClockRecord {
            name: format!("simulated counter of {}", self.status.platform),
            frequency_hz: 1e9 / tick_ns,
            tick_ns,
            resolution_ns: Some(tick_ns),
            read_overhead_ns: None,
            stability_ppm: None,
            invariant: Some(true),
        }
    }

    fn pace(&self) -> Pace {
        PACE
    }

    fn is_simulated(&self) -> bool {
        true
    }

    fn called(&self) -> &str {
        "this room"
    }

    fn notes(&self) -> Vec<String> {
        let RoomStatus { platform, kernel, .. } = &self.status;
        vec![format!(
            "This is a room: platform {platform} is simulated, and what resctrl shows is a model of Linux {kernel}."
        )]
    }
}

fn start(part: &JobPart, target: bool) -> Start {
    let name = if target { "target" } else { "neighbour" };
    Start { target, ..Start::task(name, part.pattern.clone(), part.core) }
}

/// The group of a region's device.
fn name(device: &Path) -> Option<String> {
    Some(device.file_name()?.to_string_lossy().into_owned())
}

/// Waits, and returns the simulated nanoseconds that passed.
fn wait(client: &mut Client, length: Duration, stop: &AtomicBool) -> Result<f64, ExecutorError> {
    let begun = client.wait(Duration::ZERO).map_err(refused)?;
    let mut passed = 0.0;
    while passed < length.as_nanos() as f64 && !stop.load(Ordering::Relaxed) {
        let left = Duration::from_nanos((length.as_nanos() as f64 - passed).ceil() as u64);
        passed = client.wait(left.min(PIECE)).map_err(refused)? - begun;
    }
    Ok(passed)
}

fn accesses(client: &mut Client, ids: &[u64]) -> Result<Vec<u64>, ExecutorError> {
    ids.iter().map(|id| Ok(client.samples(*id).map_err(refused)?.counted.accesses)).collect()
}

/// The samples since the warm-up. They are known in the buckets of a histogram: above 2047 ticks to a thousandth.
fn recorded(all: &WorkloadSamples, warm: &WorkloadSamples, job: &Job) -> Recorded {
    let mut counts: BTreeMap<u64, u64> = all.buckets.iter().copied().collect();
    for (ticks, count) in &warm.buckets {
        if let Some(now) = counts.get_mut(ticks) {
            *now = now.saturating_sub(*count);
        }
    }
    counts.retain(|_, count| *count > 0);
    let excursions =
        job.excursion_above_ticks.map_or(0, |above| counts.range(above + 1..).map(|(_, count)| count).sum());
    Recorded {
        samples: counts.values().sum(),
        sum: counts.iter().map(|(ticks, count)| u128::from(*ticks) * u128::from(*count)).sum(),
        min: counts.keys().next().copied(),
        max: counts.keys().next_back().copied(),
        excursions,
        // Without times each excursion is an event of its own.
        events: excursions,
        event_counts: job
            .excursion_above_ticks
            .map_or_else(Vec::new, |above| counts.range(above + 1..).map(|(ticks, count)| (*ticks, *count)).collect()),
        counts: counts.into_iter().collect(),
        ..Recorded::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::protocol::WorkloadCounts;
    use waykeeper_workload::TickBody;

    fn samples(buckets: &[(u64, u64)]) -> WorkloadSamples {
        WorkloadSamples {
            ran_ns: 0.0,
            tick_ns: 1.0,
            counted: WorkloadCounts::default(),
            latency: None,
            buckets: buckets.to_vec(),
        }
    }

    #[test]
    fn what_the_warm_up_took_is_left_out() {
        let part = JobPart { pattern: Pattern::Tick { body: TickBody::Nothing }, core: 0 };
        let job = Job {
            parent: 0,
            target: part,
            companions: Vec::new(),
            neighbours: Vec::new(),
            seed: 0,
            duration_ticks: 0,
            tick_ns: 1.0,
            units_per_tick_log2: None,
            excursion_above_ticks: Some(20),
            gap_ticks: 0,
            peak_interval_ticks: 1,
            wash_bytes: 0,
            fifo: false,
            huge_pages: false,
            region: None,
            colours: None,
        };
        // Of 900 ticks there was one, in the warm-up; of 10 there were 5 before and 12 in all; of 30 three came after.
        let found = recorded(&samples(&[(10, 12), (30, 3), (900, 1)]), &samples(&[(10, 5), (900, 1)]), &job);
        assert_eq!((found.samples, found.min, found.max), (10, Some(10), Some(30)));
        assert_eq!(found.sum, 7 * 10 + 3 * 30);
        assert_eq!((found.excursions, found.events), (3, 3));
        assert_eq!(found.counts, [(10, 7), (30, 3)]);
    }
}
