//! What comes before events on the fast path, beside the full one.

use waykeeper_platform::{Platform, find_bundled};
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Loop, Operation, Pattern};

const MILLISECOND: u64 = 1_000_000_000;

#[derive(Default)]
struct Log(Vec<u64>);

impl SampleReceiver for Log {
    fn record(&mut self, ticks: u64, count: u64, _at_ps: u64) {
        (0..count).for_each(|_| self.0.push(ticks));
    }
}

fn platform(name: &str) -> Platform {
    Platform::from_toml(find_bundled(name).unwrap().text, name).unwrap()
}

/// A handler of 12 code and 3 data lines after up to 6000 reads of 192 MiB and up to 1024 calls into 1 MiB: its lines are found
/// in the first level, in the L2 or in the memory, and its pages in the TLBs or not.
fn event() -> Pattern {
    Pattern::Random {
        data_bytes: 192 << 20,
        data_accesses: 3000,
        data_modifies: 0,
        random_counts: true,
        code_bytes: 1 << 20,
        code_calls: 512,
        event_data_lines: 3,
        event_code_lines: 12,
        event_device_pages: 1,
        event_stride_lines: 129,
        line_bytes: 32,
    }
}

/// Samples that are left out at the beginning.
const FIRST: usize = 40;

/// So many samples of an event, and the share of accesses that was left out.
fn samples(event: Pattern, mitigations: &[&str], fast: bool, seed: u64, most: usize) -> (Vec<u64>, f64) {
    let program = Program { core: 0, pattern: event, role: Role::Target };
    let mut engine = Engine::new(&platform("zynq7000"), &[program], mitigations, seed).unwrap();
    assert!(!fast || engine.set_skipping());
    let (mut log, mut until) = (Log::default(), 0);
    while log.0.len() < FIRST + most {
        until += MILLISECOND;
        engine.advance(until, &mut log);
    }
    // Then the L2 is full.
    log.0.drain(..FIRST);
    log.0.truncate(most);
    log.0.sort_unstable();
    let counters = engine.counters();
    let (core, front) = (counters.core(0).unwrap(), counters.front(0).unwrap());
    let skipped = core.skipped_accesses;
    let others = front.forwarded_accesses + core.accesses - front.walk_reads;
    (log.0, skipped as f64 / (skipped + others) as f64)
}

/// The largest distance between the distribution functions of two sorted samples.
fn distance(one: &[u64], other: &[u64]) -> f64 {
    let below = |samples: &[u64], value: u64| samples.partition_point(|sample| *sample <= value) as f64;
    let at = |value: &u64| below(one, *value) / one.len() as f64 - below(other, *value) / other.len() as f64;
    one.iter().chain(other).map(|value| at(value).abs()).fold(0.0, f64::max)
}

#[test]
fn events_take_as_long_as_in_full() {
    for mitigations in [&[][..], &["tlb"], &["tlb", "l2-lock"], &["supersections"]] {
        let (full, nothing) = samples(event(), mitigations, false, 1, 1000);
        let (fast, skipped) = samples(event(), mitigations, true, 2, 1000);
        assert!(nothing == 0.0 && skipped > 0.8, "{skipped}");
        // Kolmogorov and Smirnov's test: equal distributions are further apart once in 10,000 times, 1.95 sqrt(2 / n).
        let apart = distance(&full, &fast);
        assert!(apart < 1.95 * (2.0 / 1000f64).sqrt(), "{mitigations:?}: {apart}");
    }
}

#[test]
fn so_do_events_of_data_after_a_background_of_code() {
    // Calls into 900 KiB meet data lines in the second level. What else passes the first levels' sets of such calls decides
    // whether they go on to it; with only the event's own side kept, the mean was 727 ns, where in full it was 739.
    let event = Pattern::Random {
        data_bytes: 8 << 20,
        data_accesses: 500,
        data_modifies: 0,
        random_counts: false,
        code_bytes: 900 << 10,
        code_calls: 12_000,
        event_data_lines: 60,
        event_code_lines: 1,
        event_device_pages: 0,
        event_stride_lines: 65,
        line_bytes: 32,
    };
    let mean_and_error = |fast, count| {
        let (samples, _) = samples(event.clone(), &[], fast, 1, count);
        let mean = samples.iter().sum::<u64>() as f64 / count as f64;
        let squares = samples.iter().map(|sample| (*sample as f64 - mean).powi(2)).sum::<f64>();
        (mean, squares / (count - 1) as f64 / count as f64)
    };
    // The same placement, which decides on a part of the mean.
    let ((full, full_error), (fast, fast_error)) = (mean_and_error(false, 4000), mean_and_error(true, 12_000));
    // Equal means are further apart once in 2000 times.
    let apart = (full - fast).abs() / (full_error + fast_error).sqrt();
    assert!(apart < 3.5, "{full} and {fast}: {apart} standard errors");
}

#[test]
fn the_test_would_see_a_background_that_is_too_short() {
    // A tenth of the reads would leave the handler's lines in the L2 more often.
    let (full, _) = samples(event(), &[], false, 1, 500);
    let mut short = event();
    if let Pattern::Random { data_accesses, .. } = &mut short {
        *data_accesses = 300;
    }
    let program = Program { core: 0, pattern: short, role: Role::Target };
    let mut engine = Engine::new(&platform("zynq7000"), &[program], &[], 1).unwrap();
    let mut log = Log::default();
    engine.advance(100 * MILLISECOND, &mut log);
    log.0.sort_unstable();
    assert!(log.0.len() > 200 && distance(&full, &log.0) > 0.2, "{}", distance(&full, &log.0));
}

#[test]
fn a_target_with_neighbours_or_prefetchers_is_simulated_in_full() {
    let mut event = event();
    if let Pattern::Random { data_bytes, .. } = &mut event {
        *data_bytes = 48 << 20;
    }
    let target = |core| Program { core, pattern: event.clone(), role: Role::Target };
    let stream = Pattern::Walk {
        operation: Operation::Read,
        outer: Loop { count: 1, stride: 64 },
        inner: Loop { count: 1 << 16, stride: 64 },
    };
    let beside = Program { core: 1, pattern: stream, role: Role::Neighbour };
    let mut engine = Engine::new(&platform("zynq7000"), &[target(0), beside], &[], 1).unwrap();
    assert!(!engine.set_skipping());
    let mut event_with_lines_of_64 = target(0);
    if let Pattern::Random { line_bytes, .. } = &mut event_with_lines_of_64.pattern {
        *line_bytes = 64;
    }
    let mut engine = Engine::new(&platform("rk3588"), &[event_with_lines_of_64], &[], 1).unwrap();
    assert!(!engine.set_skipping());
    engine.advance(MILLISECOND, &mut Log::default());
    assert_eq!(engine.counters().core(0).unwrap().skipped_accesses, 0);
}

#[test]
fn a_background_that_the_caches_hold_is_simulated_in_full() {
    // The Zynq's caches hold 544 KiB. Of the last 64 accesses, which are calls, a quarter or more must go to the memory.
    let skips = |data: u64, code: u64, calls: u64| {
        let mut program = Program { core: 0, pattern: event(), role: Role::Target };
        if let Pattern::Random { data_bytes, code_bytes, code_calls, .. } = &mut program.pattern {
            (*data_bytes, *code_bytes, *code_calls) = (data << 10, code << 10, calls);
        }
        Engine::new(&platform("zynq7000"), &[program], &[], 1).unwrap().set_skipping()
    };
    assert!(skips(65536, 1024, 1000) && skips(65536, 8, 32));
    assert!(!skips(65536, 512, 1000) && !skips(512, 8, 32) && !skips(2048, 256, 1000));
}
