//! A program that runs again and again: each run, from its start to its end, is a sample.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use waykeeper_kernels::{Recorder, clock};

use super::super::command::{External, ProgramExit};
use super::super::job::Job;
use super::super::signals::STOP;
use super::super::target::{TargetObservation, WARM_UP_NS};
use super::intervals::Intervals;
use super::tasks::Tasks;
use super::{Beside, End, NeighbourWatch, observed, placement, surroundings};
use crate::measure::ExecutorError;

/// How often the neighbours are looked at while the program runs.
const LOOK: Duration = Duration::from_millis(20);

/// A run that takes this much longer than the whole measurement is given up.
const SPARE_S: f64 = 40.0;

/// The program.
pub struct Whole<'j> {
    job: &'j Job,
    argv: &'j [String],
    tasks: Tasks,
}

impl<'j> Whole<'j> {
    /// Nothing is started yet.
    pub fn new(job: &'j Job, argv: &'j [String]) -> Self {
        Self { job, argv, tasks: Tasks::on(job.target.core) }
    }

    /// Runs it until the job's length is over; a run that has begun is finished. The first runs, 50 ms or one, do not count.
    pub fn observe(mut self, view: &mut NeighbourWatch<'_>) -> Result<(TargetObservation, Beside), ExecutorError> {
        let warm = clock::now() + (WARM_UP_NS / self.job.tick_ns) as u64;
        while self.run(view)?.is_some() && clock::now() < warm {}
        let mut recorder = Recorder::new_boxed();
        recorder.reset(self.job.excursion_above_ticks.unwrap_or(u64::MAX), self.job.gap_ticks);
        let before = End::read(self.job, view);
        let mut intervals = Intervals::from(self.job, before.ticks);
        let mut runs = 0_u64;
        while clock::now() < intervals.last() {
            let Some(ended) = self.run(view)? else { break };
            intervals.record(&mut recorder, ended.begun, ended.ended);
            runs += 1;
        }
        let after = End::read(self.job, view);
        let recorded = intervals.finish(&mut recorder, self.job.tick_ns);
        let mut placements = self.tasks.memory(self.job.huge_pages);
        let got = format!("{runs} runs of the program, each from the fork to its end");
        placements.insert("target, passes".into(), placement("process", got));
        let remarks = super::not_seen(self.job, &self.tasks).into_iter().collect();
        Ok((observed(self.job, &before, &after, recorded, &self.tasks), Beside { placements, remarks }))
    }

    /// One run; `None` where the measurement was stopped meanwhile.
    fn run(&mut self, view: &mut NeighbourWatch<'_>) -> Result<Option<ProgramExit>, ExecutorError> {
        let mut surroundings = surroundings(self.job, -1, Vec::new());
        surroundings.as_target.timed = true;
        let mut external = External::prepare_target(self.argv, self.job.target.core, self.job.parent, &surroundings)?;
        external.go()?;
        let begun = clock::now();
        let longest = self.job.duration_ticks as f64 * self.job.tick_ns / 1e9 + SPARE_S;
        loop {
            if let Some(ended) = external.wait(LOOK) {
                let ended = ended.map_err(|_| format!("the guardian of the program `{}` was killed", self.argv[0]))?;
                let status = ExitStatus::from_raw(ended.status);
                if !status.success() {
                    let how = external.with_last_words(status.to_string());
                    let name = &self.argv[0];
                    return Err(format!("a run of the program `{name}` failed: {how}; expected exit status 0").into());
                }
                return Ok(Some(ended));
            }
            view.look();
            self.tasks.look(external.process().map(|process| (process, process)).into_iter());
            if STOP.load(std::sync::atomic::Ordering::Relaxed) != 0 {
                return Ok(None);
            }
            if (clock::now() - begun) as f64 * self.job.tick_ns / 1e9 > longest {
                let how = format!("was given up: it had not ended after {longest:.0} s");
                return Err(format!("a run of the program `{}` {how}", self.argv[0]).into());
            }
        }
    }
}
