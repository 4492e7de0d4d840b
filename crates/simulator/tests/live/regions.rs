//! Pseudo-locked regions.

use waykeeper_simulator::Engine;
use waykeeper_workload::{Operation, Pattern};

use crate::common::{MILLISECOND, chase, idle, neighbour, run, stream, target};

fn reads(engine: &Engine, core: u32) -> u64 {
    engine.core_counters(core).unwrap().memory_reads
}

/// Reads 96 KiB now and then: what the first level does not hold is old by then.
fn now_and_then() -> Pattern {
    Pattern::Buffer { bytes: 96 << 10, stride: 64, operation: Operation::Read, period_ns: 2_000_000.0, offset_ns: None }
}

/// A target beside a neighbour on the same second level that reads far more than it holds.
fn beside_a_stream(engine: &mut Engine, start: impl FnOnce(&mut Engine)) -> u64 {
    engine.start_program(neighbour(1, stream(Operation::Read, 8 << 20))).unwrap();
    start(engine);
    run(engine, 20 * MILLISECOND);
    let before = reads(engine, 0);
    run(engine, 20 * MILLISECOND);
    reads(engine, 0) - before
}

#[test]
fn a_program_in_a_locked_region_never_reads_its_buffer_from_memory() {
    let mut open = idle("apollo-lake-e3950", 1);
    let unlocked = beside_a_stream(&mut open, |engine| {
        engine.start_program(target(0, now_and_then())).unwrap();
    });
    // 10 times 1536 lines.
    assert!(unlocked > 14_000, "{unlocked}");
    let mut engine = idle("apollo-lake-e3950", 1);
    // One group of 8 is 128 KiB in 2048 lines.
    let region = engine.lock_region(2, 0, 0b1000_0000).unwrap();
    assert_eq!(engine.region_lines(region), (2048, 2048));
    assert_eq!(engine.monitored(2, 0, 0).unwrap().occupancy_bytes, 128 << 10);
    let locked = beside_a_stream(&mut engine, |engine| {
        engine.start_program_in(target(0, now_and_then()), region).unwrap();
    });
    // What is left are its code, its stack, its recorder and its page tables.
    assert!(locked * 50 < unlocked, "{locked} of {unlocked}");
}

#[test]
fn an_unlocked_region_gives_its_ways_back() {
    let mut engine = idle("apollo-lake-e3950", 1);
    engine.set_core_class(1, 2, 2).unwrap();
    engine.start_program(neighbour(1, stream(Operation::Read, 8 << 20))).unwrap();
    let region = engine.lock_region(2, 0, 0b0000_0011).unwrap();
    run(&mut engine, 10 * MILLISECOND);
    let held = |engine: &Engine, monitor| engine.monitored(2, 0, monitor).unwrap().occupancy_bytes;
    assert_eq!((held(&engine, 0), held(&engine, 2)), (256 << 10, 768 << 10));
    // A mask over the region's ways is taken, and holds for what is not locked.
    engine.set_class_ways(2, 0, 2, 0b0000_0111, 0b0000_0111).unwrap();
    run(&mut engine, 10 * MILLISECOND);
    assert_eq!((held(&engine, 0), held(&engine, 2)), (256 << 10, 768 << 10), "other ways keep what they have");
    engine.unlock_region(region);
    engine.unlock_region(region);
    assert_eq!(held(&engine, 0), 256 << 10, "lines stay");
    run(&mut engine, 10 * MILLISECOND);
    assert_eq!((held(&engine, 0), held(&engine, 2)), (0, 1 << 20));
}

#[test]
fn regions_that_cannot_be_are_refused_and_leave_nothing_behind() {
    let mut engine = idle("apollo-lake-e3950", 1);
    let region = engine.lock_region(2, 0, 0b11).unwrap();
    assert!(engine.lock_region(2, 1, 0b110).unwrap_err().why.contains("another region"));
    assert!(engine.lock_region(2, 1, 0b1111_1100).unwrap_err().why.contains("no way left"));
    let other = engine.lock_region(2, 1, 0b1000).unwrap();
    // The other module's cache has ways of its own.
    engine.lock_region(2, 2, 0b1111).unwrap();
    let too_large = engine.start_program_in(target(0, chase(512 << 10)), region).unwrap_err();
    assert!(too_large.why.contains("does not fit into the region's 262144"), "{too_large}");
    engine.start_program_in(target(0, chase(64 << 10)), region).unwrap();
    assert!(engine.start_program_in(target(1, chase(64 << 10)), region).unwrap_err().why.contains("core 0 uses it"));
    engine.unlock_region(other);
    assert!(engine.start_program_in(target(1, chase(64 << 10)), other).unwrap_err().why.contains("unlocked"));
    engine.stop_program(0).unwrap();
    engine.start_program_in(target(1, chase(64 << 10)), region).unwrap();
    // Exclusive and victim caches give away what is used.
    for name in ["agilex5", "xeon-d-2752ter"] {
        let error = idle(name, 1).lock_region(3, 0, 0b1).unwrap_err();
        assert!(error.why.contains("keeps no line"), "{error}");
    }
}

#[test]
fn memory_of_an_unlocked_region_is_not_given_to_others_while_a_program_is_in_it() {
    let mut engine = idle("apollo-lake-e3950", 1);
    for _ in 0..200 {
        let region = engine.lock_region(2, 0, 0b11).unwrap();
        engine.start_program_in(target(0, chase(64 << 10)), region).unwrap();
        engine.unlock_region(region);
        engine.stop_program(0).unwrap();
    }
}
