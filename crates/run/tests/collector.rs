//! The collector of samples, against a list of all samples and against the recorder of the C loops.

use std::collections::BTreeMap;

use proptest::prelude::*;
use waykeeper_kernels::Recorder;
use waykeeper_run::samples::{Collector, Counts, Samples};
use waykeeper_workload::recorder::{OVERFLOW_FROM, bucket, lowest_value};

/// Samples in order of time: how long after the one before each ends, and how many ticks it took.
fn samples() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let ticks = prop_oneof![8 => 1_u64..300, 4 => 1_u64..5_000, 1 => 1_u64..OVERFLOW_FROM, 1 => OVERFLOW_FROM..OVERFLOW_FROM * 4];
    prop::collection::vec((0_u64..2_000, ticks), 0..200)
}

/// Ends of the samples, each no earlier than the sample is long after the one before.
fn timed(samples: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut now = 0;
    let mut timed = Vec::new();
    for (gap, ticks) in samples {
        now += gap + ticks;
        timed.push((*ticks, now));
    }
    timed
}

fn collected(timed: &[(u64, u64)], threshold: u64, gap: u64) -> Samples {
    let mut collector = Collector::new(1.0, threshold, gap, u64::MAX);
    timed.iter().for_each(|(ticks, end)| collector.record(*ticks, 1, *end));
    collector.finish()
}

/// The counts of a histogram with all its buckets, by lowest value of a bucket.
fn counts(counts: &Counts) -> BTreeMap<u64, u64> {
    counts
        .to_histogram()
        .iter_recorded()
        .map(|step| (lowest_value(bucket(step.value_iterated_to())), step.count_at_value()))
        .collect()
}

/// The same from values one by one.
fn counted(values: impl Iterator<Item = u64>) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    values.for_each(|value| *counts.entry(lowest_value(bucket(value))).or_insert(0) += 1);
    counts
}

/// The largest sample of each event: an excursion opens one unless it ends within the gap of the last one's first.
fn event_maxima(timed: &[(u64, u64)], threshold: u64, gap: u64) -> Vec<u64> {
    let mut events: Vec<(u64, u64)> = Vec::new();
    for (ticks, end) in timed.iter().filter(|(ticks, _)| *ticks > threshold) {
        match events.last_mut() {
            Some((opened, max)) if end - *opened <= gap => *max = (*max).max(*ticks),
            _ => events.push((*end, *ticks)),
        }
    }
    events.into_iter().map(|(_, max)| max).collect()
}

proptest! {
    #[test]
    fn it_keeps_what_a_list_of_all_samples_tells(samples in samples(), threshold in 1_u64..6_000, gap in 0_u64..20_000) {
        let timed = timed(&samples);
        let got = collected(&timed, threshold, gap);
        let ticks: Vec<u64> = timed.iter().map(|(ticks, _)| *ticks).collect();
        prop_assert_eq!(got.count, ticks.len() as u64);
        prop_assert_eq!(got.sum, ticks.iter().map(|ticks| u128::from(*ticks)).sum::<u128>());
        prop_assert_eq!(got.min, ticks.iter().min().copied());
        let max = ticks.iter().max();
        prop_assert_eq!(got.max.map(|(ticks, _)| ticks), max.copied());
        // The first of the largest; times are picoseconds.
        let first = timed.iter().find(|(ticks, _)| Some(ticks) == max);
        prop_assert_eq!(got.max.and_then(|(_, at_s)| at_s), first.map(|(_, end)| *end as f64 / 1e12));
        prop_assert_eq!(got.overflow, ticks.iter().filter(|ticks| **ticks >= OVERFLOW_FROM).count() as u64);
        prop_assert_eq!(counts(&got.counts), counted(ticks.iter().copied().filter(|ticks| *ticks < OVERFLOW_FROM)));
        prop_assert_eq!(got.excursions, ticks.iter().filter(|ticks| **ticks > threshold).count() as u64);
        let events = event_maxima(&timed, threshold, gap);
        prop_assert_eq!(got.excursion_events, events.len() as u64);
        // No event may get lost above the histogram: its maximum then stands in the last bucket.
        prop_assert_eq!(counts(&got.event_counts), counted(events.iter().map(|max| (*max).min(OVERFLOW_FROM - 1))));
    }

    #[test]
    fn it_keeps_what_the_recorder_of_the_loops_keeps(samples in samples(), threshold in 1_u64..6_000, gap in 0_u64..20_000) {
        let timed = timed(&samples);
        let got = collected(&timed, threshold, gap);
        let mut recorder = Recorder::new_boxed();
        recorder.reset(threshold, gap);
        for (ticks, end) in &timed {
            prop_assert!(recorder.record(end - ticks, *end));
        }
        recorder.close_cluster();
        prop_assert_eq!(got.count, recorder.samples());
        prop_assert_eq!(got.sum, recorder.sum());
        prop_assert_eq!((got.min, got.max.map(|(max, _)| max)), (recorder.min(), recorder.max()));
        prop_assert_eq!(got.overflow, recorder.overflow());
        prop_assert_eq!(got.excursions, recorder.excursions());
        prop_assert_eq!(got.excursion_events, recorder.clusters());
        prop_assert_eq!(counts(&got.counts), recorder.counts().collect());
    }

    #[test]
    fn peaks_are_the_maxima_of_their_intervals(
        samples in prop::collection::vec((0_u64..5000, 1_u64..500), 1..200),
        interval in 1_u64..20_000,
    ) {
        let timed = timed(&samples);
        let mut collector = Collector::new(1.0, u64::MAX, 0, interval);
        timed.iter().for_each(|(ticks, end)| collector.record(*ticks, 1, *end));
        let mut expected: BTreeMap<u64, (u64, f64)> = BTreeMap::new();
        for (ticks, end) in &timed {
            let here = (*ticks, *end as f64 / 1e12);
            expected.entry(end / interval).and_modify(|max| if *ticks > max.0 { *max = here }).or_insert(here);
        }
        let expected: Vec<_> = expected.into_values().collect();
        let got = collector.finish();
        prop_assert_eq!(got.peaks, if expected.len() > 1 { expected } else { Vec::new() });
    }

    #[test]
    fn several_samples_at_once_are_as_many_one_by_one(ticks in 1_u64..100_000, count in 1_u64..50, limit in 0_u64..100_000) {
        let mut at_once = Collector::new(2.5, u64::MAX, 0, u64::MAX);
        at_once.record(ticks, count, 1_000_000);
        let at_once = at_once.finish();
        let one_by_one = {
            let mut collector = Collector::new(2.5, u64::MAX, 0, u64::MAX);
            (0..count).for_each(|_| collector.record(ticks, 1, 1_000_000));
            collector.finish()
        };
        prop_assert_eq!(counts(&at_once.counts), counts(&one_by_one.counts));
        prop_assert_eq!((at_once.count, at_once.sum, at_once.min, at_once.max), (one_by_one.count, one_by_one.sum, one_by_one.min, one_by_one.max));
        // A bucket is above a limit if its lowest value is.
        let above = if lowest_value(bucket(ticks)) as f64 > limit as f64 / 2.5 { count } else { 0 };
        prop_assert_eq!(at_once.count_above_ns(limit as f64), above);
    }
}
