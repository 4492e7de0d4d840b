//! What the C code records, against slow and obvious models and by hand.

use proptest::prelude::*;
use waykeeper_kernels::Recorder;
use waykeeper_workload::recorder::{OVERFLOW_FROM, bucket, lowest_value};
use waykeeper_workload::{Order, Pattern, Xorshift};

unsafe extern "C" {
    safe fn wk_entry_bucket(ticks: u64) -> u64;
    safe fn wk_entry_random(state: &mut u64, bound: u64, below: &mut u64);
}

/// Values of every magnitude.
fn any_magnitude() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0_u32..64).prop_map(|(value, shift)| value >> shift)
}

/// Pairs of readings: mostly short samples one after the other, some long ones, some jumps in either direction.
fn readings() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let gap = prop_oneof![8 => 0_u64..50, 1 => 0_u64..100_000];
    let ticks = prop_oneof![8 => 0_u64..300, 4 => 0_u64..2000, 1 => any_magnitude().prop_map(|t| t >> 16)];
    let pair = (gap, ticks, prop::bool::weighted(0.05), any_magnitude());
    prop::collection::vec(pair, 0..200).prop_map(|steps| {
        let mut now = 1_u64 << 50;
        steps
            .into_iter()
            .map(|(gap, ticks, jump, anywhere)| {
                let start = now.wrapping_add(gap);
                now = if jump { anywhere } else { start.wrapping_add(ticks) };
                (start, now)
            })
            .collect()
    })
}

/// The maxima of the clusters, from the plain definition: go through the excursions in order; the first one not yet in a
/// cluster opens one; the ones after it, as long as they end within the gap of it, are in that cluster.
fn cluster_maxima(samples: &[(u64, u64)], above: u64, gap: u64) -> Vec<u64> {
    let excursions: Vec<_> = samples.iter().filter(|(ticks, _)| *ticks > above).collect();
    let mut maxima = Vec::new();
    let mut rest = excursions.as_slice();
    while let Some((_, opened_at)) = rest.first() {
        let within = |(_, end): &&&(u64, u64)| end.checked_sub(*opened_at).is_some_and(|distance| distance <= gap);
        let members = rest.iter().take_while(within).count();
        maxima.push(rest[..members].iter().map(|(ticks, _)| *ticks).max().unwrap());
        rest = &rest[members..];
    }
    maxima
}

fn histogram(values: &[u64]) -> Vec<(u64, u64)> {
    let mut counts = std::collections::BTreeMap::new();
    for value in values.iter().filter(|value| **value < OVERFLOW_FROM) {
        *counts.entry(lowest_value(bucket(*value))).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

proptest! {
    #[test]
    fn buckets_in_c_are_those_of_rust(value in any_magnitude()) {
        let value = value % OVERFLOW_FROM;
        prop_assert_eq!(wk_entry_bucket(value), bucket(value));
    }

    #[test]
    fn random_numbers_in_c_are_those_of_rust(seed: u64, bound in 1_u64..=1 << 32) {
        let mut generator = Xorshift::new(seed);
        let mut state = generator.state();
        for _ in 0..20 {
            let mut below = u64::MAX;
            wk_entry_random(&mut state, bound, &mut below);
            prop_assert_eq!(below, generator.below(bound));
            prop_assert_eq!(state, generator.state());
        }
    }

    #[test]
    fn a_recorder_keeps_what_a_list_of_all_samples_would_tell(
        readings in readings(),
        above in prop_oneof![0_u64..400, any_magnitude()],
        gap in prop_oneof![0_u64..3000, any_magnitude()],
    ) {
        let mut recorder = Recorder::new_boxed();
        recorder.reset(above, gap);
        for (start, end) in &readings {
            prop_assert_eq!(recorder.record(*start, *end), start <= end);
        }
        recorder.close_cluster();

        let samples: Vec<(u64, u64)> = readings
            .iter()
            .filter(|(start, end)| start <= end)
            .map(|(start, end)| (end - start, *end))
            .collect();
        let ticks: Vec<u64> = samples.iter().map(|(ticks, _)| *ticks).collect();
        let count_of = |condition: &dyn Fn(u64) -> bool| ticks.iter().filter(|t| condition(**t)).count() as u64;
        let max = ticks.iter().max().copied();
        let first_max_at = samples.iter().find(|(ticks, _)| Some(*ticks) == max).map_or(0, |(_, end)| *end);

        prop_assert_eq!(recorder.samples(), ticks.len() as u64);
        prop_assert_eq!(recorder.backwards(), (readings.len() - samples.len()) as u64);
        prop_assert_eq!(recorder.min(), ticks.iter().min().copied());
        prop_assert_eq!(recorder.max(), max);
        prop_assert_eq!(recorder.max_at(), first_max_at);
        prop_assert_eq!(recorder.sum(), ticks.iter().map(|t| u128::from(*t)).sum::<u128>());
        prop_assert_eq!(recorder.overflow(), count_of(&|t| t >= OVERFLOW_FROM));
        prop_assert_eq!(recorder.excursions(), count_of(&|t| t > above));
        prop_assert_eq!(recorder.counts().collect::<Vec<_>>(), histogram(&ticks));

        let maxima = cluster_maxima(&samples, above, gap);
        prop_assert_eq!(recorder.clusters(), maxima.len() as u64);
        prop_assert_eq!(recorder.cluster_counts().collect::<Vec<_>>(), histogram(&maxima));
        prop_assert_eq!(recorder.cluster_overflow(), maxima.iter().filter(|m| **m >= OVERFLOW_FROM).count() as u64);
    }

    #[test]
    fn peaks_are_the_maxima_between_them_and_change_nothing_else(
        readings in readings(),
        every in 1_usize..10,
        above in 0_u64..400,
    ) {
        let (mut split, mut whole) = (Recorder::new_boxed(), Recorder::new_boxed());
        split.reset(above, 100);
        whole.reset(above, 100);
        let mut peaks = Vec::new();
        for interval in readings.chunks(every) {
            for (start, end) in interval {
                prop_assert_eq!(split.record(*start, *end), whole.record(*start, *end));
            }
            let samples = interval.iter().filter(|(start, end)| start <= end).map(|(start, end)| (end - start, *end));
            let longest = samples.clone().map(|(ticks, _)| ticks).max();
            let first = samples.clone().find(|(ticks, _)| Some(*ticks) == longest);
            let peak = split.take_peak();
            // A sample of no ticks after others is no peak: with a clock so coarse there is nothing to see in it.
            if longest != Some(0) {
                prop_assert_eq!(peak.map(|peak| (peak.ticks, peak.at)), first);
            }
            peaks.extend(peak);
        }
        split.put_back(&peaks);
        prop_assert_eq!((split.min(), split.max()), (whole.min(), whole.max()));
        if whole.max() != Some(0) {
            prop_assert_eq!(split.max_at(), whole.max_at());
        }
        prop_assert_eq!((split.samples(), split.sum()), (whole.samples(), whole.sum()));
        prop_assert_eq!((split.excursions(), split.clusters()), (whole.excursions(), whole.clusters()));
        prop_assert!(split.counts().eq(whole.counts()) && split.cluster_counts().eq(whole.cluster_counts()));
    }
}

#[test]
fn a_new_recorder_is_empty() {
    let recorder = Recorder::new_boxed();
    assert_eq!((recorder.samples(), recorder.min(), recorder.max(), recorder.sum()), (0, None, None, 0));
    assert_eq!((recorder.excursions(), recorder.clusters(), recorder.overflow(), recorder.backwards()), (0, 0, 0, 0));
    assert_eq!(recorder.counts().count() + recorder.cluster_counts().count(), 0);
}

#[test]
fn a_counter_that_goes_backwards_gives_no_sample() {
    let mut recorder = Recorder::new_boxed();
    assert!(recorder.record(1000, 1060));
    assert!(!recorder.record(1060, 1059));
    // The difference of these two would wrap to 1.
    assert!(!recorder.record(u64::MAX, 0));
    assert_eq!((recorder.samples(), recorder.backwards()), (1, 2));
    assert_eq!((recorder.min(), recorder.max(), recorder.sum()), (Some(60), Some(60), 60));
}

#[test]
fn an_overflow_is_counted_and_stays_exact() {
    let mut recorder = Recorder::new_boxed();
    recorder.record(0, OVERFLOW_FROM - 1);
    recorder.record(5, OVERFLOW_FROM + 5);
    recorder.record(0, u64::MAX);
    // 2^36 - 1 in the last bucket, which begins at 255 x 2^28; the others in none.
    assert_eq!(recorder.counts().collect::<Vec<_>>(), [(255 << 28, 1)]);
    assert_eq!((recorder.samples(), recorder.overflow()), (3, 2));
    assert_eq!((recorder.max(), recorder.max_at()), (Some(u64::MAX), u64::MAX));
    // 2^36 - 1 + 2^36 + 2^64 - 1 = 2^64 + 2^37 - 2.
    assert_eq!(recorder.sum(), (1 << 64) + (1 << 37) - 2);
}

#[test]
fn at_most_one_cluster_is_in_every_gap() {
    let mut recorder = Recorder::new_boxed();
    recorder.reset(100, 1000);
    // Ends at 1000, 1900, 2000 | 2001 (1001 after the first) | 9000; 100 ticks are no excursion.
    for (ticks, end) in [(101, 1000), (500, 1900), (100, 1950), (300, 2000), (110, 2001), (700, 9000)] {
        recorder.record(end - ticks, end);
    }
    assert_eq!((recorder.excursions(), recorder.clusters()), (5, 2));
    recorder.close_cluster();
    recorder.close_cluster();
    // Buckets of 2 ticks from 256 on and of 4 from 512 on: 110; 500; 700.
    assert_eq!(recorder.cluster_counts().collect::<Vec<_>>(), [(110, 1), (500, 1), (700, 1)]);
}

#[test]
fn a_reset_forgets_everything() {
    let mut recorder = Recorder::new_boxed();
    recorder.reset(10, 0);
    recorder.miss_periods(3);
    recorder.record(0, OVERFLOW_FROM);
    recorder.record(0, 20);
    recorder.record(1, 0);
    recorder.close_cluster();
    recorder.reset(10, 0);
    recorder.record(7, 12);
    assert_eq!((recorder.samples(), recorder.sum(), recorder.backwards(), recorder.overflow()), (1, 5, 0, 0));
    assert_eq!((recorder.min(), recorder.max(), recorder.max_at()), (Some(5), Some(5), 12));
    assert_eq!((recorder.excursions(), recorder.clusters(), recorder.missed_periods()), (0, 0, 0));
}

#[test]
fn a_chase_is_laid_out_as_its_permutation() {
    let pattern = Pattern::Chase { elements: 64, stride: 128, order: Order::Random, batch: 1 };
    let mut words = vec![0_u64; 8192 / 8 + 512];
    let start = words.as_mut_ptr().cast::<u8>();
    let start = start.wrapping_add(start.align_offset(4096));
    // SAFETY: the vector holds 8192 bytes and a page more, and outlives the kernel.
    let memory = unsafe { waykeeper_kernels::MappedMemory::new(start, 8192) };
    let kernel = waykeeper_kernels::Kernel::new(&pattern, memory, 9).unwrap();
    for (place, next) in pattern.permutation(9).into_iter().enumerate() {
        // SAFETY: within the memory; nothing runs.
        let found = unsafe { start.add(place * 128).cast::<u64>().read() };
        assert_eq!(found, start as u64 + u64::from(next) * 128);
    }
    drop(kernel);
}
