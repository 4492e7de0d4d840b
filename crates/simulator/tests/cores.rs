//! What a core does with its accesses before the memory sees them: pace, window, bounded misses, clock.

use waykeeper_platform::{Clocks, CoreKind, Execution, Param, Platform, Replacement, Settings, find_bundled};
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Loop, Operation, Pattern, TickBody};

const MILLISECOND: u64 = 1_000_000_000;

/// The longest and the shortest sample, after a warm-up.
#[derive(Default)]
struct Log(Vec<u64>);

impl SampleReceiver for Log {
    fn record(&mut self, ticks: u64, _count: u64, _at_ps: u64) {
        self.0.push(ticks);
    }
}

fn param<T>(value: T) -> Param<T> {
    Param::documented(value, "test")
}

/// The Agilex 5 with a counter of a picosecond, and its out-of-order cores changed.
fn platform(change: impl Fn(&mut CoreKind)) -> Platform {
    let mut platform = Platform::from_toml(find_bundled("agilex5").unwrap().text, "platforms/agilex5.toml").unwrap();
    platform.counter.as_mut().unwrap().tick_ns.value = 0.001;
    let core = &mut platform.cores[1];
    core.l1d.as_mut().unwrap().replacement.as_mut().unwrap().value = Replacement::Lru;
    change(core);
    platform
}

fn walk(operation: Operation, outer: (u64, u64), inner: (u64, u64)) -> Pattern {
    let [outer, inner] = [outer, inner].map(|(count, stride)| Loop { count, stride });
    Pattern::Walk { operation, outer, inner }
}

/// Samples in picoseconds of a program alone on core 2, between two times.
fn samples(platform: &Platform, pattern: Pattern, from: u64, until: u64) -> Vec<u64> {
    let program = Program { core: 2, pattern, role: Role::Target };
    let mut engine = Engine::new(platform, &[program], &[], 1).unwrap();
    engine.advance(from, &mut Log::default());
    let mut log = Log::default();
    engine.advance(until, &mut log);
    log.0
}

#[test]
fn independent_hits_begin_as_many_in_a_cycle_as_the_core_is_wide() {
    for (width, pace) in [(1, 714), (2, 357), (4, 178)] {
        let platform = platform(|core| core.issue_width = Some(param(width)));
        // 64 lines of one page: all in the first level. A cycle at 1.4 GHz is 714 ps.
        let seen =
            samples(&platform, walk(Operation::Read, (1 << 20, 0), (64, 64)), MILLISECOND, MILLISECOND + 10_000_000);
        assert!(seen.len() > 100);
        assert!(seen.iter().all(|ps| *ps == 64 * pace), "{width}: {seen:?}");
    }
}

/// 128 KiB in turn: each load misses the first level (64 KiB) and hits the second (256 KiB).
fn in_the_second_level() -> Pattern {
    walk(Operation::Read, (1 << 20, 0), (2048, 64))
}

#[test]
fn a_window_bounds_how_many_loads_wait_at_one_time() {
    // The second level's 12 cycles are 8571 ps. The window holds W loads, so W end in each 8571 ps; the others of the core's own pace, 714 ps,
    // fall into the wait.
    for size in [1, 2, 4, 8] {
        let platform = platform(|core| core.window_instructions = Some(param(size)));
        let seen = samples(&platform, in_the_second_level(), 2 * MILLISECOND, 3 * MILLISECOND);
        let loads = 2048 / size;
        assert!(seen.len() > 30);
        for ps in seen {
            // The last loads of a sample wait for their lines; the first ones begin one after the other.
            let (least, most) = (loads * 8571, loads * 8571 + size * 714);
            assert!((least..=most).contains(&ps), "window {size}: {ps} is not between {least} and {most}");
        }
    }
}

#[test]
fn an_in_order_core_stops_at_the_first_use_of_a_load() {
    // As with a window; a load whose value the next instruction uses stops it at once, as one does of which nothing is said.
    for size in [None, Some(1), Some(2), Some(4)] {
        let platform = platform(|core| {
            core.execution = Some(param(Execution::InOrder));
            core.first_use_instructions = size.map(param);
        });
        let seen = samples(&platform, in_the_second_level(), 2 * MILLISECOND, 3 * MILLISECOND);
        let size = size.unwrap_or(1);
        let loads = 2048 / size;
        assert!(seen.len() > 30);
        for ps in seen {
            let (least, most) = (loads * 8571, loads * 8571 + size * 714);
            assert!((least..=most).contains(&ps), "first use {size}: {ps} is not between {least} and {most}");
        }
    }
}

#[test]
fn a_window_without_limit_leaves_the_bound_to_the_outstanding_misses() {
    for misses in [1, 3, 7] {
        let platform = platform(|core| core.outstanding_misses = Some(param(misses)));
        let seen = samples(&platform, in_the_second_level(), 2 * MILLISECOND, 3 * MILLISECOND);
        assert!(seen.len() > 30);
        // So many wait beside the core, one more stops it: M + 1 loads begin one after the other, and the last one ends
        // 8571 ps after its beginning.
        let (turns, turn) = (2048 / (misses + 1), 8571 + misses * 714);
        for ps in seen {
            assert!((turns * turn..=(turns + 1) * turn).contains(&ps), "{misses} misses: {ps} for {turns} of {turn}");
        }
    }
}

#[test]
fn the_second_levels_bound_leaves_its_hits_alone() {
    let bounded = platform(|core| core.l2.as_mut().unwrap().outstanding_misses = Some(param(1)));
    let free = platform(|_| ());
    let run = |platform: &Platform, pattern: Pattern| samples(platform, pattern, 2 * MILLISECOND, 3 * MILLISECOND);
    assert_eq!(run(&bounded, in_the_second_level()), run(&free, in_the_second_level()));
    // 1 MiB comes from the shared cache, one line in 28 ns.
    let beyond = walk(Operation::Read, (1 << 20, 0), (16_384, 64));
    let sum = |seen: &[u64]| seen.iter().sum::<u64>() / seen.len() as u64;
    let (slow, fast) = (sum(&run(&bounded, beyond.clone())), sum(&run(&free, beyond)));
    assert!(slow > 14_000 * 28_000 && fast < slow / 10, "{slow} and {fast}");
}

#[test]
fn a_clock_scales_what_the_core_does_and_nothing_else() {
    let platform = platform(|_| ());
    let hits = walk(Operation::Read, (1 << 20, 0), (64, 64));
    let program = Program { core: 2, pattern: hits, role: Role::Target };
    let mut engine = Engine::new(&platform, &[program], &[], 1).unwrap();
    let half = Settings { clock_ghz: Some(Clocks { target: Some(0.7), others: None }), ..Settings::default() };
    for cycle in [714, 1429] {
        engine.advance(engine.now_ps() + MILLISECOND, &mut Log::default());
        let mut log = Log::default();
        engine.advance(engine.now_ps() + 10_000_000, &mut log);
        assert!(log.0.iter().all(|ps| *ps == 64 * cycle), "{:?}", log.0);
        engine.set_control(&half).unwrap();
    }
    // A tick loop of 72 cycles: 51.429 ns (51428.6 ps, rounded), then 102.857 ns; the pass under way ends at its old length.
    let tick = Program { core: 2, pattern: Pattern::Tick { body: TickBody::Nothing }, role: Role::Target };
    let mut engine = Engine::new(&platform, &[tick], &[], 1).unwrap();
    let mut log = Log::default();
    engine.advance(MILLISECOND, &mut log);
    assert_eq!(log.0.iter().min(), Some(&51_429));
    engine.set_control(&half).unwrap();
    let mut log = Log::default();
    engine.advance(2 * MILLISECOND, &mut log);
    assert!(log.0[1..].iter().all(|ps| *ps >= 102_857), "{:?}", &log.0[..3]);
}

#[test]
fn a_clock_scales_the_cores_part_of_a_hit_beyond_it() {
    // 28 ns at 1.4 GHz; of these 12 cycles are the second level's, 8571 ps, and twice as much at half the clock.
    let platform = platform(|_| ());
    let chase = Pattern::Chase { elements: 1 << 13, stride: 64, order: waykeeper_workload::Order::Random, batch: 64 };
    let program = Program { core: 2, pattern: chase, role: Role::Target };
    let mut engine = Engine::new(&platform, &[program], &[], 1).unwrap();
    let half = Settings { clock_ghz: Some(Clocks { target: Some(0.7), others: None }), ..Settings::default() };
    for hit in [28_000, 36_571] {
        engine.advance(engine.now_ps() + 10 * MILLISECOND, &mut Log::default());
        let mut log = Log::default();
        engine.advance(engine.now_ps() + MILLISECOND, &mut log);
        // Nearly all 64 loads of a sample come from the shared cache: none takes longer, and some are nearer.
        let longest = *log.0.iter().max().unwrap();
        assert!(longest <= 64 * hit + 2 && longest > 60 * hit, "{longest} of {}", 64 * hit);
        engine.set_control(&half).unwrap();
    }
}

#[test]
fn what_decides_at_the_start_is_refused_later() {
    let mut platform = platform(|_| ());
    let mut slow = platform.memory.clone().unwrap();
    slow.cl_ns.value = 1000.0;
    platform.alternative_memories.insert("slow".into(), slow);
    let far = walk(Operation::Read, (1 << 16, 4096), (1, 64));
    let program = || Program { core: 2, pattern: far.clone(), role: Role::Target };
    let mut engine = Engine::new(&platform, &[program()], &[], 1).unwrap();
    let memory = Settings { memory: Some("slow".into()), ..Settings::default() };
    assert_eq!(engine.set_control(&memory).unwrap_err().what, "memory");
    platform.mitigations.insert("slow".into(), waykeeper_platform::Mitigation { title: "slow".into(), set: memory });
    let run = |mitigations: &[&str]| {
        let mut engine = Engine::new(&platform, &[program()], mitigations, 1).unwrap();
        let mut log = Log::default();
        engine.advance(MILLISECOND, &mut log);
        log.0.iter().copied().min().unwrap()
    };
    // 1000 instead of 14.06 ns.
    assert_eq!(run(&["slow"]) - run(&[]), 985_940);
}

#[test]
fn settings_of_which_one_is_refused_set_nothing() {
    let platform = platform(|_| ());
    let far = walk(Operation::Read, (1 << 10, 4096), (1, 64));
    let program = Program { core: 2, pattern: far, role: Role::Target };
    let engine = || Engine::new(&platform, std::slice::from_ref(&program), &[], 1).unwrap();
    let samples = |mut engine: Engine| {
        let mut log = Log::default();
        engine.advance(MILLISECOND, &mut log);
        log.0
    };
    // Half the clock can be set, and shows; pages cannot be locked, which is found after it: the target has no event.
    let slow = Settings { clock_ghz: Some(Clocks { target: Some(0.7), others: None }), ..Settings::default() };
    let locked = Settings { tlb_lock: Some(true), ..slow.clone() };
    let (untouched, mut slower, mut refused) = (samples(engine()), engine(), engine());
    slower.set_control(&slow).unwrap();
    assert_eq!(refused.set_control(&locked).unwrap_err().what, "tlb_lock");
    assert!(samples(slower) != untouched);
    assert_eq!(samples(refused), untouched);
}
