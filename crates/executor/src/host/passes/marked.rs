//! A program that runs all the time, while something tells where its passes begin and end.

use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use waykeeper_kernels::clock;
use waykeeper_markers::{CLOCK_MONOTONIC_RAW, Mark, Rings, Unpaired, VARIABLE, Writer};
use waykeeper_workload::Phase;

use super::super::command::External;
use super::super::job::Job;
use super::super::signals::STOP;
use super::super::target::{Observed, WARM_UP_NS};
use super::collector::Collector;
use super::tasks::Tasks;
use super::{Beside, End, View, observed, placement, surroundings};

/// A program must make its first pass within this time.
const FIRST_PASS: Duration = Duration::from_secs(20);

/// How often the rings are read. A ring holds far more than a program marks meanwhile.
const INTERVAL: Duration = Duration::from_millis(2);

/// So long a pass that is open at the end is waited for.
const LAST_PASS: Duration = Duration::from_secs(5);

/// So long a program may take to end after SIGTERM.
const FAREWELL: Duration = Duration::from_secs(1);

/// The program, its rings and what came out of them.
pub struct Marked<'j> {
    job: &'j Job,
    name: &'j str,
    phase: Option<&'j Phase>,
    external: External,
    rings: Rings,
    collector: Collector,
    tasks: Tasks,
    clock: Anchor,
}

/// A moment in both clocks.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    ticks: u64,
    raw_ns: i128,
    tick_ns: f64,
}

impl Anchor {
    fn new(tick_ns: f64) -> Self {
        let (ticks, raw_ns) = clock::paired_reading();
        Self { ticks, raw_ns, tick_ns }
    }

    /// Ticks of the counter at a time of `CLOCK_MONOTONIC_RAW`, nanoseconds.
    fn ticks(&self, raw_ns: u64) -> u64 {
        let since = (i128::from(raw_ns) - self.raw_ns) as f64 / self.tick_ns;
        self.ticks.saturating_add_signed(since as i64)
    }
}

impl<'j> Marked<'j> {
    /// A program with markers.
    ///
    /// # Errors
    /// No memory for the rings, or no process.
    pub fn with_markers(job: &'j Job, argv: &'j [String], phase: Option<&'j Phase>) -> Result<Self, String> {
        let rings = Rings::create().map_err(|error| format!("no shared memory for markers: {error}"))?;
        let variables = vec![(VARIABLE.to_owned(), rings.variable())];
        let surroundings = surroundings(job, rings.file().as_raw_fd(), variables);
        let external = External::prepare_target(argv, job.target.core, job.parent, &surroundings)?;
        let (tasks, clock) = (Tasks::on(job.target.core), Anchor::new(job.tick_ns));
        Ok(Self { job, name: &argv[0], phase, external, rings, collector: Collector::new(), tasks, clock })
    }

    /// Starts the program and waits for its first pass.
    pub fn start(&mut self) -> Result<(), String> {
        self.external.go()?;
        let begun = Instant::now();
        loop {
            self.read();
            if !self.collector.passes().is_empty() {
                return Ok(());
            }
            if let Some(end) = self.external.ended() {
                self.read();
                return Err(match self.collector.passes().is_empty() {
                    true => format!("{} before it made a pass: {end}{}", self.ended_by_itself(), self.no_passes()),
                    false => self.ended_too_early(&end),
                });
            }
            if STOP.load(Ordering::Relaxed) != 0 {
                return Err("stopped before the program made its first pass".into());
            }
            if begun.elapsed() > FIRST_PASS {
                let seconds = FIRST_PASS.as_secs();
                return Err(format!("the program `{}` made no pass within {seconds} s{}", self.name, self.no_passes()));
            }
            std::thread::sleep(INTERVAL);
        }
    }

    /// Lets the neighbours work for a moment, then takes samples for the job's length.
    pub fn observe(mut self, view: &mut View<'_>) -> Result<(Observed, Beside), String> {
        if let Some(end) = self.go_on_until(clock::now() + (WARM_UP_NS / self.job.tick_ns) as u64, view) {
            return Err(self.ended_too_early(&end));
        }
        let phase = self.chosen_phase()?;
        self.tasks.look_now(threads(&self.rings, &self.external));
        let before = End::read(self.job, view);
        self.collector.begin(self.job, phase, before.ticks);
        let mut ended = self.go_on_until(before.ticks.saturating_add(self.job.duration_ticks), view);
        let patience = Instant::now();
        while ended.is_none() && self.collector.samples() == 0 && patience.elapsed() < FIRST_PASS && !stopped() {
            // A program whose period is longer than the measurement is observed until its first pass has ended.
            let last = clock::now() + (INTERVAL.as_nanos() as f64 / self.job.tick_ns) as u64;
            self.collector.extend(last);
            ended = self.go_on_until(last, view);
        }
        // A pass that is cut off would be one of the long ones: it is waited for.
        let patience = Instant::now();
        while ended.is_none() && !self.collector.open().is_empty() && patience.elapsed() < LAST_PASS && !stopped() {
            std::thread::sleep(INTERVAL);
            self.read();
        }
        if ended.is_none() {
            self.tasks.look_now(threads(&self.rings, &self.external));
        }
        let after = End::read(self.job, view);
        let open: Vec<f64> = self.collector.open().iter().map(|start| self.seconds(after.ticks - start)).collect();
        if self.collector.samples() == 0 && !stopped() {
            return Err(self.no_samples(phase, &open, ended.as_deref()));
        }
        if let Some(end) = &ended
            && !end.starts_with("exit status: 0")
        {
            let seconds = self.seconds(after.ticks - before.ticks);
            return Err(format!("{} {seconds:.3} s after the measurement began: {end}", self.ended_by_itself()));
        }
        let mut beside = self.beside(phase, &open);
        if ended.is_some() {
            let (asked, observed) = (self.job.duration_ticks, after.ticks - before.ticks);
            let (asked, observed) = (self.seconds(asked), self.seconds(observed));
            beside.remarks.push(format!("the program ended by itself after {observed:.3} s of {asked:.3} s"));
        } else {
            self.external.terminate(FAREWELL);
        }
        let recorded = self.collector.finish(self.job.tick_ns);
        Ok((observed(self.job, &before, &after, recorded, &self.tasks), beside))
    }

    /// Reads markers until the counter reads `last`; how the program ended, if it does so before.
    fn go_on_until(&mut self, last: u64, view: &mut View<'_>) -> Option<String> {
        while clock::now() < last && !stopped() {
            std::thread::sleep(INTERVAL);
            self.read();
            view.look();
            self.tasks.look(threads(&self.rings, &self.external));
            if let Some(end) = self.external.ended() {
                self.read();
                return Some(end);
            }
        }
        self.read();
        None
    }

    fn read(&mut self) {
        let (writers, clock, collector) = (self.rings.writers(), self.clock, &mut self.collector);
        let raw = |thread: u32| writers.get(thread as usize).is_some_and(|writer| writer.clock == CLOCK_MONOTONIC_RAW);
        self.rings.drain(|mark| {
            let at = if raw(mark.thread) { clock.ticks(mark.at) } else { mark.at };
            collector.take(Mark { at, ..mark });
        });
        self.collector.record();
    }

    /// The phase that was asked for, or the only one.
    fn chosen_phase(&self) -> Result<u32, String> {
        let passes = self.collector.passes();
        let all = passes.keys().map(|phase| self.called(*phase)).collect::<Vec<_>>().join(", ");
        match self.phase {
            None if passes.len() == 1 => Ok(*passes.keys().next().expect("one phase")),
            None => Err(format!(
                "the program `{}` marks {} phases: {all}; choose one with `phase`, such as `--phase {}`",
                self.name,
                passes.len(),
                passes.keys().next().copied().unwrap_or_default()
            )),
            Some(Phase::Number(number)) => Ok(*number),
            Some(Phase::Name(name)) => (0..waykeeper_markers::PHASES)
                .find(|phase| self.rings.phase_name(*phase).as_deref() == Some(name))
                .ok_or_else(|| format!("the program `{}` has no phase `{name}`; it marks phase {all}", self.name)),
        }
    }

    fn called(&self, phase: u32) -> String {
        match self.rings.phase_name(phase) {
            Some(name) => format!("{phase} `{}`", printable(&name)),
            None => phase.to_string(),
        }
    }

    fn beside(&self, phase: u32, open: &[f64]) -> Beside {
        let writers = self.rings.writers();
        let threads = if writers.len() == 1 { "1 thread".into() } else { format!("{} threads", writers.len()) };
        let mut got = vec![format!("phase {}, {threads}", self.called(phase))];
        let others = self.collector.passes().iter().filter(|(other, _)| **other != phase);
        got.extend(
            others.map(|(other, passes)| format!("phase {} not measured ({passes} passes)", self.called(*other))),
        );
        let asked = match self.phase {
            Some(phase) => format!("markers, phase {phase}"),
            None => "markers".into(),
        };
        let mut placements = self.tasks.memory(self.job.huge_pages);
        placements.insert("target, passes".into(), placement(asked, got.join("; ")));
        let mut remarks = complaints(self.collector.unpaired(), &writers, self.rings.without_ring());
        remarks
            .extend(open.iter().map(|seconds| format!("a pass had not ended after {seconds:.3} s and is no sample")));
        Beside { placements, remarks }
    }

    fn no_samples(&self, phase: u32, open: &[f64], ended: Option<&str>) -> String {
        let name = self.name;
        let called = self.called(phase);
        match (open.first(), ended) {
            (_, Some(end)) => self.ended_too_early(end),
            (Some(seconds), None) => {
                format!(
                    "phase {called} of the program `{name}` began and had not ended {seconds:.3} s later: its end has no marker"
                )
            }
            (None, None) => format!(
                "the program `{name}` made no pass of phase {called} within {:.3} s",
                self.seconds(self.job.duration_ticks) + FIRST_PASS.as_secs_f64()
            ),
        }
    }

    fn no_passes(&self) -> String {
        let begun = !self.rings.writers().is_empty();
        match begun {
            true => "; it made markers, but no `wk_end` that belongs to a `wk_begin`".into(),
            false => "; expected markers in its source (`waykeeper markers c` prints `waykeeper.h`), or \
                      `passes = \"process\"`, which measures whole runs of it"
                .into(),
        }
    }

    fn ended_by_itself(&self) -> String {
        format!("the program `{}` ended by itself", self.name)
    }

    fn ended_too_early(&self, end: &str) -> String {
        format!(
            "{} before the measurement began: {end}; expected a program that runs on, or `passes = \"process\"`, which \
             measures whole runs of it",
            self.ended_by_itself()
        )
    }

    fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 * self.job.tick_ns / 1e9
    }
}

fn stopped() -> bool {
    STOP.load(Ordering::Relaxed) != 0
}

/// The threads that make markers; the program's first one before there are any.
fn threads(rings: &Rings, external: &External) -> impl Iterator<Item = (u32, u32)> {
    let mut threads: Vec<_> = rings.writers().iter().map(|writer| (writer.process, writer.thread)).collect();
    if threads.is_empty() {
        threads.extend(external.process().map(|process| (process, process)));
    }
    threads.into_iter()
}

/// What of the markers was part of no pass.
fn complaints(unpaired: Unpaired, writers: &[Writer], without_ring: u32) -> Vec<String> {
    // What was dropped last is not followed by a marker that shows the gap.
    let lost = unpaired.lost.max(writers.iter().map(|writer| writer.lost).sum());
    let counted = [
        (unpaired.begins, "`wk_begin` of a phase that was open already"),
        (unpaired.ends, "`wk_end` of a phase that was not open"),
        (lost, "markers dropped because a ring was full: their passes are missing"),
        (unpaired.unknown_phase, "markers of a phase above 63"),
        (u64::from(without_ring), "threads without a ring (64 threads get one): their passes are missing"),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    counted.map(|(count, what)| format!("{count} {what}")).collect()
}

/// A name that the program wrote, without control characters.
fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}
