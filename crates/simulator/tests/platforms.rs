//! Every bundled platform under every kind of pattern and every one of its mitigations.

use waykeeper_platform::{Index, Lock, Locked, Mitigation, Param, Platform, Settings, bundled, find_bundled};
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Loop, Operation, Order, Pattern, TickBody};

const MICROSECOND: u64 = 1_000_000;

#[derive(Default, Debug, PartialEq)]
struct Log(Vec<(u64, u64)>);

impl SampleReceiver for Log {
    fn record(&mut self, ticks: u64, count: u64, _at_ps: u64) {
        self.0.push((ticks, count));
    }
}

fn platform(name: &str) -> Platform {
    Platform::from_toml(find_bundled(name).unwrap().text, name).unwrap()
}

fn walk(operation: Operation, outer: (u64, u64), inner: (u64, u64)) -> Pattern {
    let [outer, inner] = [outer, inner].map(|(count, stride)| Loop { count, stride });
    Pattern::Walk { operation, outer, inner }
}

fn buffer() -> Pattern {
    Pattern::Buffer { bytes: 128 << 10, stride: 32, operation: Operation::Read, period_ns: 50_000.0, offset_ns: None }
}

/// 128 lines: an in-order core that waits 300 ns for each has its sample in 40 us.
fn small_buffer() -> Pattern {
    Pattern::Buffer { bytes: 8 << 10, stride: 32, operation: Operation::Read, period_ns: 50_000.0, offset_ns: None }
}

fn event(line_bytes: u64) -> Pattern {
    event_after(64, 16, line_bytes)
}

fn event_after(data_accesses: u64, code_calls: u64, line_bytes: u64) -> Pattern {
    Pattern::Random {
        data_bytes: 2 << 20,
        data_accesses,
        data_modifies: 0,
        random_counts: false,
        code_bytes: 256 << 10,
        code_calls,
        event_data_lines: 3,
        event_code_lines: 12,
        event_device_pages: 0,
        event_stride_lines: 1,
        line_bytes,
    }
}

fn patterns(line_bytes: u64) -> Vec<Pattern> {
    vec![
        Pattern::Tick { body: TickBody::Nothing },
        event(line_bytes),
        small_buffer(),
        Pattern::Chase { elements: 1 << 16, stride: 64, order: Order::Random, batch: 16 },
        walk(Operation::Read, (4096, 4096), (64, 64)),
        walk(Operation::Write, (4096, 4096), (512, 8)),
        walk(Operation::Modify, (64, 64), (32, 1 << 20)),
        walk(Operation::Prefetch, (4096, 4096), (64, 64)),
    ]
}

#[test]
fn every_pattern_runs_on_every_kind_of_core_beside_others() {
    for file in bundled() {
        let platform = platform(file.name);
        let (cores, patterns) = (platform.core_ids(), patterns(platform.line_bytes.value));
        for kind in &platform.cores {
            for (index, pattern) in patterns.iter().enumerate() {
                let target = kind.ids[0];
                let mut programs = vec![Program { core: target, pattern: pattern.clone(), role: Role::Target }];
                for (at, core) in cores.iter().filter(|core| **core != target).enumerate() {
                    let pattern = patterns[(index + at) % patterns.len()].clone();
                    programs.push(Program { core: *core, pattern, role: Role::Neighbour });
                }
                let run = || {
                    let mut engine = Engine::new(&platform, &programs, &[], 3).unwrap();
                    let mut log = Log::default();
                    engine.advance(250 * MICROSECOND, &mut log);
                    assert_eq!(engine.now_ps(), 250 * MICROSECOND);
                    (log, engine.counters())
                };
                let (log, counters) = run();
                assert!(!log.0.is_empty(), "{}: no sample of {pattern:?} on core {target}", file.name);
                for (core, counts) in &counters.cores {
                    assert!(
                        counts.accesses > 0,
                        "{}: {pattern:?} on core {target}: core {core} stands still",
                        file.name
                    );
                }
                if index < 2 {
                    assert_eq!(run(), (log, counters), "{}: {pattern:?} on core {target} twice", file.name);
                }
            }
        }
    }
}

#[test]
fn every_mitigation_of_every_platform_can_be_set() {
    for file in bundled() {
        let platform = platform(file.name);
        for (name, mitigation) in &platform.mitigations {
            let pattern = match &mitigation.set.lock {
                Some(lock) if lock.what == Locked::Buffer => buffer(),
                _ => event(platform.line_bytes.value),
            };
            let target = platform.core_ids()[0];
            let program = Program { core: target, pattern, role: Role::Target };
            match Engine::new(&platform, &[program], &[name], 1) {
                Ok(mut engine) => engine.advance(10 * MICROSECOND, &mut Log::default()),
                Err(refused) => panic!("{} {name}: {refused}", file.name),
            }
        }
    }
}

#[test]
fn a_lock_that_cannot_be_had_says_why() {
    let refused = |name: &str, (level, group): (u8, u8)| {
        let mut platform = platform(name);
        let lock = Lock { level, groups: vec![group], what: Locked::Buffer, lines: None };
        let set = Settings { lock: Some(lock), ..Settings::default() };
        platform.mitigations.insert("lock".into(), Mitigation { title: "lock".into(), set });
        let program = Program { core: platform.core_ids()[0], pattern: buffer(), role: Role::Target };
        Engine::new(&platform, &[program], &["lock"], 1).unwrap_err().to_string()
    };
    // 128 KiB; a way of the PL310 holds 64, and the DSU's cache is exclusive.
    assert!(refused("zynq7000", (2, 7)).contains("they are 128 KiB, and these groups hold 64"));
    assert!(refused("agilex5", (3, 0)).contains("gives away the lines that are used"));
}

#[test]
fn a_buffer_of_the_size_of_its_ways_is_locked_in_a_hashed_cache_wherever_it_lies() {
    let mut platform = platform("apollo-lake-e3950");
    for (hashed, slices) in [(true, 1), (true, 2), (false, 4)] {
        let param = |value| Param::documented(value, "test");
        let index = Index { slices: Some(param(slices)), hashed: Param::documented(hashed, "test") };
        platform.shared_caches.iter_mut().for_each(|cache| cache.index = Some(index.clone()));
        for seed in 1..=8 {
            let program = Program { core: 0, pattern: buffer(), role: Role::Target };
            let engine = Engine::new(&platform, &[program], &["pseudo-lock"], seed);
            assert!(engine.is_ok(), "hashed {hashed}, {slices} slices, seed {seed}: {}", engine.unwrap_err());
        }
    }
}

/// Core 0 walks its buffer beside core 1, which modifies 1 MiB at random places of the same L2.
fn availability(mitigations: &[&str]) -> u64 {
    let platform = platform("apollo-lake-e3950");
    let noise = Pattern::Random {
        data_bytes: 1 << 20,
        data_accesses: 1000,
        data_modifies: 0,
        random_counts: false,
        code_bytes: 64,
        code_calls: 0,
        event_data_lines: 0,
        event_code_lines: 0,
        event_device_pages: 0,
        event_stride_lines: 1,
        line_bytes: 64,
    };
    let mut programs = vec![Program { core: 0, pattern: buffer(), role: Role::Target }];
    if mitigations != ["alone"] {
        programs.push(Program { core: 1, pattern: noise, role: Role::Neighbour });
    }
    let mitigations = if mitigations == ["alone"] { &[] } else { mitigations };
    let mut engine = Engine::new(&platform, &programs, mitigations, 1).unwrap();
    // The first pass fills the cache.
    engine.advance(1000 * MICROSECOND, &mut Log::default());
    let misses = |engine: &Engine| engine.counters().front(0).unwrap().sample_memory_reads;
    let before = misses(&engine);
    engine.advance(6000 * MICROSECOND, &mut Log::default());
    misses(&engine) - before
}

#[test]
fn a_pseudo_locked_buffer_never_misses_beside_a_stressor() {
    let lines = 100 * 2048;
    let (alone, none, locked) = (availability(&["alone"]), availability(&[]), availability(&["pseudo-lock"]));
    assert_eq!((alone, locked), (0, 0));
    assert!(none > lines / 20, "{none} of {lines}");
    // A quarter of a megabyte for 128 KiB on random pages is not much; half of the cache is.
    let (one, four) = (availability(&["one-segment"]), availability(&["four-segments"]));
    assert!(four < one && four < none, "{none}, {one} and {four}");
}

#[test]
fn locked_lines_and_on_chip_ram_bound_an_events_time() {
    let platform = platform("zynq7000");
    let kind = &platform.cores[0];
    let base = kind.event.as_ref().unwrap().base_cycles.value as f64 / kind.clock_ghz.as_ref().unwrap().value;
    let longest = |mitigations: &[&str]| {
        // The background reads 8192 lines of 65,536 and calls into 4096 of 8192: a line of the handler stays in the first
        // level with a chance of (1023 / 1024)^4096, 2 %, and in the L2's 16,384 lines for two events at most.
        let program = Program { core: 0, pattern: event_after(8192, 4096, 32), role: Role::Target };
        let mut engine = Engine::new(&platform, &[program], mitigations, 1).unwrap();
        engine.advance(2000 * MICROSECOND, &mut Log::default());
        let mut log = Log::default();
        engine.advance(60_000 * MICROSECOND, &mut log);
        let counters = engine.counters();
        let ticks = log.0.iter().map(|(ticks, _)| *ticks).max().unwrap();
        (
            ticks as f64 * engine.tick_ns(),
            counters.front(0).unwrap().sample_memory_reads,
            counters.core(0).unwrap().on_chip_reads,
        )
    };
    let (none, misses, _) = longest(&[]);
    // Once all 12 lines of code come from the memory one after the other: 63 ns of crossing and 13.1 + 7.5 ns in an open
    // row are 84 ns each.
    assert!(none > base + 12.0 * 84.0 && misses > 0, "{none} ns, {misses} misses");
    // 15 lines of 31 ns at most, and what they take from the first level.
    let (locked, misses, _) = longest(&["tlb", "l2-lock-all"]);
    assert!(locked < base + 15.0 * 31.0 + 15.0 * 5.0 && misses == 0, "{locked} ns, {misses} misses");
    let (on_chip, misses, reads) = longest(&["tlb", "on-chip-ram"]);
    assert!(on_chip < base + 15.0 * 31.0 + 15.0 * 5.0 && misses == 0 && reads > 0, "{on_chip} ns, {misses} misses");
    // Three of the lines are not locked.
    let (most, misses, _) = longest(&["tlb", "l2-lock"]);
    assert!(most > locked && most < none && misses > 0, "{most} ns, {misses} misses");
}
