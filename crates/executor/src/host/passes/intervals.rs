//! The largest sample of each interval of an observation.

use waykeeper_kernels::{IntervalMaximum, Recorder};

use super::super::job::{Job, Recorded};
use super::super::target::{interval_end, recorded};

/// From the beginning of an observation to its end.
#[derive(Debug)]
pub struct Intervals {
    begun: u64,
    last: u64,
    length: u64,
    /// Where the present interval ends.
    until: u64,
    peaks: Vec<IntervalMaximum>,
}

impl Intervals {
    /// Those of a job that is observed from this reading of the counter on.
    pub fn from(job: &Job, begun: u64) -> Self {
        let (last, length) = (begun.saturating_add(job.duration_ticks), job.peak_interval_ticks);
        Self { begun, last, length, until: interval_end(begun, length, last), peaks: Vec::new() }
    }

    /// Where the observation ends.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Whether a pass that begins then is a sample.
    pub fn contain(&self, start: u64) -> bool {
        (self.begun..=self.last).contains(&start)
    }

    /// The observation goes on until then.
    pub fn extend(&mut self, last: u64) {
        self.last = last.max(self.last);
    }

    /// Records a sample. The samples come in the order of their ends.
    pub fn record(&mut self, recorder: &mut Recorder, start: u64, end: u64) {
        while end >= self.until && self.until < self.last {
            self.peaks.extend(recorder.take_peak());
            self.until = interval_end(self.until, self.length, self.last);
        }
        recorder.record(start, end);
    }

    /// What was recorded.
    pub fn finish(mut self, recorder: &mut Recorder, tick_ns: f64) -> Recorded {
        self.peaks.extend(recorder.take_peak());
        recorder.close_cluster();
        recorder.put_back(&self.peaks);
        recorded(recorder, self.peaks, self.begun, tick_ns)
    }
}
