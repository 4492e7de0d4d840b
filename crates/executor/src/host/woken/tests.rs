//! A sleeper ends when it is asked to, counts what it missed, and never wakes before its time.

use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use waykeeper_kernels::{AccessCounter, Kernel, MappedMemory, Recorder, clock};
use waykeeper_workload::{InterruptSource, Pattern, TickBody, WakeupFigure};

use super::*;

fn ticks(ns: f64) -> u64 {
    (ns * clock::frequency_hz() / 1e9) as u64
}

fn body(increments: u64) -> Runner {
    Runner::Kernel(Kernel::new(&Pattern::Tick { body: TickBody::Loop(increments) }, MappedMemory::none(), 1).unwrap())
}

fn record(wakeup: &mut Sleeper, run_ns: f64) -> Box<Recorder> {
    let mut recorder = Recorder::new_boxed();
    wakeup.run_target(&mut recorder, clock::now() + ticks(run_ns), &AtomicU32::new(0));
    recorder
}

#[test]
fn each_period_is_a_sample_or_missed() {
    let mut wakeup = Sleeper::wakeup(1e6, WakeupFigure::WakeupLatency, None);
    let recorder = record(&mut wakeup, 100e6);
    // 99 to 100 periods of 1 ms, but for those that pass between the run's own steps.
    let seen = recorder.samples() + recorder.missed_periods();
    assert!(seen >= 90 && recorder.samples() > 0, "{seen} periods, {} samples", recorder.samples());
    assert_eq!(recorder.backwards(), 0, "a wake-up before its time");
    assert!(wakeup.rest().sleeps > 0);
    assert!(wakeup.rest().asleep_ns < 101_000_000);
}

#[test]
fn a_body_is_in_the_response_time_and_not_in_the_latency() {
    // A million increments take at least 0.1 ms on any core.
    let mut response = Sleeper::wakeup(20e6, WakeupFigure::ResponseTime, Some(body(1_000_000)));
    let mut latency = Sleeper::wakeup(20e6, WakeupFigure::WakeupLatency, Some(body(1_000_000)));
    let (response, latency) = (record(&mut response, 200e6), record(&mut latency, 200e6));
    assert!(response.min().unwrap() > ticks(100e3), "{:?}", response.min());
    assert!(response.min() > latency.min());
}

#[test]
fn a_body_longer_than_its_period_misses_the_periods_that_it_covers() {
    // 20 million increments take at least 2 ms on any core: each covers 20 or more periods of 0.1 ms.
    let mut wakeup = Sleeper::wakeup(1e5, WakeupFigure::ResponseTime, Some(body(20_000_000)));
    let recorder = record(&mut wakeup, 50e6);
    assert!(recorder.samples() > 0);
    let (missed, samples) = (recorder.missed_periods(), recorder.samples());
    assert!(missed >= 19 * samples, "{missed} missed, {samples} samples");
}

#[test]
fn a_period_longer_than_the_run_ends_with_the_run_and_goes_on_in_the_next() {
    let mut wakeup = Sleeper::wakeup(500e6, WakeupFigure::WakeupLatency, None);
    // Had it slept until its time, there would be a sample.
    assert_eq!(record(&mut wakeup, 20e6).samples(), 0);
    let recorder = record(&mut wakeup, 700e6);
    assert!(recorder.samples() + recorder.missed_periods() >= 1);
}

#[test]
fn a_stop_ends_either_role_within_a_long_period() {
    for as_target in [true, false] {
        let (stop, progress) = (AtomicU32::new(0), AccessCounter::new());
        let begun = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut wakeup = Sleeper::wakeup(60e9, WakeupFigure::WakeupLatency, None);
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
    let (stop, progress) = (AtomicU32::new(0), AccessCounter::new());
    std::thread::scope(|scope| {
        scope
            .spawn(|| Sleeper::wakeup(1e6, WakeupFigure::ResponseTime, Some(body(10))).run_neighbour(&progress, &stop));
        while progress.accesses() < 5 {
            std::thread::sleep(Duration::from_millis(1));
        }
        stop.store(1, Ordering::Relaxed);
    });
}

const SOURCES: [InterruptSource; 5] = [
    InterruptSource::TimerSignal,
    InterruptSource::Timerfd,
    InterruptSource::TimerfdEpoll,
    InterruptSource::Eventfd,
    InterruptSource::Loopback,
];

/// The thread that makes a source is the one that it wakes.
fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

#[test]
fn every_source_wakes_its_thread_once_a_period_or_says_that_it_was_missed() {
    for source in SOURCES {
        let recorder = on_a_thread(|| {
            let mut sleeper = Sleeper::interrupt(source, 1e6).unwrap();
            // Before a socket has time stamps, its packets have those of their reading.
            record(&mut sleeper, 20e6);
            record(&mut sleeper, 100e6)
        });
        let (samples, missed) = (recorder.samples(), recorder.missed_periods());
        // Those that pass between the run's own steps are lost to it.
        assert!(samples > 0 && samples + missed >= 50, "{}: {samples} samples, {missed} missed", source.name());
        assert_eq!(recorder.backwards(), 0, "{} woke before its event", source.name());
    }
}

#[test]
fn a_stop_ends_every_source_within_a_long_period() {
    for source in SOURCES {
        let (stop, begun) = (AtomicU32::new(0), Instant::now());
        let recorder = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let mut recorder = Recorder::new_boxed();
                Sleeper::interrupt(source, 60e9).unwrap().run_target(&mut recorder, u64::MAX, &stop);
                recorder
            });
            std::thread::sleep(Duration::from_millis(20));
            stop.store(1, Ordering::Relaxed);
            thread.join().unwrap()
        });
        assert_eq!(recorder.samples(), 0, "{}", source.name());
        assert!(begun.elapsed() < Duration::from_secs(10), "{}", source.name());
    }
}

#[test]
fn what_came_between_two_runs_is_no_sample_of_the_second() {
    let check = |source: InterruptSource| {
        let mut sleeper = Sleeper::interrupt(source, 100e6).unwrap();
        record(&mut sleeper, 115e6);
        // Nine or ten events that nobody waits for, the first of them at least 0.9 s old in the end.
        std::thread::sleep(Duration::from_secs(1));
        let recorder = record(&mut sleeper, 300e6);
        assert!(recorder.samples() > 0, "{}", source.name());
        assert!(recorder.max().unwrap() < ticks(500e6), "{}: {:?}", source.name(), recorder.max());
    };
    std::thread::scope(|scope| {
        SOURCES.map(|source| scope.spawn(move || check(source))).map(|thread| thread.join().unwrap())
    });
}

#[test]
fn several_sources_in_one_process_do_not_meet() {
    std::thread::scope(|scope| {
        let threads: Vec<_> = SOURCES
            .into_iter()
            .chain(SOURCES)
            .map(|source| scope.spawn(move || record(&mut Sleeper::interrupt(source, 5e6).unwrap(), 300e6).samples()))
            .collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap() > 0));
    });
}

#[test]
fn a_first_event_during_the_beginning_of_a_run_is_its_own() {
    const PERIOD_NS: i64 = 2_000_000;
    for source in [InterruptSource::TimerSignal, InterruptSource::Timerfd, InterruptSource::TimerfdEpoll] {
        let late: Vec<_> = on_a_thread(|| {
            let mut source = Sleeper::interrupt(source, PERIOD_NS as f64).unwrap().source;
            source.begin();
            // A run begins so long before its first event.
            let is_late = |before_ns: &i64| {
                let middle = source.next_ns().max(now_ns()) + PERIOD_NS / 2;
                source.wait();
                sleep_until(middle);
                while now_ns() < source.next_ns() - before_ns {}
                source.begin();
                source.wait().is_some_and(|woken| woken.missed == 0 && woken.seen_ns - woken.since_ns >= PERIOD_NS)
            };
            (0..100).map(|step| step * 50).filter(is_late).collect()
        });
        // A machine that stands still for a period can make one late, not one in twenty.
        assert!(late.len() < 5, "{} is a period late where it begins {late:?} ns before an event", source.name());
    }
}
