//! cyclictest as target: what it counted itself are the samples.

use std::collections::BTreeMap;
use std::io::{PipeReader, Read};
use std::time::Duration;

use waykeeper_imports::ImportedHistogram;
use waykeeper_kernels::clock;
use waykeeper_linux::task::threads_of;
use waykeeper_linux::thread::spawn;

use super::super::command::External;
use super::super::job::{Job, Recorded};
use super::super::signals::STOP;
use super::super::target::TargetObservation;
use super::tasks::Tasks;
use super::{Beside, End, NeighbourWatch, observed, placement};

/// How often the neighbours are looked at while it runs.
const LOOK: Duration = Duration::from_millis(20);

/// It may take this much longer than it is asked to.
const SPARE_S: f64 = 20.0;

/// Latencies below so many microseconds have a bucket each; of longer ones it knows how many there were, and the longest.
const LONGEST_US: u32 = 100_000;

/// The options of its length, its core, and what it says.
const OUTPUT: [&str; 3] = ["--quiet", "--threads=1", "--json=/dev/stdout"];

/// The program.
pub struct Cyclictest<'j> {
    job: &'j Job,
    name: &'j str,
    external: External,
    output: PipeReader,
    tasks: Tasks,
    /// How long it was asked to measure.
    asked_s: f64,
}

impl<'j> Cyclictest<'j> {
    /// Prepares it: before memory is laid out, for its guardian is a fork.
    ///
    /// # Errors
    /// A program that cannot be started.
    pub fn prepare(job: &'j Job, argv: &'j [String]) -> Result<Self, String> {
        let name = argv[0].as_str();
        // It measures whole seconds.
        let asked_s = (job.duration_ticks as f64 * job.tick_ns / 1e9).round().max(1.0);
        let mut argv = argv.to_vec();
        argv.extend(OUTPUT.map(str::to_owned));
        argv.push(format!("--affinity={}", job.target.core));
        argv.push(format!("--histogram={LONGEST_US}"));
        argv.push(format!("--duration={asked_s}"));
        let (external, output) = External::prepare_speaking(&argv, job.target.core, job.parent)?;
        Ok(Self { job, name, external, output, tasks: Tasks::on(job.target.core), asked_s })
    }

    /// Runs it once.
    pub fn observe(mut self, view: &mut NeighbourWatch<'_>) -> Result<(TargetObservation, Beside), String> {
        let mut output = self.output;
        let read = move || {
            let mut text = String::new();
            let _ = output.by_ref().take(64 << 20).read_to_string(&mut text);
            text
        };
        let reader = spawn("cyclictest", read).map_err(|error| error.to_string())?;
        self.external.go().map_err(|error| error.to_string())?;
        let before = End::read(self.job, view);
        let longest = self.job.duration_ticks as f64 * self.job.tick_ns / 1e9 + SPARE_S;
        while self.external.wait(LOOK).is_none() {
            view.look();
            self.tasks.look(self.external.process().into_iter().flat_map(measuring_threads));
            let took_s = (clock::now() - before.ticks) as f64 * self.job.tick_ns / 1e9;
            if STOP.load(std::sync::atomic::Ordering::Relaxed) != 0 || took_s > longest {
                break;
            }
        }
        let after = End::read(self.job, view);
        let how = self.external.with_last_words("it ended".into());
        // What still runs ends with its guardian, and the reader sees the end of file.
        drop(self.external);
        let text = reader.join().unwrap_or_default();
        let stopped = STOP.load(std::sync::atomic::Ordering::Relaxed) != 0;
        let recorded = match waykeeper_imports::read(&text) {
            Ok(said) => said.histograms.first().map(|thread| recorded(thread, self.job)).unwrap_or_default(),
            Err(_) if stopped => Recorded::default(),
            Err(why) => return Err(format!("`{}`: {why}; {how}", self.name)),
        };
        let got = format!("{} cycles as it counted them, in steps of 1 us, rounded down", recorded.samples);
        let placements = BTreeMap::from([("target, passes".to_owned(), placement("cyclictest", got))]);
        let mut remarks = vec![
            "when its longest latency was, `cyclictest` does not say; each one above the threshold counts as an event"
                .into(),
        ];
        remarks.extend(super::not_seen(self.job, &self.tasks));
        let mut observed = observed(self.job, &before, &after, recorded, &self.tasks);
        // Its start and its end are no part of what it measures. What the neighbours did is known of the whole time alone.
        let share = (self.asked_s / observed.observed_s).min(1.0);
        observed.observed_s = observed.observed_s.min(self.asked_s);
        observed.accesses.iter_mut().for_each(|accesses| *accesses = (*accesses as f64 * share).round() as u64);
        Ok((observed, Beside { placements, remarks }))
    }
}

/// Its first thread prepares and waits: it keeps the ordinary policy, and sleeps while the others measure.
fn measuring_threads(process: u32) -> impl Iterator<Item = (u32, u32)> {
    threads_of(process).into_iter().filter(move |thread| *thread != process).map(move |thread| (process, thread))
}

/// Its histogram in ticks. Of samples beyond it the largest alone is known.
fn recorded(thread: &ImportedHistogram, job: &Job) -> Recorded {
    let ticks = |steps: f64| (steps * thread.step_ns / job.tick_ns).round() as u64;
    let beyond = thread.max.filter(|_| thread.beyond > 0).map(|max| (max, thread.beyond));
    let all = thread.counts.iter().copied().chain(beyond);
    let counts: Vec<(u64, u64)> = all.map(|(steps, count)| (ticks(steps as f64), count)).collect();
    let samples = thread.samples();
    let above = job.excursion_above_ticks.unwrap_or(u64::MAX);
    let event_counts: Vec<_> = counts.iter().copied().filter(|(ticks, _)| *ticks > above).collect();
    let excursions = event_counts.iter().map(|(_, count)| count).sum();
    Recorded {
        samples,
        sum: (thread.mean.unwrap_or_default() * thread.step_ns / job.tick_ns * samples as f64) as u128,
        min: thread.min.map(|min| ticks(min as f64)),
        max: thread.max.map(|max| ticks(max as f64)),
        max_at_s: None,
        excursions,
        events: excursions,
        counts,
        event_counts,
        rounded_down_ns: thread.step_ns,
        ..Recorded::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::job::JobPart;

    #[test]
    fn its_histogram_is_what_it_counted_also_beyond_its_range() {
        let thread = ImportedHistogram {
            name: "core 1".into(),
            core: 1,
            step_ns: 1e3,
            bucket: 1,
            narrowest: 1,
            counts: vec![(8, 3), (20, 5)],
            beyond: 2,
            missing: 0,
            min: Some(8),
            max: Some(150),
            mean: Some(42.5),
            length_s: None,
        };
        let pattern = waykeeper_workload::Pattern::Tick { body: waykeeper_workload::TickBody::Nothing };
        let job = Job {
            parent: 0,
            target: JobPart { pattern, core: 1 },
            companions: Vec::new(),
            neighbours: Vec::new(),
            seed: 0,
            duration_ticks: 0,
            tick_ns: 0.5,
            units_per_tick_log2: None,
            excursion_above_ticks: Some(39_999),
            gap_ticks: 0,
            peak_interval_ticks: 1,
            wash_bytes: 0,
            fifo: true,
            huge_pages: false,
            region: None,
            colours: None,
        };
        let recorded = recorded(&thread, &job);
        assert_eq!(recorded.counts, [(16_000, 3), (40_000, 5), (300_000, 2)]);
        assert_eq!((recorded.samples, recorded.min, recorded.max), (10, Some(16_000), Some(300_000)));
        assert_eq!((recorded.sum, recorded.excursions, recorded.max_at_s), (850_000, 7, None));
    }
}
