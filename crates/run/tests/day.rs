//! A day of samples: what a repeat keeps does not grow with its samples.

use waykeeper_run::samples::Collector;

const PS_PER_S: u64 = 1_000_000_000_000;
const DAY_S: u64 = 86_400;
/// A sample each 10 ms, as of a control loop at 100 Hz.
const PER_S: u64 = 100;
const INTERVAL_S: u64 = 300;

/// The most memory that this process has had, KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_day_has_a_timeline_and_takes_no_more_memory_than_a_minute() {
    let collect = |seconds: u64| {
        let mut collector = Collector::new(1.0, 5_000, 100_000_000, INTERVAL_S * PS_PER_S);
        let mut state = 1_u64;
        for sample in 1..=seconds * PER_S {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // 1 to 9.2 us with all values between; in the last second of each interval, 20 us and the number of the interval.
            let end_s = sample.div_ceil(PER_S);
            let ticks = match end_s % INTERVAL_S == INTERVAL_S - 1 && sample % PER_S == 1 {
                true => 20_000 + end_s / INTERVAL_S,
                false => 1_000 + (state >> 51),
            };
            collector.record(ticks, 1, sample * (PS_PER_S / PER_S));
        }
        collector.finish()
    };
    let minute = collect(60);
    let before = peak_kib();
    let day = collect(DAY_S);
    let more = peak_kib() - before;
    assert!(more < 1024, "a day took {more} KiB more than a minute");
    assert_eq!((minute.count, day.count), (60 * PER_S, DAY_S * PER_S));

    // The last sample ends with the day, and is alone in an interval that begins there.
    let (last, intervals) = day.peaks.split_last().unwrap();
    assert_eq!((last.1, intervals.len() as u64), (DAY_S as f64, DAY_S / INTERVAL_S));
    for (number, (ticks, at_s)) in intervals.iter().enumerate() {
        assert_eq!(*ticks, 20_000 + number as u64);
        assert_eq!((at_s / INTERVAL_S as f64) as usize, number, "{at_s}");
    }
    let line = serde_json::to_vec(&day).unwrap().len();
    assert!(line < 64 << 10, "a line of the log of repeats takes {line} bytes");
}
