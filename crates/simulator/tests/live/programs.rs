//! Programs that start and stop.

use waykeeper_simulator::{Engine, Program};
use waykeeper_workload::Operation;

use crate::common::{
    LINE, Log, MICROSECOND, MILLISECOND, chase, drain, idle, latency_loop, neighbour, platform, run, stream, target,
};

fn counts(engine: &Engine, core: u32) -> waykeeper_simulator::CoreCounters {
    engine.core_counters(core).unwrap()
}

#[test]
fn an_idle_engine_does_nothing_but_pass_time() {
    let mut engine = idle("agilex5", 1);
    assert_eq!(run(&mut engine, MILLISECOND), Log::default());
    assert_eq!(engine.now_ps(), MILLISECOND);
    let counters = engine.counters();
    assert!(counters.cores.iter().all(|(_, core)| *core == Default::default()));
    assert_eq!((counters.memory.reads, counters.fronts.len()), (0, 0));
}

#[test]
fn a_program_that_starts_later_does_what_one_does_that_starts_at_once() {
    // Refreshes are the only thing that differs, and the place in memory.
    let mean = |idle_for| {
        let mut engine = idle("agilex5", 1);
        run(&mut engine, idle_for);
        engine.start_program(target(1, chase(1 << 20))).unwrap();
        run(&mut engine, 30 * MILLISECOND);
        run(&mut engine, 30 * MILLISECOND).mean(1)
    };
    let (at_once, later) = (mean(0), mean(7 * MILLISECOND));
    assert!((at_once / later - 1.0).abs() < 0.02, "{at_once} and {later}");
}

#[test]
fn a_stopped_program_asks_for_nothing_more_and_what_it_asked_for_comes() {
    for name in ["agilex5", "apollo-lake-e3950", "xeon-d-2752ter", "zynq7000"] {
        let mut engine = idle(name, 3);
        engine.start_program(neighbour(1, stream(Operation::Modify, 8 << 20))).unwrap();
        run(&mut engine, 200 * MICROSECOND);
        let before = counts(&engine, 1);
        assert!(before.memory_reads * LINE > before.bytes_from_memory, "{name}: something is outstanding");
        assert!(engine.is_busy(1));
        assert_eq!(engine.program_counters(1), Some(before), "{name}");
        engine.stop_program(1).unwrap();
        assert!(!engine.is_busy(1) && engine.program_counters(1).is_none());
        drain(&mut engine);
        let after = counts(&engine, 1);
        assert_eq!((after.accesses, after.memory_reads), (before.accesses, before.memory_reads), "{name}");
        let line = platform(name).line_bytes.value;
        assert_eq!(after.memory_reads * line, after.bytes_from_memory, "{name}: all has come");
        run(&mut engine, MILLISECOND);
        assert_eq!(counts(&engine, 1), after, "{name}");
        // The next program's counts begin at 0.
        engine.start_program(neighbour(1, stream(Operation::Read, 8 << 20))).unwrap();
        assert_eq!(engine.program_counters(1), Some(Default::default()), "{name}");
        run(&mut engine, 100 * MICROSECOND);
        let both = engine.program_counters(1).unwrap().accesses + after.accesses;
        assert_eq!(counts(&engine, 1).accesses, both, "{name}");
    }
}

#[test]
fn lines_of_a_stopped_program_stay_where_they_are() {
    let mut engine = idle("apollo-lake-e3950", 1);
    engine.set_core_class(0, 0, 9).unwrap();
    engine.start_program(neighbour(0, chase(256 << 10))).unwrap();
    run(&mut engine, 20 * MILLISECOND);
    engine.stop_program(0).unwrap();
    drain(&mut engine);
    let held = engine.monitored(2, 0, 9).unwrap().occupancy_bytes;
    assert!(held > 200 << 10, "{held}");
    run(&mut engine, 20 * MILLISECOND);
    assert_eq!(engine.monitored(2, 0, 9).unwrap().occupancy_bytes, held);
    // The core of the other module has another cache.
    assert_eq!(engine.monitored(2, 2, 9).unwrap().occupancy_bytes, 0);
}

#[test]
fn a_core_starts_again_while_memory_owes_it_lines_of_the_program_before() {
    for name in ["agilex5", "apollo-lake-e3950", "xeon-d-2752ter"] {
        let mut engine = idle(name, 5);
        for round in 0..60 {
            let program = match round % 3 {
                0 => neighbour(2, stream(Operation::Modify, 4 << 20)),
                1 => target(2, latency_loop()),
                _ => target(2, chase(4 << 20)),
            };
            engine.start_program(program).unwrap();
            run(&mut engine, (1 + round % 7) * MICROSECOND);
            engine.stop_program(2).unwrap();
        }
        drain(&mut engine);
        let after = counts(&engine, 2);
        assert!(after.memory_reads > 100, "{name}");
        assert_eq!(after.memory_reads * LINE, after.bytes_from_memory, "{name}");
    }
}

#[test]
fn memory_of_stopped_programs_is_given_to_others() {
    let mut engine = idle("zynq7000", 1);
    for round in 0..200 {
        let core = round % 2;
        engine.start_program(neighbour(core, chase(32 << 20))).unwrap();
        run(&mut engine, 2 * MICROSECOND);
        engine.stop_program(core).unwrap();
    }
    // A buffer that does not fit changes nothing: the next one has its place.
    let error = engine.start_program(neighbour(0, chase(512 << 20))).unwrap_err();
    assert_eq!(error.what, "memory.size_mib");
    assert!(!engine.is_busy(0));
    engine.start_program(neighbour(0, chase(32 << 20))).unwrap();
    // Each core has memory for a program, unless something else has taken it.
    let mut full = Engine::new(&platform("zynq7000"), &[neighbour(0, chase(1 << 20))], &[], 1).unwrap();
    full.start_program(neighbour(1, chase(1 << 20))).unwrap();
    full.stop_program(1).unwrap();
    while full.give_memory(0, 4096).is_ok() {}
    let error = full.start_program(neighbour(1, chase(1 << 20))).unwrap_err();
    assert!(error.why.contains("stop a program"), "{error}");
    full.stop_program(0).unwrap();
    full.start_program(neighbour(1, chase(1 << 20))).unwrap();
}

#[test]
fn samples_of_several_targets_are_told_apart() {
    let mut engine = idle("agilex5", 1);
    engine.start_program(target(1, latency_loop())).unwrap();
    engine.start_program(target(3, chase(16 << 10))).unwrap();
    let log = run(&mut engine, 2 * MILLISECOND);
    // 72 cycles of 0.8 ns in ticks of 2.5 ns: 23.04. 64 loads of 4 cycles of 0.714 ns: 73.1, and the loop around them.
    assert!((log.mean(1) - 23.04).abs() < 0.2, "{}", log.mean(1));
    assert!((73.0..90.0).contains(&log.mean(3)), "{}", log.mean(3));
    engine.stop_program(1).unwrap();
    let log = run(&mut engine, MILLISECOND);
    assert!(log.0.iter().all(|(core, ..)| *core == 3) && !log.0.is_empty());
}

#[test]
fn what_cannot_start_or_stop_is_refused_and_changes_nothing() {
    let mut engine = idle("agilex5", 1);
    let start = |engine: &mut Engine, program: Program| engine.start_program(program).unwrap_err();
    engine.start_program(target(1, latency_loop())).unwrap();
    let before = engine.clone();
    assert!(start(&mut engine, target(1, latency_loop())).why.contains("has a program already"));
    assert!(start(&mut engine, target(9, latency_loop())).why.contains("the cores are [0, 1, 2, 3]"));
    let command = waykeeper_workload::Pattern::Command {
        argv: vec!["stress-ng".into()],
        passes: waykeeper_workload::Passes::Process,
    };
    assert_eq!(start(&mut engine, neighbour(2, command)).what, "workload");
    assert!(engine.stop_program(2).unwrap_err().why.contains("has no program"));
    assert!(engine.explain(1, 0));
    assert!(engine.stop_program(1).unwrap_err().why.contains("explained"));
    let (mut engine, mut same) = (before.clone(), before);
    assert_eq!(run(&mut engine, MILLISECOND), run(&mut same, MILLISECOND));
}
