//! Passes as samples: in the order in which they ended, from the beginning of the observation to its end.

use std::collections::BTreeMap;

use waykeeper_kernels::Recorder;
use waykeeper_markers::{Mark, Pairs, Pass, Unpaired};

use super::super::job::{Job, Recorded};
use super::intervals::Intervals;

/// Collects the passes of one phase.
pub struct PassCollector {
    recorder: Box<Recorder>,
    pairs: Pairs,
    /// The phase whose passes are samples; all passes are only counted before it is known.
    phase: Option<u32>,
    /// Passes of each phase since the beginning.
    passes: BTreeMap<u32, u64>,
    /// Passes that are not recorded yet.
    ended: Vec<Pass>,
    observation: Option<Observation>,
}

struct Observation {
    intervals: Intervals,
    unpaired_before: Unpaired,
}

impl PassCollector {
    /// Nothing is recorded before [`begin`](Self::begin).
    pub fn new() -> Self {
        Self {
            recorder: Recorder::new_boxed(),
            pairs: Pairs::default(),
            phase: None,
            passes: BTreeMap::new(),
            ended: Vec::new(),
            observation: None,
        }
    }

    /// The next mark of its thread, its time in ticks of the counter.
    pub fn take(&mut self, mark: Mark) {
        let Some(pass) = self.pairs.take(mark) else { return };
        *self.passes.entry(pass.phase).or_default() += 1;
        if self.phase == Some(pass.phase) {
            self.ended.push(pass);
        }
    }

    /// Passes of each phase so far.
    pub fn passes(&self) -> &BTreeMap<u32, u64> {
        &self.passes
    }

    /// Passes of a phase that begin from now on are samples.
    pub fn begin(&mut self, job: &Job, phase: u32, begun: u64) {
        self.recorder.reset(job.excursion_above_ticks.unwrap_or(u64::MAX), job.gap_ticks);
        self.phase = Some(phase);
        let intervals = Intervals::from(job, begun);
        self.observation = Some(Observation { intervals, unpaired_before: self.pairs.unpaired() });
    }

    /// The observation goes on: passes that begin until then are samples too.
    pub fn extend(&mut self, last: u64) {
        if let Some(observation) = &mut self.observation {
            observation.intervals.extend(last);
        }
    }

    /// Records what has ended so far.
    pub fn record(&mut self) {
        let Some(observation) = &mut self.observation else { return };
        self.ended.sort_unstable_by_key(|pass| pass.end);
        for pass in self.ended.drain(..) {
            if observation.intervals.contain(pass.start) {
                observation.intervals.record(&mut self.recorder, pass.start, pass.end);
            }
        }
    }

    /// Passes that began while they were observed and have not ended: the beginning of each, in ticks.
    pub fn open(&self) -> Vec<u64> {
        let (Some(phase), Some(observation)) = (self.phase, &self.observation) else { return Vec::new() };
        let open = self.pairs.open(phase).map(|(_, start)| start);
        open.filter(|start| observation.intervals.contain(*start)).collect()
    }

    /// Samples so far.
    pub fn samples(&self) -> u64 {
        self.recorder.samples()
    }

    /// Marks that were part of no pass since the observation began.
    pub fn unpaired(&self) -> Unpaired {
        let now = self.pairs.unpaired();
        let before = self.observation.as_ref().map(|observation| observation.unpaired_before).unwrap_or_default();
        Unpaired {
            begins: now.begins - before.begins,
            ends: now.ends - before.ends,
            lost: now.lost - before.lost,
            unknown_phase: now.unknown_phase - before.unknown_phase,
        }
    }

    /// The samples.
    pub fn finish(mut self, tick_ns: f64) -> Recorded {
        self.record();
        let Some(observation) = self.observation else { return Recorded::default() };
        observation.intervals.finish(&mut self.recorder, tick_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::job::JobPart;
    use super::*;

    fn job() -> Job {
        Job {
            parent: 0,
            target: JobPart {
                pattern: waykeeper_workload::Pattern::Tick { body: waykeeper_workload::TickBody::Nothing },
                core: 0,
            },
            companions: Vec::new(),
            neighbours: Vec::new(),
            seed: 1,
            duration_ticks: 1000,
            tick_ns: 1.0,
            units_per_tick_log2: None,
            excursion_above_ticks: Some(50),
            gap_ticks: 100,
            peak_interval_ticks: 400,
            wash_bytes: 0,
            fifo: false,
            huge_pages: false,
            region: None,
            colours: None,
        }
    }

    /// Passes of threads 0 and 1: thread, begin, end; in the order in which a ring after the other is read.
    fn collected(passes: &[(u32, u64, u64)]) -> (Recorded, Vec<u64>) {
        let mut collector = PassCollector::new();
        collector.begin(&job(), 7, 10_000);
        let mut next = [0, 0];
        for (thread, start, end) in passes {
            let sequence = &mut next[*thread as usize];
            for (begins, at) in [(true, *start), (false, *end)] {
                if at > 0 {
                    collector.take(Mark { thread: *thread, phase: 7, begins, at, sequence: *sequence });
                    *sequence += 1;
                }
            }
        }
        collector.record();
        let open = collector.open();
        (collector.finish(1.0), open)
    }

    #[test]
    fn passes_are_samples_from_the_beginning_to_the_end() {
        // One began too early, one began in time and ended late, one began too late.
        let (recorded, _) = collected(&[(0, 9_990, 10_020), (0, 10_990, 11_060), (0, 11_070, 11_080)]);
        assert_eq!((recorded.samples, recorded.sum, recorded.max), (1, 70, Some(70)));
        assert_eq!((recorded.excursions, recorded.events), (1, 1));
    }

    #[test]
    fn threads_are_put_in_order_of_time() {
        // The second thread's pass ended between the two of the first; each interval of 400 has its own largest.
        let (recorded, _) =
            collected(&[(0, 10_000, 10_010), (0, 10_500, 10_530), (1, 10_300, 10_320), (1, 10_900, 10_905)]);
        assert_eq!(recorded.samples, 4);
        assert_eq!(recorded.peaks, [(20, 320e-9), (30, 530e-9), (5, 905e-9)]);
        assert_eq!((recorded.max, recorded.max_at_s), (Some(30), Some(530e-9)));
    }

    #[test]
    fn a_pass_that_has_not_ended_is_open() {
        let (recorded, open) = collected(&[(0, 10_000, 10_010), (1, 10_700, 0)]);
        assert_eq!((recorded.samples, open), (1, vec![10_700]));
    }
}
