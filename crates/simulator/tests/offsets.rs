//! Periodic passes at chosen times.

use waykeeper_platform::{CoreId, Platform, find_bundled};
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Operation, Pattern};

const MICROSECOND: u64 = 1_000_000;
const PERIOD: u64 = 100 * MICROSECOND;

/// Samples in ticks, and the picosecond at which each ended.
#[derive(Default)]
struct Kept(Vec<(u64, u64)>);

impl SampleReceiver for Kept {
    fn record(&mut self, ticks: u64, count: u64, at_ps: u64) {
        assert_eq!(count, 1, "passes are simulated one by one");
        self.0.push((ticks, at_ps));
    }
}

fn buffer(bytes: u64, period: u64, offset: u64) -> Pattern {
    let [period_ns, offset_ns] = [period, offset].map(|ps| ps as f64 / 1e3);
    Pattern::Buffer { bytes, stride: 64, operation: Operation::Read, period_ns, offset_ns: Some(offset_ns) }
}

/// Samples from `from` on, and nanoseconds of a tick.
fn run(target: Pattern, beside: &[(CoreId, Pattern)], from: u64, until: u64) -> (Vec<(u64, u64)>, f64) {
    let platform = Platform::from_toml(find_bundled("agilex5").unwrap().text, "agilex5").unwrap();
    let neighbours =
        beside.iter().map(|(core, pattern)| Program { core: *core, pattern: pattern.clone(), role: Role::Neighbour });
    let programs: Vec<_> =
        std::iter::once(Program { core: 1, pattern: target, role: Role::Target }).chain(neighbours).collect();
    let mut engine = Engine::new(&platform, &programs, &[], 3).unwrap();
    let mut kept = Kept::default();
    engine.advance(until, &mut kept);
    kept.0.retain(|(_, at)| *at >= from);
    (kept.0, engine.tick_ns())
}

#[test]
fn passes_begin_at_the_offset_and_whole_periods_after_the_start() {
    for offset in [0, 50_000_000, 99_500_000] {
        let (samples, tick_ns) = run(buffer(1024, PERIOD, offset), &[], 0, 21 * PERIOD);
        assert!(samples.len() >= 20, "{offset} ps: {}", samples.len());
        let tick = (tick_ns * 1e3) as u64;
        for (ticks, at) in &samples {
            let began = at - ticks * tick;
            // The counter's readings are whole ticks, and one takes some time itself.
            let late = (began + 2 * tick - offset) % PERIOD;
            assert!(late < 4 * tick, "offset {offset} ps: a pass began at {began} ps");
        }
        // All of it is in the first level: equal passes, a period apart to the picosecond.
        let warm = &samples[5..];
        assert!(warm.windows(2).all(|two| two[1].1 - two[0].1 == PERIOD), "{warm:?}");
    }
}

#[test]
fn a_pass_that_is_too_late_waits_for_the_next_release() {
    // 16384 lines from beyond the first levels take more than 6 ns each.
    let (samples, tick_ns) = run(buffer(1 << 20, PERIOD, 30 * MICROSECOND), &[], 0, 100 * PERIOD);
    assert!(samples.len() >= 2);
    let tick = (tick_ns * 1e3) as u64;
    for (ticks, at) in samples {
        assert!(ticks * tick > PERIOD);
        let late = (at - ticks * tick + 2 * tick - 30 * MICROSECOND) % PERIOD;
        assert!(late < 4 * tick, "{late}");
    }
}

#[test]
fn bursts_slow_a_target_down_only_while_it_is_active() {
    // Target and bursts read 4 MiB, twice the last cache, once every 64 ms: what a burst evicts is never a hit of the
    // target's, so all that they have in common is the memory, and that only at the same time.
    const LONG: u64 = 640 * PERIOD;
    let pattern = |offset: u64| buffer(4 << 20, LONG, offset);
    let longest = |bursts: Option<u64>| {
        let beside: Vec<_> = bursts.iter().flat_map(|offset| [0, 2, 3].map(|core| (core, pattern(*offset)))).collect();
        let (samples, tick_ns) = run(pattern(0), &beside, LONG, 3 * LONG);
        samples.iter().map(|(ticks, _)| (*ticks as f64 * tick_ns * 1e3) as u64).max().unwrap()
    };
    let (alone, together, apart) = (longest(None), longest(Some(0)), longest(Some(LONG / 2)));
    // Nobody is active at the same time as the target, half a period later: all are done by then.
    assert!(together < LONG / 2, "{together} ps of {LONG}");
    assert!(together > alone + alone / 20, "{together} ps beside bursts, {alone} ps alone");
    assert!(apart < alone + alone / 100, "{apart} ps between bursts, {alone} ps alone");
}
