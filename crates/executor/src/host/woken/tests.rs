//! A sleeper ends when it is told to, counts what it missed, and never wakes before its time.

use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use waykeeper_kernels::{Kernel, Memory, Progress, Recorder, clock};
use waykeeper_workload::{Figure, Pattern, TickBody};

use super::*;

fn ticks(ns: f64) -> u64 {
    (ns * clock::frequency_hz() / 1e9) as u64
}

fn body(increments: u64) -> Runner {
    Runner::Kernel(Kernel::new(&Pattern::Tick { body: TickBody::Loop(increments) }, Memory::none(), 1).unwrap())
}

fn record(wakeup: &mut Sleeper, run_ns: f64) -> Box<Recorder> {
    let mut recorder = Recorder::new_boxed();
    wakeup.run_target(&mut recorder, clock::now() + ticks(run_ns), &AtomicU32::new(0));
    recorder
}

#[test]
fn each_period_is_a_sample_or_missed() {
    let mut wakeup = Sleeper::wakeup(1e6, Figure::WakeupLatency, None);
    let recorder = record(&mut wakeup, 100e6);
    // 99 to 100 periods of 1 ms; the last sample may be late, and then the deadline is.
    let seen = recorder.samples() + recorder.missed_periods();
    assert!(seen >= 99 && recorder.samples() > 0, "{seen} periods, {} samples", recorder.samples());
    assert_eq!(recorder.backwards(), 0, "a wake-up before its time");
    assert!(wakeup.rest().sleeps >= recorder.samples());
    assert!(wakeup.rest().asleep_ns < 101_000_000);
}

#[test]
fn a_body_is_in_the_response_time_and_not_in_the_latency() {
    // A million increments take at least 0.1 ms on any core.
    let mut response = Sleeper::wakeup(20e6, Figure::ResponseTime, Some(body(1_000_000)));
    let mut latency = Sleeper::wakeup(20e6, Figure::WakeupLatency, Some(body(1_000_000)));
    let (response, latency) = (record(&mut response, 200e6), record(&mut latency, 200e6));
    assert!(response.min().unwrap() > ticks(100e3), "{:?}", response.min());
    assert!(response.min() > latency.min());
}

#[test]
fn a_body_longer_than_its_period_misses_the_periods_that_it_covers() {
    // 20 million increments take at least 2 ms on any core: each covers 20 or more periods of 0.1 ms.
    let mut wakeup = Sleeper::wakeup(1e5, Figure::ResponseTime, Some(body(20_000_000)));
    let recorder = record(&mut wakeup, 50e6);
    assert!(recorder.samples() > 0);
    let (missed, samples) = (recorder.missed_periods(), recorder.samples());
    assert!(missed >= 19 * samples, "{missed} missed, {samples} samples");
}

#[test]
fn a_period_longer_than_the_run_ends_with_the_run_and_goes_on_in_the_next() {
    let mut wakeup = Sleeper::wakeup(500e6, Figure::WakeupLatency, None);
    // Had it slept until its time, there would be a sample.
    assert_eq!(record(&mut wakeup, 20e6).samples(), 0);
    let recorder = record(&mut wakeup, 700e6);
    assert!(recorder.samples() + recorder.missed_periods() >= 1);
}

#[test]
fn a_stop_ends_either_role_within_a_long_period() {
    for as_target in [true, false] {
        let (stop, progress) = (AtomicU32::new(0), Progress::new());
        let begun = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut wakeup = Sleeper::wakeup(60e9, Figure::WakeupLatency, None);
                match as_target {
                    true => wakeup.run_target(&mut Recorder::new_boxed(), u64::MAX, &stop),
                    false => wakeup.run_neighbour(&progress, &stop),
                }
            });
            std::thread::sleep(Duration::from_millis(50));
            stop.store(1, Ordering::Relaxed);
        });
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert_eq!(progress.accesses(), 0);
    }
}

#[test]
fn a_neighbour_counts_its_wake_ups() {
    let (stop, progress) = (AtomicU32::new(0), Progress::new());
    std::thread::scope(|scope| {
        scope.spawn(|| Sleeper::wakeup(1e6, Figure::ResponseTime, Some(body(10))).run_neighbour(&progress, &stop));
        while progress.accesses() < 5 {
            std::thread::sleep(Duration::from_millis(1));
        }
        stop.store(1, Ordering::Relaxed);
    });
}
