//! What a timed loop writes into.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

use waykeeper_workload::recorder as shape;

use crate::ffi;

const BUCKETS: usize = shape::BUCKETS as usize;

/// The largest sample of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntervalMaximum {
    /// Its length, ticks.
    pub ticks: u64,
    /// The raw reading of the counter that ended it.
    pub at: u64,
}

/// Every sample of a run, in a fixed number of cache lines: the twin of `struct wk_recorder` in `c/recorder.h`.
///
/// A quiet sample touches the first header line and one line of the histogram of samples. All values are in ticks of the
/// counter. The histograms have the bucket layout of HdrHistogram, see [`waykeeper_workload::recorder`]; the minimum,
/// the maximum and the sum are exact.
#[repr(C, align(4096))]
pub struct Recorder {
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) max_at: u64,
    pub(crate) sum_low: u64,
    pub(crate) sum_high: u64,
    pub(crate) attention_above: u64,
    pub(crate) excursion_above: u64,
    pub(crate) cluster_gap: u64,

    pub(crate) overflow: u64,
    pub(crate) backwards: u64,
    pub(crate) excursions: u64,
    pub(crate) cluster_overflow: u64,
    pub(crate) cluster_is_open: u64,
    pub(crate) cluster_start: u64,
    pub(crate) cluster_max: u64,
    pub(crate) missed_periods: u64,

    pub(crate) counts: [u64; BUCKETS],
    pub(crate) cluster_counts: [u64; BUCKETS],
}

impl Recorder {
    /// An empty recorder that sees no excursions until [`reset`](Self::reset) says from where on. It has pages of its
    /// own, all of them written to, so that no page fault happens in a timed loop and the pages can be locked.
    pub fn new_boxed() -> Box<Self> {
        let layout = Layout::new::<Self>();
        // SAFETY: the layout has a size; all-zero bytes are a valid Recorder; a Box frees with the same layout.
        let mut recorder = unsafe {
            let memory = alloc_zeroed(layout).cast::<Self>();
            if memory.is_null() {
                handle_alloc_error(layout);
            }
            Box::from_raw(memory)
        };
        recorder.reset(u64::MAX, 0);
        recorder
    }

    /// Forgets everything. From now on a sample of more than `excursion_above_ticks` is an excursion, and excursions
    /// that end within `cluster_gap_ticks` of a cluster's first one belong to that cluster (dead-time declustering: at
    /// most one cluster in every gap).
    pub fn reset(&mut self, excursion_above_ticks: u64, cluster_gap_ticks: u64) {
        self.min = u64::MAX;
        self.max = 0;
        self.max_at = 0;
        self.sum_low = 0;
        self.sum_high = 0;
        self.attention_above = 0;
        self.excursion_above = excursion_above_ticks;
        self.cluster_gap = cluster_gap_ticks;
        self.overflow = 0;
        self.backwards = 0;
        self.excursions = 0;
        self.cluster_overflow = 0;
        self.cluster_is_open = 0;
        self.cluster_start = 0;
        self.cluster_max = 0;
        self.missed_periods = 0;
        self.counts.fill(0);
        self.cluster_counts.fill(0);
    }

    /// Records a pair of raw readings with the code that the timed loops contain. False, and no sample, where the second
    /// reading is smaller than the first.
    pub fn record(&mut self, start: u64, end: u64) -> bool {
        // SAFETY: the layout is that of the C struct (layout.rs compares it); the reference is exclusive.
        unsafe { ffi::wk_entry_record(self, start, end) }
    }

    /// Counts the maximum of the cluster that is still open. A run does this at its end.
    pub fn close_cluster(&mut self) {
        // SAFETY: as in `record`.
        unsafe { ffi::wk_close_cluster(self) }
    }

    /// Samples recorded, those in [`overflow`](Self::overflow) included.
    pub fn samples(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.overflow
    }

    /// The smallest sample.
    pub fn min(&self) -> Option<u64> {
        (self.min <= self.max).then_some(self.min)
    }

    /// The largest sample.
    pub fn max(&self) -> Option<u64> {
        (self.min <= self.max).then_some(self.max)
    }

    /// The raw reading of the counter that ended the largest sample (the first of them); 0 while there is none.
    pub fn max_at(&self) -> u64 {
        self.max_at
    }

    /// Takes the largest sample since the last call, so that the next interval has a maximum of its own; `None` where there
    /// was none. The maximum is that of all samples again after [`put_back`](Self::put_back).
    pub fn take_peak(&mut self) -> Option<IntervalMaximum> {
        let peak = (self.max_at != 0).then_some(IntervalMaximum { ticks: self.max, at: self.max_at });
        (self.max, self.max_at, self.attention_above) = (0, 0, 0);
        peak
    }

    /// Puts back the largest of what was taken, the first of equal ones. Nothing is recorded after it.
    pub fn put_back(&mut self, peaks: &[IntervalMaximum]) {
        for peak in peaks {
            if self.max_at == 0 || peak.ticks > self.max {
                (self.max, self.max_at) = (peak.ticks, peak.at);
            }
        }
    }

    /// The sum of all samples.
    pub fn sum(&self) -> u128 {
        (u128::from(self.sum_high) << 64) | u128::from(self.sum_low)
    }

    /// Samples of [`OVERFLOW_FROM`](waykeeper_workload::recorder::OVERFLOW_FROM) ticks or more: they are in the minimum,
    /// maximum and sum, but in no bucket.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Pairs of readings of which the second was smaller, so that they are no samples: the counter jumped, or the thread
    /// moved to a core whose counter is behind.
    pub fn backwards(&self) -> u64 {
        self.backwards
    }

    /// Counts releases that a periodic loop outside this crate came too late for.
    pub fn miss_periods(&mut self, releases: u64) {
        self.missed_periods = self.missed_periods.saturating_add(releases);
    }

    /// Releases that a periodic loop came too late for: whole periods in which no pass began.
    pub fn missed_periods(&self) -> u64 {
        self.missed_periods
    }

    /// Samples above the threshold.
    pub fn excursions(&self) -> u64 {
        self.excursions
    }

    /// Finished clusters of excursions, those in [`cluster_overflow`](Self::cluster_overflow) included.
    pub fn clusters(&self) -> u64 {
        self.cluster_counts.iter().sum::<u64>() + self.cluster_overflow
    }

    /// Finished clusters whose maximum is in no bucket.
    pub fn cluster_overflow(&self) -> u64 {
        self.cluster_overflow
    }

    /// The lowest value of each bucket that holds samples, and their number; ascending.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        filled(&self.counts)
    }

    /// The same for the maxima of finished clusters.
    pub fn cluster_counts(&self) -> impl Iterator<Item = (u64, u64)> {
        filled(&self.cluster_counts)
    }
}

fn filled(counts: &[u64; BUCKETS]) -> impl Iterator<Item = (u64, u64)> {
    let numbered = counts.iter().enumerate().filter(|(_, count)| **count != 0);
    numbered.map(|(bucket, count)| (shape::lowest_value(bucket as u64), *count))
}
