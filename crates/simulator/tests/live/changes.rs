//! Any sequence of changes: it is the same twice, whatever is counted adds up, and nothing is left outstanding.

use proptest::prelude::*;
use waykeeper_simulator::observe::label::MOST_MONITORS;
use waykeeper_simulator::{Counters, Engine};
use waykeeper_workload::Operation;

use crate::common::{LINE, Log, MICROSECOND, chase, drain, latency_loop, neighbour, platform, run, stream, target};

#[derive(Debug, Clone)]
enum Change {
    Start { core: u32, kind: u8 },
    Stop { core: u32 },
    Class { core: u32, class: u8, monitor: u8 },
    Ways { core: u32, class: u8, data: u64, code: u64 },
    Lock { core: u32, groups: u64 },
    Unlock { which: usize },
    Run { microseconds: u64 },
}

fn change() -> impl Strategy<Value = Change> {
    let core = || 0..4u32;
    prop_oneof![
        4 => (core(), 0..6u8).prop_map(|(core, kind)| Change::Start { core, kind }),
        2 => core().prop_map(|core| Change::Stop { core }),
        2 => (core(), 0..4u8, 0..8u8).prop_map(|(core, class, monitor)| Change::Class { core, class, monitor }),
        2 => (core(), 0..4u8, 0..256u64, 1..256u64)
            .prop_map(|(core, class, data, code)| Change::Ways { core, class, data, code }),
        1 => (core(), 1..256u64).prop_map(|(core, groups)| Change::Lock { core, groups: groups & (groups >> 2) }),
        1 => (0..8usize).prop_map(|which| Change::Unlock { which }),
        6 => (1..60u64).prop_map(|microseconds| Change::Run { microseconds }),
    ]
}

/// Makes changes, those that are refused left out; gives the samples and what was counted in the end.
fn follow(name: &str, level: u8, seed: u64, changes: &[Change], pieces: u64) -> (Log, Counters, Engine) {
    let mut engine = Engine::idle(&platform(name), seed).unwrap();
    let mut log = Log::default();
    let mut regions = Vec::new();
    for change in changes {
        match *change {
            Change::Start { core, kind } => {
                let program = match kind {
                    0 => neighbour(core, stream(Operation::Modify, 1 << 20)),
                    1 => neighbour(core, stream(Operation::Read, 2 << 20)),
                    2 => target(core, latency_loop()),
                    3 => target(core, chase(512 << 10)),
                    _ => neighbour(core, chase(32 << 10)),
                };
                let _ = match regions.last() {
                    Some(region) if kind == 5 => engine.start_program_in(program, *region),
                    _ => engine.start_program(program),
                };
            }
            Change::Stop { core } => drop(engine.stop_program(core)),
            Change::Class { core, class, monitor } => engine.set_core_class(core, class, monitor).unwrap(),
            Change::Ways { core, class, data, code } => drop(engine.set_class_ways(level, core, class, data, code)),
            Change::Lock { core, groups } => regions.extend(engine.lock_region(level, core, groups)),
            Change::Unlock { which } if which < regions.len() => engine.unlock_region(regions.remove(which)),
            Change::Unlock { .. } => {}
            Change::Run { microseconds } => {
                let until = engine.now_ps() + microseconds * MICROSECOND;
                let step = microseconds * MICROSECOND / pieces;
                (0..pieces).rev().for_each(|left| engine.advance(until - left * step, &mut log));
            }
        }
        let cores = if level == 2 { vec![0, 2] } else { vec![0] };
        for core in cores {
            let held = (0..MOST_MONITORS as u8).map(|at| engine.monitored(level, core, at).unwrap().occupancy_bytes);
            let lines: u64 = engine.occupancy(level, core).unwrap().iter().sum();
            assert_eq!(held.sum::<u64>(), lines * LINE, "{change:?}");
        }
    }
    (0..4).for_each(|core| drop(engine.stop_program(core)));
    drain(&mut engine);
    (log, engine.counters(), engine)
}

fn sum_of(log: &Log) -> (u64, u64) {
    log.0.iter().fold((0, 0), |(ticks, count), sample| (ticks + sample.1 * sample.2, count + sample.2))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_changes_is_the_same_twice_and_adds_up(
        changes in prop::collection::vec(change(), 1..60),
        seed: u64,
        place in 0..2usize,
    ) {
        let (name, level) = [("apollo-lake-e3950", 2), ("agilex5", 3)][place];
        let (log, counters, mut engine) = follow(name, level, seed, &changes, 1);
        let (same, same_counters, _) = follow(name, level, seed, &changes, 1);
        prop_assert_eq!(&log, &same);
        prop_assert_eq!(&counters, &same_counters);
        // Where time is cut does not matter, but for how quiet stretches are told.
        let (cut, cut_counters, _) = follow(name, level, seed, &changes, 3);
        prop_assert_eq!(sum_of(&log), sum_of(&cut));
        prop_assert_eq!(&counters, &cut_counters);
        for (core, counts) in &counters.cores {
            prop_assert_eq!(counts.memory_reads * LINE, counts.bytes_from_memory, "core {}", core);
        }
        let caches: &[u32] = if level == 2 { &[0, 2] } else { &[0] };
        let monitors = caches.iter().flat_map(|core| (0..MOST_MONITORS as u8).map(move |at| (*core, at)));
        let moved: u64 = monitors.map(|(core, at)| engine.monitored(level, core, at).unwrap().total_bytes).sum();
        let memory = counters.memory;
        let checks = memory.check_reads;
        prop_assert_eq!(moved, (memory.reads + memory.writes - checks) * LINE);
        // Nothing goes on any more.
        run(&mut engine, 50 * MICROSECOND);
        prop_assert_eq!(engine.counters().cores, counters.cores);
    }
}
