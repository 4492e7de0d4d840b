//! Warm-ups that are mostly without time, beside those in time.

use std::sync::atomic::AtomicBool;

use waykeeper_platform::{CoreId, Platform, find_bundled};
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Loop, Operation, Order, Pattern, TickBody};

const MICROSECOND: u64 = 1_000_000;
const WARM_UP: u64 = 5000 * MICROSECOND;

/// A hybrid part with private second levels, TLBs and prefetchers.
fn platform() -> Platform {
    Platform::from_toml(find_bundled("i7-13800hre").unwrap().text, "i7-13800hre").unwrap()
}

fn target(pattern: Pattern) -> Program {
    Program { core: 3, pattern, role: Role::Target }
}

/// Changes line after line of 64 MiB.
fn stream(core: CoreId) -> Program {
    let [outer, inner] = [(1 << 20, 64), (1, 64)].map(|(count, stride)| Loop { count, stride });
    Program { core, pattern: Pattern::Walk { operation: Operation::Modify, outer, inner }, role: Role::Neighbour }
}

/// Dependent loads over so many KiB; a sample is so many of them.
fn chase(kib: u64, batch: u64) -> Pattern {
    Pattern::Chase { elements: kib * 16, stride: 64, order: Order::Random, batch }
}

#[derive(Default)]
struct Kept(Vec<(u64, u64)>);

impl SampleReceiver for Kept {
    fn record(&mut self, ticks: u64, count: u64, at_ps: u64) {
        self.0.extend((0..count).map(|_| (ticks, at_ps)));
    }
}

/// Samples of so many microseconds after the warm-up.
fn samples(programs: &[Program], seed: u64, functional: bool, us: u64) -> Vec<(u64, u64)> {
    let mut engine = Engine::new(&platform(), programs, &[], seed).unwrap();
    if functional {
        let warmed = engine.warm_up(WARM_UP, &AtomicBool::new(false)).expect("these go forward without time");
        assert!(warmed.timed_ps < WARM_UP / 10, "{warmed:?}");
    } else {
        engine.advance(WARM_UP, &mut Kept::default());
    }
    let mut kept = Kept::default();
    engine.advance(WARM_UP + us * MICROSECOND, &mut kept);
    kept.0
}

fn mean(samples: &[(u64, u64)]) -> f64 {
    samples.iter().map(|(ticks, _)| *ticks as f64).sum::<f64>() / samples.len() as f64
}

#[test]
fn a_chase_takes_as_long_after_either_alone_and_beside_a_stream() {
    // In the shared cache, which the stream fills.
    for beside in [&[][..], &[0]] {
        let programs: Vec<_> =
            std::iter::once(target(chase(4096, 256))).chain(beside.iter().copied().map(stream)).collect();
        let means = |functional| [1, 2, 3].map(|seed| mean(&samples(&programs, seed, functional, 200)));
        let (timed, without) = (means(false), means(true));
        let middle = |means: &[f64; 3]| means.iter().sum::<f64>() / 3.0;
        let spread = timed.iter().fold(0.0, |most, mean| f64::max(most, (mean - middle(&timed)).abs()));
        let apart = (middle(&without) - middle(&timed)).abs();
        let allowed = f64::max(2.0 * spread, 0.02 * middle(&timed));
        assert!(apart <= allowed, "beside {beside:?}: {without:?} for {timed:?}");
    }
}

#[test]
fn periods_run_on_through_it() {
    let period_ns = 125_000.0;
    let pass = Pattern::Buffer { bytes: 256 << 10, stride: 64, operation: Operation::Read, period_ns, offset_ns: None };
    let ends = |functional| -> Vec<u64> {
        samples(&[target(pass.clone()), stream(0)], 1, functional, 1000).into_iter().map(|(_, at)| at).collect()
    };
    let (timed, without) = (ends(false), ends(true));
    assert_eq!(timed.len(), 8);
    assert_eq!(without.len(), 8);
    // A pass takes a few microseconds more or less; it begins at the same time.
    for (timed, without) in timed.iter().zip(&without) {
        assert!(timed.abs_diff(*without) < 5 * MICROSECOND, "{timed} and {without}");
    }
}

#[test]
fn a_sample_of_which_a_part_had_no_time_does_not_count() {
    // Passes of half a millisecond and more: one has begun long before the last stretch in time.
    let programs = [target(chase(768, 1 << 17))];
    let (timed, without) = (samples(&programs, 1, false, 4000), samples(&programs, 1, true, 4000));
    let least = timed.iter().map(|(ticks, _)| *ticks).min().unwrap();
    assert!(!without.is_empty());
    for (ticks, at) in without {
        assert!(ticks as f64 > 0.98 * least as f64, "{ticks} of {least} at {at}");
    }
}

#[test]
fn a_tick_loop_is_warmed_up_in_time() {
    let programs = [target(Pattern::Tick { body: TickBody::Nothing }), stream(0)];
    let platform = Platform::from_toml(find_bundled("agilex5").unwrap().text, "agilex5").unwrap();
    let mut engine = Engine::new(&platform, &programs, &[], 1).unwrap();
    assert_eq!(engine.warm_up(WARM_UP, &AtomicBool::new(false)), None);
    // Too short to be worth it.
    let mut engine = Engine::new(&platform, &[stream(0)], &[], 1).unwrap();
    assert_eq!(engine.warm_up(WARM_UP / 20, &AtomicBool::new(false)), None);
    let mut untouched = Engine::new(&platform, &[stream(0)], &[], 1).unwrap();
    for engine in [&mut engine, &mut untouched] {
        engine.advance(WARM_UP / 20, &mut Kept::default());
    }
    assert_eq!(engine.counters(), untouched.counters());
}
