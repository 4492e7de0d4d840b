//! This Linux machine as a place that runs cases. Every repeat is a fresh worker process with fresh memory.

mod bench;
mod colours;
mod command;
mod cycles;
mod gate;
mod guardian;
mod in_force;
mod job;
mod limits;
mod live;
mod packets;
mod passes;
mod place;
mod policy;
mod probe;
mod program;
mod signals;
mod standstill;
mod target;
mod watch;
mod woken;
mod worker;

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use waykeeper_experiment::cases::{Case, Placed};
use waykeeper_experiment::mitigation::parts;
use waykeeper_linux::thread::spawn;
use waykeeper_linux::{FIFO, HUGE_PAGES};
use waykeeper_platform::explain::read_json_text;
use waykeeper_run::measurement::Measurement;

use crate::measure::{Executor, ExecutorError, OfferedSite, PlannedRepeat};
use crate::policies::PolicyFiles;
pub use bench::Bench;
use in_force::InForce;
pub use job::{CompanionPart, Job, JobPart, Recorded, WorkerAnswer};
pub(crate) use limits::file_of;
pub use limits::{no_program, not_installed};
pub use live::{LiveNeighbour, LiveTarget, Recent};
pub(crate) use passes::functions;
pub use worker::worker_main;

/// The first argument that makes the program a worker; it is not for users.
pub const WORKER_ARGUMENT: &str = "__worker";

/// A worker ends with it where a mistake in an option or a file is the reason.
const INPUT_STATUS: i32 = 2;

/// A worker that has not answered this long after its time is killed. Laying out memory takes most of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Washing goes over this many times the last-level cache, and over no more than [`WASH_MOST`].
const WASH_TIMES: u64 = 2;
const WASH_MOST: u64 = 256 << 20;

/// Runs cases on this machine.
#[derive(Debug)]
pub struct Host {
    place: OfferedSite,
    /// What was in force before anything was measured.
    in_force: InForce,
    bench: Box<dyn Bench>,
    /// Of the counter, in which times are planned.
    tick_ns: f64,
    /// Of the numbers that samples are recorded as.
    sample_ns: f64,
    line_bytes: u64,
    policies: PolicyFiles,
    /// Bytes to walk through to wash the caches.
    wash_bytes: u64,
}

impl Executor for Host {
    fn place(&self) -> &OfferedSite {
        &self.place
    }

    fn measure(&self, assignment: &PlannedRepeat<'_>, stop: &AtomicBool) -> Result<Measurement, ExecutorError> {
        self.measure_all(assignment, stop).map(|(measurement, _)| measurement)
    }

    fn measure_all(
        &self,
        assignment: &PlannedRepeat<'_>,
        stop: &AtomicBool,
    ) -> Result<(Measurement, Vec<Measurement>), ExecutorError> {
        let case = assignment.case;
        let applied = policy::applied(&parts(&case.mitigation), &self.policies, case.target.core, stop)?;
        let region = applied.as_ref().and_then(|applied| applied.region.clone());
        let started = now();
        let mut answer = self.bench.run(&Job { region, ..self.job(assignment) }, stop)?;
        let lost = applied.as_ref().and_then(policy::AppliedPolicy::lost);
        applied.map_or(Ok(()), policy::AppliedPolicy::restore)?;
        // With the policy under test taken back, the machine is to be as the run found it.
        let changed = self.in_force.changed(&in_force::look());
        let stopped = stop.load(Ordering::Relaxed);
        let companions = std::mem::take(&mut answer.companions);
        let measured = |mut answer: WorkerAnswer, assignment: &PlannedRepeat<'_>| {
            let reasons = [answer.not_counted, lost.clone(), changed.clone()].into_iter().flatten();
            answer.not_counted = reasons.reduce(|a, b| format!("{a}; {b}"));
            let measurement = answer.into_measurement(assignment, self.sample_ns, self.line_bytes, stopped)?;
            Ok(Measurement { started: Some(started.clone()), ..measurement })
        };
        let companions = case.companions.iter().zip(companions).map(|(target, answer)| {
            let case = Case { target: target.clone(), ..case.clone() };
            measured(answer, &PlannedRepeat { case: &case, ..*assignment })
        });
        let companions = companions.collect::<Result<_, ExecutorError>>()?;
        Ok((measured(answer, assignment)?, companions))
    }

    fn refuses(&self, case: &Case) -> Option<ExecutorError> {
        self.bench.refuses(case)
    }

    fn at_once(&self) -> usize {
        1
    }
}

impl Host {
    /// The mitigations that a Linux host can offer, by name.
    pub const MITIGATIONS: [&'static str; 6] =
        [FIFO, HUGE_PAGES, colours::APART, colours::SHARED, colours::LAST_APART, colours::LAST_SHARED];

    fn job(&self, assignment: &PlannedRepeat<'_>) -> Job {
        let case = assignment.case;
        let ticks = |ns: f64| (ns / self.tick_ns).round() as u64;
        let units = |ns: f64| (ns / self.sample_ns).round() as u64;
        let mitigations = parts(&case.mitigation);
        // A measure that is under test is off unless this case has it; one that is not is used wherever it is allowed.
        let on = |name: &str| mitigations.contains(&name) || !assignment.under_test.iter().any(|tested| tested == name);
        let part = |placed: &Placed| JobPart { pattern: placed.pattern.clone(), core: placed.core };
        Job {
            parent: std::process::id(),
            target: part(&case.target),
            companions: companions(case, assignment.companions_above_ns)
                .map(|(placed, above_ns)| CompanionPart {
                    part: part(placed),
                    excursion_above_ticks: above_ns.map(units),
                })
                .collect(),
            neighbours: case.neighbours.iter().map(part).collect(),
            seed: assignment.seed,
            duration_ticks: ticks(assignment.duration_s * 1e9),
            tick_ns: self.tick_ns,
            units_per_tick_log2: self.bench.units_per_tick_log2(),
            excursion_above_ticks: assignment.excursion_above_ns.map(units),
            gap_ticks: ticks(assignment.gap_ns),
            peak_interval_ticks: ticks(assignment.peak_interval_ns).max(1),
            wash_bytes: if assignment.wash { self.wash_bytes } else { 0 },
            // A loop under FIFO that never sleeps would starve a neighbour on its own core.
            fifo: on(FIFO) && (mitigations.contains(&FIFO) || !shares_its_core(case) || case.target.pattern.sleeps()),
            huge_pages: on(HUGE_PAGES),
            region: None,
            colours: colours::of(&mitigations, self.place.site.core(case.target.core)),
        }
    }
}

/// The case's companions, each with what is an excursion in it, where that is known.
fn companions<'a>(case: &'a Case, above_ns: &'a [Option<f64>]) -> impl Iterator<Item = (&'a Placed, Option<f64>)> {
    case.companions.iter().zip(above_ns.iter().copied().chain(std::iter::repeat(None)))
}

/// The time, RFC 3339, to the second.
fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Second).unwrap_or(now).to_string()
}

fn shares_its_core(case: &Case) -> bool {
    case.neighbours.iter().any(|neighbour| neighbour.core == case.target.core)
}

fn refused(what: &str, error: impl std::fmt::Display) -> ExecutorError {
    ExecutorError::Refused(format!("{what}: {error}"))
}

fn ask_worker(job: &Job, stop: &AtomicBool) -> Result<WorkerAnswer, ExecutorError> {
    let program = std::env::current_exe().map_err(|error| refused("this program's own file is unknown", error))?;
    let mut worker = Command::new(program)
        .arg(WORKER_ARGUMENT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| refused("no worker process could be started", error))?;
    let text = serde_json::to_vec(job).map_err(|error| refused("the job cannot be written", error))?;
    let mut input = worker.stdin.take().expect("stdin is piped");
    // Dropping the pipe ends the job; a worker that died shows in its status below.
    let _ = input.write_all(&text);
    drop(input);
    let (mut output, mut errors) =
        (worker.stdout.take().expect("stdout is piped"), worker.stderr.take().expect("stderr is piped"));
    let read = move || {
        let (mut answer, mut complaint) = (Vec::new(), String::new());
        let _ = output.read_to_end(&mut answer);
        let _ = errors.read_to_string(&mut complaint);
        (answer, complaint)
    };
    let reader = spawn("answer", read).map_err(|error| {
        signals::interrupt(worker.id());
        let _ = worker.wait();
        refused("the worker process has nobody to read its answer", error)
    })?;
    let time = Duration::from_secs_f64(job.duration_ticks as f64 * job.tick_ns / 1e9);
    let killed = wait(&mut worker, time + PATIENCE, stop);
    let status = worker.wait().map_err(|error| refused("the worker process was lost", error))?;
    let (answer, complaint) = reader.join().unwrap_or_default();
    if let Ok(answer) = read_json_text::<WorkerAnswer>(&answer) {
        return Ok(answer);
    }
    let complaint = complaint.trim();
    if killed {
        return Err(refused(
            "the worker process did not end in time and was killed",
            if complaint.is_empty() { "it said nothing" } else { complaint },
        ));
    }
    if stop.load(Ordering::Relaxed) && !status.success() {
        return Err(ExecutorError::Stopped);
    }
    if job.units_per_tick_log2.is_some() && status.signal() == Some(libc::SIGILL) {
        return Err(ExecutorError::Refused(
            "the kernel took the cycle counter away amid a repeat, for a counter of a whole core that has precedence; without \
             running `perf`, or without `--clock pmccntr`, it would do"
                .into(),
        ));
    }
    if complaint.is_empty() {
        return Err(ExecutorError::Refused(format!("the worker process ended with {status} and said nothing")));
    }
    let kind = if status.code() == Some(INPUT_STATUS) { ExecutorError::Input } else { ExecutorError::Refused };
    Err(kind(complaint.into()))
}

/// Waits for the worker; passes a stop on to it, and kills it after `patience`. True where it was killed.
fn wait(worker: &mut Child, patience: Duration, stop: &AtomicBool) -> bool {
    let begun = Instant::now();
    let mut told = false;
    loop {
        match worker.try_wait() {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => return false,
        }
        if stop.load(Ordering::Relaxed) && !told {
            signals::interrupt(worker.id());
            told = true;
        }
        if begun.elapsed() > patience {
            let _ = worker.kill();
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
