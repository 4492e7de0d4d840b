//! Classes and monitors while programs run.

use waykeeper_platform::{BandwidthControl, BandwidthScheme, Param, Settings};
use waykeeper_simulator::Engine;
use waykeeper_simulator::observe::label::{MOST_CLASSES, MOST_MONITORS};
use waykeeper_workload::Operation;

use crate::common::{LINE, MICROSECOND, MILLISECOND, chase, drain, idle, neighbour, run, stream, target};

fn occupancy(engine: &Engine, level: u8, core: u32, monitor: u8) -> u64 {
    engine.monitored(level, core, monitor).unwrap().occupancy_bytes
}

#[test]
fn a_core_that_changes_class_while_it_runs_fills_other_ways_from_then_on() {
    // 1 MiB in 8 groups of 128 KiB. Both cores of the module run over more than that.
    let mut engine = idle("apollo-lake-e3950", 1);
    engine.set_class_ways(2, 0, 1, 0b0000_0001, 0b0000_0001).unwrap();
    engine.set_class_ways(2, 0, 2, 0b0000_1110, 0b0000_1110).unwrap();
    engine.set_class_ways(2, 0, 3, 0b1111_0000, 0b1111_0000).unwrap();
    engine.set_core_class(0, 1, 1).unwrap();
    engine.set_core_class(1, 3, 3).unwrap();
    (0..2).for_each(|core| engine.start_program(neighbour(core, stream(Operation::Read, 4 << 20))).unwrap());
    run(&mut engine, 10 * MILLISECOND);
    let group = 128 << 10;
    let shares = |engine: &Engine| [1, 2, 3].map(|monitor| occupancy(engine, 2, 0, monitor));
    // Page walks and the few lines of code fill no more than the same ways, which the streams keep full.
    assert_eq!(shares(&engine), [group, 0, 4 * group]);
    engine.set_core_class(0, 2, 2).unwrap();
    assert_eq!((shares(&engine), engine.core_class(0)), ([group, 0, 4 * group], Some((2, 2))));
    run(&mut engine, 10 * MILLISECOND);
    // Nobody fills the ways of class 1 any more: its lines stay.
    assert_eq!(shares(&engine), [group, 3 * group, 4 * group]);
    // Another class over its ways: the lines go as others come.
    engine.set_class_ways(2, 1, 3, 0b1111_0001, 0b1111_0001).unwrap();
    run(&mut engine, 10 * MILLISECOND);
    assert_eq!(shares(&engine), [0, 3 * group, 5 * group]);
}

#[test]
fn what_monitors_count_of_the_bandwidth_is_what_the_memory_reads_and_writes() {
    // No check bits, no cache at the memory's side: every line that is asked for is read or written once.
    for name in ["apollo-lake-e3950", "xeon-d-2752ter", "zynq7000", "rk3588"] {
        let mut engine = idle(name, 7);
        for round in 0..12u8 {
            let core = u32::from(round % 2);
            engine.set_core_class(core, round % 4, 10 + round % 5).unwrap();
            if engine.is_busy(core) {
                engine.stop_program(core).unwrap();
            }
            let operation = [Operation::Modify, Operation::Read, Operation::Write][usize::from(round % 3)];
            engine.start_program(neighbour(core, stream(operation, 3 << 20))).unwrap();
            run(&mut engine, 300 * MICROSECOND);
        }
        (0..2).for_each(|core| engine.stop_program(core).unwrap());
        drain(&mut engine);
        let counters = engine.counters();
        let level = if name == "apollo-lake-e3950" || name == "zynq7000" { 2 } else { 3 };
        let line = if name == "zynq7000" { 32 } else { LINE };
        let by_monitor: Vec<_> =
            (0..MOST_MONITORS as u8).map(|monitor| engine.monitored(level, 0, monitor).unwrap()).collect();
        let total: u64 = by_monitor.iter().map(|counts| counts.total_bytes).sum();
        assert_eq!(total, (counters.memory.reads + counters.memory.writes) * line, "{name}");
        assert!(by_monitor[10..15].iter().all(|counts| counts.total_bytes > 10_000), "{name}");
        assert!(by_monitor.iter().all(|counts| counts.local_bytes == counts.total_bytes));
        let held: u64 = by_monitor.iter().map(|counts| counts.occupancy_bytes).sum();
        let by_class: u64 = engine.occupancy(level, 0).unwrap().iter().sum();
        assert_eq!(held, by_class * line, "{name}");
    }
}

#[test]
fn every_instance_of_a_cache_has_its_own_masks_and_counts() {
    let mut engine = idle("apollo-lake-e3950", 1);
    engine.set_class_ways(2, 2, 0, 0b0000_0001, 0b0000_0001).unwrap();
    for core in [0, 2] {
        engine.start_program(neighbour(core, stream(Operation::Read, 4 << 20))).unwrap();
    }
    run(&mut engine, 10 * MILLISECOND);
    assert_eq!((occupancy(&engine, 2, 1, 0), occupancy(&engine, 2, 3, 0)), (1 << 20, 128 << 10));
    let [first, second] = [0, 3].map(|core| engine.monitored(2, core, 0).unwrap().total_bytes);
    let reads = [0, 2].map(|core| engine.core_counters(core).unwrap().memory_reads * LINE);
    assert_eq!([first, second], reads, "nothing is written");
}

#[test]
fn a_share_of_the_bandwidth_holds_for_a_class_and_the_others_are_not_bounded() {
    // Intel's delay: 90 steps of 10 ns below the full share put 900 ns before every request.
    let mut platform = crate::common::platform("xeon-d-2752ter");
    let stride = crate::common::platform("cd8180").shared_caches[0].bandwidth_control.clone().unwrap();
    let step = Param { value: 10.0, ..platform.shared_caches[0].hit_ns.clone().unwrap() };
    let mut control = BandwidthControl { delay_step_ns: Some(step), ..stride };
    (control.scheme.value, control.steps.value) = (BandwidthScheme::Delay, 100);
    platform.shared_caches[0].bandwidth_control = Some(control);
    let mut engine = Engine::idle(&platform, 1).unwrap();
    // What is set for all cores holds for programs that start later.
    engine.set_control(&Settings { prefetchers: Some(false), ..Settings::default() }).unwrap();
    for (core, class) in [(0, 1), (1, 2)] {
        engine.set_core_class(core, class, class).unwrap();
        engine.start_program(target(core, chase(16 << 20))).unwrap();
    }
    run(&mut engine, MILLISECOND);
    // Caches fill all the while, so an engine without bounds is asked at the same times.
    let mut free = engine.clone();
    let mut both = |engine: &mut Engine| {
        [engine, &mut free].map(|engine| {
            run(engine, MILLISECOND);
            run(engine, 2 * MILLISECOND)
        })
    };
    engine.set_class_bandwidth(1, 10).unwrap();
    let [bounded, unbounded] = both(&mut engine);
    // 64 loads that depend on each other. None comes a second time so soon, so all are from memory; page tables are not.
    let ns = (bounded.mean(0) - unbounded.mean(0)) * engine.tick_ns() / 64.0;
    assert!((880.0..1000.0).contains(&ns), "{ns} ns a load");
    let [one, other] = [&bounded, &unbounded].map(|log| log.mean(1));
    assert!((one / other - 1.0).abs() < 0.03, "class 2 is as before: {one} and {other}");
    engine.set_class_bandwidth(1, 100).unwrap();
    let [one, other] = both(&mut engine).map(|log| log.mean(0));
    assert!((one / other - 1.0).abs() < 0.03, "{one} and {other}");
    assert!(engine.set_class_bandwidth(1, 101).unwrap_err().why.contains("1 to 100 are"));
    let why = idle("agilex5", 1).set_class_bandwidth(1, 10).unwrap_err().why;
    assert!(why.contains("`bandwidth_control`"), "{why}");
}

#[test]
fn what_is_beyond_the_platform_is_refused() {
    let mut engine = idle("agilex5", 1);
    let mut ways = |level, core, class, mask| engine.set_class_ways(level, core, class, mask, 0b1).unwrap_err();
    assert!(ways(3, 0, 0, 0b1_0000).why.contains("the 4 of level 3"));
    assert!(ways(3, 0, 0, 0).why.contains("no set of groups"));
    assert!(ways(2, 2, 0, 0b1).why.contains("no cache of level 2 with way groups"));
    assert!(ways(3, 7, 0, 0b1).why.contains("the cores are"));
    assert_eq!(ways(3, 0, MOST_CLASSES as u8, 0b1).what, "class");
    assert_eq!(engine.set_core_class(0, MOST_CLASSES as u8, 0).unwrap_err().what, "class");
    assert_eq!(engine.set_core_class(0, 0, MOST_MONITORS as u8).unwrap_err().what, "monitor");
    assert_eq!(engine.monitored(3, 0, MOST_MONITORS as u8), None);
    assert_eq!(engine.monitored(4, 0, 0), None);
}
