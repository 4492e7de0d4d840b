//! Passes that are measured in windows, beside passes in full.

mod whole_programs;

use waykeeper_platform::{CoreId, Platform};
use waykeeper_simulator::{Engine, Estimate, PassSampling, Program, Role, Window};
use waykeeper_workload::{ImageSize, Loop, Operation, Pattern, TickBody};

use whole_programs::{IN_ORDER, MICROSECOND, OUT_OF_ORDER, mser, sample};

/// With a small last cache, which neighbours soon fill: what 2.5 ms are for 12 MiB, 40 us are for 192 KiB.
fn platform() -> Platform {
    let mut platform = whole_programs::platform();
    platform.shared_caches[0].size_kib.value = 192;
    platform
}

/// A core that changes a byte of each line of 128 MiB.
fn stream(core: CoreId) -> Program {
    let [outer, inner] = [(1 << 21, 64), (1, 64)].map(|(count, stride)| Loop { count, stride });
    Program { core, pattern: Pattern::Walk { operation: Operation::Modify, outer, inner }, role: Role::Neighbour }
}

fn engine(pattern: Pattern, core: CoreId, beside: &[CoreId], seed: u64) -> Engine {
    let target = Program { core, pattern, role: Role::Target };
    let programs: Vec<_> = std::iter::once(target).chain(beside.iter().copied().map(stream)).collect();
    Engine::new(&platform(), &programs, &[], seed).unwrap()
}

/// The first sample.
fn first(engine: &mut Engine) -> u64 {
    sample(engine, 0)
}

fn sampling(windows: u64, accesses: u64, warm_up_us: u64) -> PassSampling {
    PassSampling { windows, accesses, warm_up_ps: warm_up_us * MICROSECOND, functional: false, seed: 1 }
}

/// The first pass, estimated.
fn sampled(mut engine: Engine, sampling: PassSampling) -> (u64, Estimate) {
    engine.sample(sampling).unwrap();
    let ticks = first(&mut engine);
    (ticks, engine.estimates()[0].clone())
}

#[test]
fn windows_that_hold_all_of_a_pass_give_its_time() {
    let pattern = mser(ImageSize::Sqcif);
    let accesses = pattern.pass_length().unwrap().accesses;
    // Windows of equal length without anything between them.
    let several = (2..1000).find(|windows| accesses.is_multiple_of(*windows)).unwrap_or(accesses);
    for core in [IN_ORDER, OUT_OF_ORDER] {
        for beside in [&[] as &[CoreId], &[2]] {
            let full = first(&mut engine(pattern.clone(), core, beside, 3));
            for windows in [1, several] {
                for warm_up_us in [0, 50] {
                    let sampling = sampling(windows, accesses / windows, warm_up_us);
                    let (ticks, estimate) = sampled(engine(pattern.clone(), core, beside, 3), sampling);
                    assert_eq!(ticks, full, "core {core} beside {beside:?}, {windows} windows");
                    assert_eq!((estimate.share(), estimate.windows.len() as u64), (1.0, windows));
                }
            }
        }
    }
}

#[test]
fn between_windows_no_time_passes_and_memory_stands_still() {
    let pattern = mser(ImageSize::Sqcif);
    let length = pattern.pass_length().unwrap();
    let mut engine = engine(pattern, IN_ORDER, &[], 1);
    engine.sample(sampling(8, 1000, 0)).unwrap();
    first(&mut engine);
    // What the next pass did in the same slice would be counted too: the first window of it is in there.
    let (counters, estimates) = (engine.counters(), engine.estimates());
    let (core, front) = (counters.core(IN_ORDER).unwrap(), counters.front(IN_ORDER).unwrap());
    let passes = estimates.len() as u64;
    assert_eq!(estimates[0].accesses, length.accesses);
    assert_eq!(estimates[0].instructions, length.instructions);
    let in_time = core.accesses - front.walk_reads;
    // Two stores of the recorder after each pass.
    assert!((passes * 8002..(passes + 1) * 8002).contains(&in_time), "{in_time} in {passes} passes");
    assert!(front.forwarded_accesses >= passes * (length.accesses - 8000), "{front:?}");
    assert_eq!(counters.memory.reads, core.memory_reads, "{counters:?}");
    assert!(estimates[0].windows.iter().all(|window| window.accesses == 1000 && window.warmed_ps == 0));
}

/// The tolerance was set before anything was compared. A program of some milliseconds has parts whose accesses take ten
/// times as long as those of others; 32 windows lie about evenly in them, so that a tenth is three windows' worth of the
/// slow part seen too often or too seldom.
const TOLERANCE: f64 = 0.1;

/// All windows of a pass have one offset, so that one run draws once: with seeds 1 to 8, a run was off by -0.04 to 0.13.
const OFFSETS: u64 = 4;

#[test]
fn windows_tell_of_the_whole_pass() {
    let pattern = mser(ImageSize::Qcif);
    for (core, beside) in
        [(IN_ORDER, &[] as &[CoreId]), (IN_ORDER, &[2, 3]), (OUT_OF_ORDER, &[]), (OUT_OF_ORDER, &[5, 6])]
    {
        let full = first(&mut engine(pattern.clone(), core, beside, 1)) as f64;
        let off = |seed| {
            let sampling = PassSampling { seed, ..sampling(32, 1500, 40) };
            let (ticks, estimate) = sampled(engine(pattern.clone(), core, beside, 1), sampling);
            assert!(estimate.share() < 0.1, "{}", estimate.share());
            ticks as f64 / full - 1.0
        };
        let off = (1..=OFFSETS).map(off).sum::<f64>() / OFFSETS as f64;
        assert!(off.abs() < TOLERANCE, "core {core} beside {beside:?}: off by {off:.3}");
    }
}

#[test]
fn equal_seeds_measure_equal_accesses_in_every_case() {
    let pattern = mser(ImageSize::Sqcif);
    let places = |estimate: &Estimate| estimate.windows.iter().map(|w| (w.first, w.accesses)).collect::<Vec<_>>();
    let run = |beside: &[CoreId], seed| {
        sampled(engine(pattern.clone(), IN_ORDER, beside, 5), PassSampling { seed, ..sampling(8, 500, 20) })
    };
    let (alone, again, beside) = (run(&[], 1), run(&[], 1), run(&[2], 1));
    assert_eq!(alone, again);
    assert_eq!(places(&alone.1), places(&beside.1));
    assert_ne!(places(&alone.1), places(&run(&[], 2).1));
}

#[test]
fn a_warm_up_takes_about_the_time_that_it_was_given() {
    let (_, estimate) = sampled(engine(mser(ImageSize::Cif), IN_ORDER, &[2], 1), sampling(10, 1000, 100));
    let mut warmed: Vec<u64> = estimate.windows.iter().map(|window| window.warmed_ps).collect();
    warmed.sort_unstable();
    // The pace changes from one part of the program to the next, so that some are shorter; none is much longer than two.
    let median = warmed[warmed.len() / 2];
    assert!((50 * MICROSECOND..200 * MICROSECOND).contains(&median), "{warmed:?}");
    assert!(*warmed.last().unwrap() < 400 * MICROSECOND, "{warmed:?}");
}

/// A warm-up of all programs without time, where it is long enough for that.
fn functional(windows: u64, accesses: u64, warm_up_us: u64) -> PassSampling {
    PassSampling { functional: true, ..sampling(windows, accesses, warm_up_us) }
}

#[test]
fn windows_after_a_warm_up_without_time_are_those_of_a_pass_in_full() {
    let pattern = mser(ImageSize::Qcif);
    for (core, beside) in [(IN_ORDER, &[2, 3]), (OUT_OF_ORDER, &[5, 6])] {
        let windows = |sampling| sampled(engine(pattern.clone(), core, beside, 1), sampling).1.windows;
        // Warm-ups that come to more than the pass: nothing is left out.
        let (full, without) = (windows(sampling(4, 6000, 1_000_000)), windows(functional(4, 6000, 1000)));
        let places = |windows: &[Window]| windows.iter().map(|window| window.first).collect::<Vec<_>>();
        assert_eq!(places(&full), places(&without));
        let time = |windows: &[Window]| windows.iter().map(|window| window.ps).sum::<u64>() as f64;
        let off = time(&without) / time(&full) - 1.0;
        assert!(off.abs() < TOLERANCE, "core {core} beside {beside:?}: off by {off:.3}");
        let mostly = without.iter().filter(|window| 2 * window.functional_ps > window.warmed_ps).count();
        assert!(mostly >= 2, "{without:?}");
    }
}

#[test]
fn warm_ups_stay_in_time_beside_who_keeps_time() {
    let target = Program { core: IN_ORDER, pattern: mser(ImageSize::Sqcif), role: Role::Target };
    let [outer, inner] = [(64, 64), (1, 64)].map(|(count, stride)| Loop { count, stride });
    let pattern = Pattern::Walk { operation: Operation::Read, outer, inner };
    let periodic =
        Pattern::Buffer { bytes: 1 << 16, stride: 64, operation: Operation::Read, period_ns: 1e4, offset_ns: None };
    for (pattern, some) in [(pattern, true), (periodic, false)] {
        let beside = Program { core: 2, pattern, role: Role::Neighbour };
        let engine = Engine::new(&platform(), &[target.clone(), beside], &[], 1).unwrap();
        let windows = sampled(engine, functional(4, 500, 1000)).1.windows;
        assert_eq!(windows.iter().any(|window| window.functional_ps > 0), some, "{windows:?}");
    }
    // Nobody takes back what a program alone brought in.
    let windows = sampled(engine(mser(ImageSize::Qcif), IN_ORDER, &[], 1), functional(4, 500, 10_000)).1.windows;
    assert!(
        windows.iter().all(|window| window.functional_ps == 0 && window.warmed_ps < 700 * MICROSECOND),
        "{windows:?}"
    );
}

#[test]
fn what_cannot_be_sampled_is_refused() {
    let refused = |pattern: Pattern, role, sampling| {
        let program = Program { core: IN_ORDER, pattern, role };
        let mut engine = Engine::new(&platform(), &[program], &[], 1).unwrap();
        engine.sample(sampling).unwrap_err().to_string()
    };
    let tick = refused(Pattern::Tick { body: TickBody::Nothing }, Role::Target, sampling(1, 1, 0));
    assert!(tick.contains("is no trace"), "{tick}");
    let throughput = refused(mser(ImageSize::Sqcif), Role::Throughput, sampling(1, 1, 0));
    assert!(throughput.contains("takes samples"), "{throughput}");
    for nothing in [sampling(0, 1, 0), sampling(1, 0, 0)] {
        assert!(refused(mser(ImageSize::Sqcif), Role::Target, nothing).contains("or more"));
    }
    let accesses = mser(ImageSize::Sqcif).pass_length().unwrap().accesses;
    let too_long = refused(mser(ImageSize::Sqcif), Role::Target, sampling(10, accesses / 10 + 1, 0));
    assert!(too_long.contains(&format!("of {} they would", accesses / 10)), "{too_long}");
    assert!(refused(mser(ImageSize::Sqcif), Role::Target, sampling(u64::MAX, u64::MAX, 0)).contains("do not fit"));
}
