//! What was measured: every sample in a histogram, with the cycle of the largest one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_kernels::Recorder;
use waykeeper_run::samples::{Counts, ticks_at_quantile};
use waykeeper_statistics::supports;

/// Samples of one kind, in nanoseconds.
pub struct CycleTimes {
    recorder: Box<Recorder>,
    max_cycle: u64,
}

impl Default for CycleTimes {
    fn default() -> Self {
        Self { recorder: Recorder::new_boxed(), max_cycle: 0 }
    }
}

impl CycleTimes {
    /// Takes a sample between two readings of one clock.
    pub fn add(&mut self, cycle: u64, from_ns: i64, to_ns: i64) {
        // Of a clock that was set back there is no sample; the recorder counts it.
        let before = self.recorder.max();
        self.recorder.record(from_ns as u64, to_ns as u64);
        if self.recorder.max() != before {
            self.max_cycle = cycle;
        }
    }

    /// The figure: of samples that ended from `began_ns` on, in `run_length_s`.
    pub fn figure(&self, what: &str, path: &str, time_stamps: &str, began_ns: i64, run_length_s: f64) -> CycleFigure {
        let recorder = &self.recorder;
        let samples = recorder.samples();
        let any = samples > 0;
        let min_ns = recorder.min().map(|ns| ns as f64);
        let max_ns = recorder.max().map(|ns| ns as f64);
        let histogram = Counts::new(recorder.counts()).to_histogram();
        let percentile = |quantile: f64| {
            let value =
                ticks_at_quantile(&histogram, samples, quantile).filter(|_| supports(samples, quantile))? as f64;
            Some(max_ns.map_or(value, |max| value.min(max)))
        };
        CycleFigure {
            what: what.into(),
            path: path.into(),
            time_stamps: time_stamps.into(),
            samples,
            run_length_s,
            min_ns,
            mean_ns: any.then(|| recorder.sum() as f64 / samples as f64),
            p50_ns: percentile(0.5),
            p99_ns: percentile(0.99),
            p99_9_ns: percentile(0.999),
            p99_99_ns: percentile(0.9999),
            max_ns,
            max_cycle: any.then_some(self.max_cycle),
            max_at_s: any.then(|| (recorder.max_at() as i64 - began_ns) as f64 / 1e9),
            jitter_ns: max_ns.zip(min_ns).map(|(max, min)| max - min),
            overflow: recorder.overflow(),
            backwards: recorder.backwards(),
            histogram: recorder.counts().collect(),
        }
    }
}

/// A figure: what was timed, on which path, by which clock, in which time.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CycleFigure {
    /// What was timed.
    pub what: String,
    /// The path of the packets, in words: figures of different paths do not compare.
    pub path: String,
    /// Where the time stamps come from.
    pub time_stamps: String,
    /// Samples.
    pub samples: u64,
    /// The time in which they were taken, seconds.
    pub run_length_s: f64,
    /// Smallest.
    pub min_ns: Option<f64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Median; absent, as the other percentiles, where fewer than 10 samples are expected above it.
    pub p50_ns: Option<f64>,
    /// 99th percentile.
    pub p99_ns: Option<f64>,
    /// 99.9th percentile.
    pub p99_9_ns: Option<f64>,
    /// 99.99th percentile.
    pub p99_99_ns: Option<f64>,
    /// Largest. It bounds nothing.
    pub max_ns: Option<f64>,
    /// The cycle of the largest.
    pub max_cycle: Option<u64>,
    /// When it ended, seconds from the start.
    pub max_at_s: Option<f64>,
    /// Largest less smallest.
    pub jitter_ns: Option<f64>,
    /// Samples of 68 s and more, which are in no bucket.
    pub overflow: u64,
    /// Pairs of readings of which the second was smaller: no samples.
    pub backwards: u64,
    /// Lowest value of each bucket with samples, ns, and their number.
    pub histogram: Vec<(u64, u64)>,
}
