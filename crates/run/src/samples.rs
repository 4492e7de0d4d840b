//! The samples of one repeat, from whichever executor.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use waykeeper_workload::recorder::{OVERFLOW_FROM, bucket, lowest_value};

/// The buckets of a recorder that have counts: lowest value in ticks and count, in ascending order.
///
/// A histogram with all its buckets takes 30 KiB. A long run has tens of thousands of repeats, and each of them has two.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts(Vec<(u64, u64)>);

impl Counts {
    /// Counts by value in ticks; values of [`OVERFLOW_FROM`] and more are counted in the last bucket.
    pub fn new(counts: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut histogram = histogram();
        for (ticks, count) in counts {
            histogram.saturating_record_n(ticks, count);
        }
        Self::of(&histogram)
    }

    /// The counts of a histogram with the recorder's buckets.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let lowest = |value: u64| lowest_value(bucket(value.min(OVERFLOW_FROM - 1)));
        Self(histogram.iter_recorded().map(|step| (lowest(step.value_iterated_to()), step.count_at_value())).collect())
    }

    /// All buckets.
    pub fn to_histogram(&self) -> Histogram<u64> {
        let mut histogram = histogram();
        self.add_to(&mut histogram);
        histogram
    }

    /// Adds the counts to a histogram with the recorder's buckets.
    pub fn add_to(&self, histogram: &mut Histogram<u64>) {
        for (ticks, count) in &self.0 {
            histogram.saturating_record_n(*ticks, *count);
        }
    }

    /// Lowest value of each bucket and its count.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }
}

/// Samples of one repeat, in ticks of a counter.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Samples {
    /// Length of a tick.
    pub tick_ns: f64,
    /// All samples below [`OVERFLOW_FROM`].
    pub counts: Counts,
    /// The maxima of the excursion events.
    pub event_counts: Counts,
    /// Number of samples, overflow included.
    pub count: u64,
    /// Sum of all samples, ticks.
    pub sum: u128,
    /// Smallest sample, ticks.
    pub min: Option<u64>,
    /// Largest sample, ticks, and when it ended, seconds from the start, where that is known.
    pub max: Option<(u64, Option<f64>)>,
    /// The largest sample of each interval, ticks, and when it ended, seconds from the start; empty where there was one
    /// interval only. An interval in which no sample ended has none.
    #[serde(default)]
    pub peaks: Vec<(u64, f64)>,
    /// Samples beyond the histogram: of [`OVERFLOW_FROM`] ticks and more, or of `overflow_from` and more.
    pub overflow: u64,
    /// The least that a sample beyond another tool's histogram can have, ticks.
    #[serde(default = "overflow_from", skip_serializing_if = "is_overflow_from")]
    pub overflow_from: u64,
    /// Counter readings that went backwards.
    pub backwards: u64,
    /// Releases that a periodic target came too late for.
    pub missed_periods: u64,
    /// Samples above the threshold.
    pub excursions: u64,
    /// Separate events among them.
    pub excursion_events: u64,
    /// Each sample may have been longer by up to so many nanoseconds, where another tool measured that rounds down; else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rounded_down_ns: f64,
}

fn overflow_from() -> u64 {
    OVERFLOW_FROM
}

fn is_overflow_from(number: &u64) -> bool {
    *number == OVERFLOW_FROM
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// An empty histogram with the recorder's buckets.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, OVERFLOW_FROM - 1, 2).expect("the bounds are constants that HdrHistogram accepts")
}

/// The value in ticks that a part of all samples reach at most. `samples` counts those too that lie beyond the histogram; none where the
/// value is one of these.
pub fn ticks_at_quantile(histogram: &Histogram<u64>, samples: u64, quantile: f64) -> Option<u64> {
    let rank = ((quantile * samples as f64).ceil() as u64).max(1);
    // The histogram ranks among its own samples alone. Half a sample lower, so that rounding cannot reach the next rank.
    let own = (rank as f64 - 0.5) / histogram.len() as f64;
    (rank <= histogram.len()).then(|| histogram.value_at_quantile(own))
}

impl Samples {
    /// No samples yet.
    pub fn new(tick_ns: f64) -> Self {
        Self {
            tick_ns,
            counts: Counts::default(),
            event_counts: Counts::default(),
            count: 0,
            sum: 0,
            min: None,
            max: None,
            peaks: Vec::new(),
            overflow: 0,
            overflow_from: OVERFLOW_FROM,
            backwards: 0,
            missed_periods: 0,
            excursions: 0,
            excursion_events: 0,
            rounded_down_ns: 0.0,
        }
    }

    /// Mean in nanoseconds.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 * self.tick_ns)
    }

    /// Samples above a limit in nanoseconds. Where the limit falls inside a bucket, the whole bucket counts as above
    /// only if its lowest value is.
    pub fn count_above_ns(&self, limit_ns: f64) -> u64 {
        let limit = limit_ns / self.tick_ns;
        let may_be = self.max.is_none_or(|(max, _)| max as f64 > limit);
        above(&self.counts, limit) + if may_be { self.overflow } else { 0 }
    }

    /// The same without samples beyond the histogram that may be shorter than the limit.
    pub fn count_surely_above_ns(&self, limit_ns: f64) -> u64 {
        let limit = limit_ns / self.tick_ns;
        above(&self.counts, limit) + if self.overflow_from as f64 > limit { self.overflow } else { 0 }
    }

    /// Excursion events whose maximum is above a limit in nanoseconds.
    pub fn events_above_ns(&self, limit_ns: f64) -> u64 {
        above(&self.event_counts, limit_ns / self.tick_ns)
    }
}

fn above(counts: &Counts, limit_ticks: f64) -> u64 {
    counts.iter().filter(|(lowest, _)| *lowest as f64 > limit_ticks).map(|(_, count)| count).sum()
}

/// Collects samples with the excursion rule of the C recorder: the simulator's counterpart of it.
#[derive(Debug, Clone)]
pub struct Collector {
    samples: Samples,
    histogram: Histogram<u64>,
    events: Histogram<u64>,
    threshold: u64,
    gap_ps: u64,
    event: Option<Event>,
    peaks: Peaks,
}

/// The largest sample of each interval.
#[derive(Debug, Clone)]
struct Peaks {
    interval_ps: u64,
    /// The intervals that have ended.
    ended: Vec<(u64, f64)>,
    /// Where the present one ends.
    until_ps: u64,
    present: Option<(u64, f64)>,
}

impl Peaks {
    fn record(&mut self, ticks: u64, at_ps: u64) {
        if at_ps >= self.until_ps {
            self.ended.extend(self.present.take());
            self.until_ps = (at_ps / self.interval_ps + 1).saturating_mul(self.interval_ps);
        }
        if self.present.is_none_or(|(max, _)| ticks > max) {
            self.present = Some((ticks, at_ps as f64 / 1e12));
        }
    }

    /// Of one interval the repeat's own maximum says it all.
    fn finish(mut self) -> Vec<(u64, f64)> {
        if !self.ended.is_empty() {
            self.ended.extend(self.present);
        }
        self.ended
    }
}

#[derive(Debug, Clone, Copy)]
struct Event {
    start_ps: u64,
    max: u64,
}

impl Collector {
    /// Samples above `threshold` ticks are excursions; those within `gap_ps` of an event's start belong to it. The largest
    /// sample is kept of each interval of `interval_ps`.
    pub fn new(tick_ns: f64, threshold: u64, gap_ps: u64, interval_ps: u64) -> Self {
        let (histogram, events) = (histogram(), histogram());
        let interval_ps = interval_ps.max(1);
        let peaks = Peaks { interval_ps, ended: Vec::new(), until_ps: interval_ps, present: None };
        Self { samples: Samples::new(tick_ns), histogram, events, threshold, gap_ps, event: None, peaks }
    }

    /// Takes `count` samples of `ticks` each, the last of which ends at `at_ps`.
    pub fn record(&mut self, ticks: u64, count: u64, at_ps: u64) {
        let samples = &mut self.samples;
        samples.count += count;
        samples.sum += u128::from(ticks) * u128::from(count);
        samples.min = Some(samples.min.map_or(ticks, |min| min.min(ticks)));
        if samples.max.is_none_or(|(max, _)| ticks > max) {
            samples.max = Some((ticks, Some(at_ps as f64 / 1e12)));
        }
        self.peaks.record(ticks, at_ps);
        if ticks < OVERFLOW_FROM {
            self.histogram.record_n(ticks, count).expect("the histogram spans every value below the overflow");
        } else {
            samples.overflow += count;
        }
        if ticks > self.threshold {
            samples.excursions += count;
            self.excursion(ticks, at_ps);
        }
    }

    fn excursion(&mut self, ticks: u64, at_ps: u64) {
        match &mut self.event {
            Some(event) if at_ps - event.start_ps <= self.gap_ps => event.max = event.max.max(ticks),
            _ => {
                self.close();
                self.event = Some(Event { start_ps: at_ps, max: ticks });
            }
        }
    }

    fn close(&mut self) {
        if let Some(event) = self.event.take() {
            self.samples.excursion_events += 1;
            let max = event.max.min(OVERFLOW_FROM - 1);
            self.events.record(max).expect("the histogram spans every value below the overflow");
        }
    }

    /// Samples so far.
    pub fn count(&self) -> u64 {
        self.samples.count
    }

    /// The samples, with the last event closed.
    pub fn finish(mut self) -> Samples {
        self.close();
        Samples {
            counts: Counts::of(&self.histogram),
            event_counts: Counts::of(&self.events),
            peaks: self.peaks.finish(),
            ..self.samples
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_rank_among_all_samples() {
        // 1 to 100 ticks, once each: values below 128 have buckets of their own.
        let histogram = Counts::new((1..=100).map(|ticks| (ticks, 1))).to_histogram();
        let at = |samples, quantile| ticks_at_quantile(&histogram, samples, quantile);
        assert_eq!((at(100, 0.5), at(100, 0.99), at(100, 0.995)), (Some(50), Some(99), Some(100)));
        // 60 more beyond it: the median of 160 is the 80th, and the 99th percentile, the 159th, is one of them.
        assert_eq!((at(160, 0.5), at(160, 0.625), at(160, 0.99)), (Some(80), Some(100), None));
        assert_eq!(ticks_at_quantile(&super::histogram(), 0, 0.5), None);
    }
}
