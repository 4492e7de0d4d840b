//! A program that runs all the time, and whose passes are marked by itself or seen by the kernel.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use waykeeper_kernels::clock;
use waykeeper_workload::{Passes, Phase};

use super::super::command::{External, escaped};
use super::super::job::Job;
use super::super::signals::STOP;
use super::super::target::{TargetObservation, WARM_UP_NS};
use super::anchor::Anchor;
use super::collector::PassCollector;
use super::source::PassDetector;
use super::tasks::Tasks;
use super::{Beside, End, NeighbourWatch, observed, placement, surroundings};
use crate::measure::ExecutorError;

/// A program must make its first pass within this time.
const FIRST_PASS: Duration = Duration::from_secs(20);

/// How often marks are read. A ring holds far more than a program marks meanwhile.
const INTERVAL: Duration = Duration::from_millis(2);

/// So long a pass that is open at the end is waited for.
const LAST_PASS: Duration = Duration::from_secs(5);

/// So long a program may take to end after SIGTERM.
const FAREWELL: Duration = Duration::from_secs(1);

/// The program, what says where its passes are, and what came out of it.
pub struct Marked<'j> {
    job: &'j Job,
    name: &'j str,
    passes: &'j Passes,
    external: External,
    source: PassDetector,
    collector: PassCollector,
    tasks: Tasks,
    clock: Anchor,
}

impl<'j> Marked<'j> {
    /// A program whose passes come from markers, functions or its period.
    ///
    /// # Errors
    /// What this machine lacks, or no process.
    pub fn new(job: &'j Job, argv: &'j [String], passes: &'j Passes) -> Result<Self, ExecutorError> {
        let source = PassDetector::open(passes, &argv[0], job.target.core)?;
        let (inherits, variables) = source.handed_over();
        let external =
            External::prepare_target(argv, job.target.core, job.parent, &surroundings(job, inherits, variables))?;
        let (tasks, clock) = (Tasks::on(job.target.core), Anchor::new(job.tick_ns));
        Ok(Self { job, name: &argv[0], passes, external, source, collector: PassCollector::new(), tasks, clock })
    }

    /// Starts the program and waits for its first pass.
    pub fn start(&mut self) -> Result<(), ExecutorError> {
        self.external.go()?;
        self.source.started(self.external.process(), self.external.guardian())?;
        let begun = Instant::now();
        loop {
            self.read();
            if !self.collector.passes().is_empty() {
                return Ok(());
            }
            if let Some(end) = self.external.ended() {
                self.read();
                let without_pass = || {
                    let expected = self.source.no_passes(false);
                    format!("{} before it made a pass: {end}{expected}", self.ended_by_itself())
                };
                let is_early = !self.collector.passes().is_empty();
                return Err(if is_early { self.ended_too_early(&end) } else { without_pass() }.into());
            }
            if STOP.load(Ordering::Relaxed) != 0 {
                return Err("stopped before the program made its first pass".into());
            }
            if begun.elapsed() > FIRST_PASS {
                let (seconds, expected) = (FIRST_PASS.as_secs(), self.source.no_passes(true));
                return Err(format!("the program `{}` made no pass within {seconds} s{expected}", self.name).into());
            }
            std::thread::sleep(INTERVAL);
        }
    }

    /// Lets the neighbours work for a moment, then takes samples for the job's length.
    pub fn observe(mut self, view: &mut NeighbourWatch<'_>) -> Result<(TargetObservation, Beside), ExecutorError> {
        if let Some(end) = self.go_on_until(clock::now() + (WARM_UP_NS / self.job.tick_ns) as u64, view) {
            return Err(self.ended_too_early(&end).into());
        }
        let phase = self.chosen_phase()?;
        self.tasks.look_now(threads(&self.source, &self.external));
        let before = End::read(self.job, view);
        self.collector.begin(self.job, phase, before.ticks);
        let mut ended = self.go_on_until(before.ticks.saturating_add(self.job.duration_ticks), view);
        std::thread::sleep(self.source.delay());
        self.read();
        let patience = Instant::now();
        while ended.is_none() && self.collector.samples() == 0 && patience.elapsed() < FIRST_PASS && !stopped() {
            // A program whose period is longer than the measurement is observed until its first pass has ended.
            let last = clock::now() + (INTERVAL.as_nanos() as f64 / self.job.tick_ns) as u64;
            self.collector.extend(last);
            ended = self.go_on_until(last, view);
        }
        // A pass that is cut off would be one of the long ones: it is waited for.
        let patience = Instant::now();
        let any = self.collector.samples() > 0;
        while any
            && ended.is_none()
            && !self.collector.open().is_empty()
            && patience.elapsed() < LAST_PASS
            && !stopped()
        {
            std::thread::sleep(INTERVAL);
            self.read();
        }
        if ended.is_none() {
            self.tasks.look_now(threads(&self.source, &self.external));
        }
        let after = End::read(self.job, view);
        if let Some((process, _)) = threads(&self.source, &self.external).next() {
            self.tasks.look_at_memory(process);
        }
        let open: Vec<f64> = self.collector.open().iter().map(|start| self.seconds(after.ticks - start)).collect();
        if self.collector.samples() == 0 && !stopped() {
            return Err(self.no_samples(phase, &open, ended.as_deref()));
        }
        if let Some(end) = &ended
            && !end.starts_with("exit status: 0")
        {
            let seconds = self.seconds(after.ticks - before.ticks);
            return Err(format!("{} {seconds:.3} s after the measurement began: {end}", self.ended_by_itself()).into());
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

    /// Reads marks until the counter reads `last`; how the program ended, if it does so before.
    fn go_on_until(&mut self, last: u64, view: &mut NeighbourWatch<'_>) -> Option<String> {
        while clock::now() < last && !stopped() {
            std::thread::sleep(INTERVAL);
            self.read();
            view.look();
            self.tasks.look(threads(&self.source, &self.external));
            if let Some(end) = self.external.ended() {
                self.read();
                return Some(end);
            }
        }
        self.read();
        None
    }

    fn read(&mut self) {
        let Self { source, collector, clock, .. } = self;
        source.drain(*clock, |mark| collector.take(mark));
        collector.record();
    }

    /// The phase that was asked for, or the only one.
    fn chosen_phase(&self) -> Result<u32, ExecutorError> {
        let passes = self.collector.passes();
        let all = self.phases();
        let asked = match self.passes {
            Passes::Markers { phase } => phase.as_ref(),
            _ => None,
        };
        match asked {
            None if passes.len() == 1 => Ok(*passes.keys().next().expect("one phase")),
            None => Err(ExecutorError::Input(format!(
                "the program `{}` marks {} phases: {all}; choose one with `phase`, such as `--phase {}`",
                self.name,
                passes.len(),
                passes.keys().next().copied().unwrap_or_default()
            ))),
            Some(Phase::Number(number)) => Ok(*number),
            Some(Phase::Name(name)) => (0..waykeeper_markers::PHASES)
                .find(|phase| self.source.phase_name(*phase).as_deref() == Some(name))
                .ok_or_else(|| {
                    let why = format!("the program `{}` has no phase `{name}`; it marks phase {all}", self.name);
                    ExecutorError::Input(why)
                }),
        }
    }

    /// The phases that have passes, as a list.
    fn phases(&self) -> String {
        self.collector.passes().keys().map(|phase| self.called(*phase)).collect::<Vec<_>>().join(", ")
    }

    fn called(&self, phase: u32) -> String {
        match self.source.phase_name(phase) {
            Some(name) => format!("{phase} `{}`", escaped(&name)),
            None => phase.to_string(),
        }
    }

    fn beside(&self, phase: u32, open: &[f64]) -> Beside {
        let threads = match self.source.threads().len() {
            1 => "1 thread".into(),
            many => format!("{many} threads"),
        };
        let mut got = vec![format!("{}, {threads}", self.source.described(&self.called(phase)))];
        let others = self.collector.passes().iter().filter(|(other, _)| **other != phase);
        got.extend(
            others.map(|(other, passes)| format!("phase {} not measured ({passes} passes)", self.called(*other))),
        );
        let asked = match self.passes {
            Passes::Markers { phase: Some(phase) } => format!("markers, phase {phase}"),
            Passes::Markers { phase: None } => "markers".into(),
            Passes::Functions { begin, end } => format!("entry of `{begin}` to return of `{end}`"),
            Passes::Period => "period".into(),
            Passes::Process | Passes::Cyclictest => "process".into(),
        };
        let mut placements = self.tasks.memory(self.job.huge_pages);
        placements.insert("target, passes".into(), placement(asked, got.join("; ")));
        let mut remarks = self.source.complaints(self.collector.unpaired());
        remarks
            .extend(open.iter().map(|seconds| format!("a pass had not ended after {seconds:.3} s and is no sample")));
        remarks.extend(super::not_seen(self.job, &self.tasks));
        Beside { placements, remarks }
    }

    fn no_samples(&self, phase: u32, open: &[f64], ended: Option<&str>) -> ExecutorError {
        let name = self.name;
        let called = self.called(phase);
        ExecutorError::Refused(match (open.first(), ended) {
            (_, Some(end)) => self.ended_too_early(end),
            (Some(seconds), None) => {
                format!(
                    "phase {called} of the program `{name}` began and had not ended {seconds:.3} s later: nothing marks its end"
                )
            }
            (None, None) if !self.collector.passes().contains_key(&phase) => {
                let others = self.phases();
                let why = format!("the program `{name}` has made no pass of phase {called}; it marks phase {others}");
                return ExecutorError::Input(why);
            }
            (None, None) => format!(
                "the program `{name}` made no pass of phase {called} within {:.3} s",
                self.seconds(self.job.duration_ticks) + FIRST_PASS.as_secs_f64()
            ),
        })
    }

    fn ended_by_itself(&self) -> String {
        format!("the program `{}` ended by itself", self.name)
    }

    fn ended_too_early(&self, end: &str) -> String {
        format!(
            "{} before the measurement began: {end}; expected a program that runs on, or `--passes process` \
             (`passes = \"process\"` in an experiment), which measures whole runs of it",
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

/// The threads that make passes; the program's first one before there are any.
fn threads(source: &PassDetector, external: &External) -> impl Iterator<Item = (u32, u32)> {
    let mut threads = source.threads();
    if threads.is_empty() {
        threads.extend(external.process().map(|process| (process, process)));
    }
    threads.into_iter()
}
