//! Memory that outlives programs.

use waykeeper_platform::{Platform, find_bundled};
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Order, Pattern};

/// Nanoseconds of every sample.
#[derive(Default)]
struct All(Vec<u64>);

impl SampleReceiver for All {
    fn record(&mut self, ticks: u64, count: u64, _at_ps: u64) {
        self.0.extend((0..count).map(|_| ticks));
    }
}

fn platform() -> Platform {
    Platform::from_toml(find_bundled("apollo-lake-e3950").unwrap().text, "x").unwrap()
}

/// A sample is a walk through 256 KiB, which the second level of 1 MiB holds and the first one does not.
const BYTES: u64 = 256 << 10;

fn chase(core: u32) -> Program {
    let elements = BYTES / 64;
    let pattern = Pattern::Chase { elements, stride: 64, order: Order::Random, batch: elements };
    Program { core, pattern, role: Role::Target }
}

fn reads(engine: &Engine, core: u32) -> u64 {
    engine.core_counters(core).unwrap().memory_reads
}

/// Runs until the program has taken a sample.
fn one_walk(engine: &mut Engine) {
    let mut samples = All::default();
    while samples.0.is_empty() {
        let until = engine.now_ps() + 10_000_000;
        engine.advance(until, &mut samples);
    }
}

#[test]
fn a_later_program_finds_what_an_earlier_one_left_in_the_caches() {
    let mut engine = Engine::new(&platform(), &[], &[], 1).unwrap();
    let memory = engine.give_memory(1, BYTES).unwrap();
    engine.start_program_with(chase(1), memory).unwrap();
    one_walk(&mut engine);
    engine.stop_program(1).unwrap();
    let cold = reads(&engine, 1);
    // Every line of the chase came from memory once.
    assert!(cold >= BYTES / 64, "{cold}");

    engine.start_program_with(chase(1), memory).unwrap();
    one_walk(&mut engine);
    engine.stop_program(1).unwrap();
    let warm = reads(&engine, 1) - cold;
    // What the new program has of its own (code, recorder, page tables) is new; the chase is there but for lines of sets
    // that random pages fill beyond their ways.
    assert!(warm < cold / 10, "{warm} of {cold}");

    // The same on memory of its own comes from memory again.
    engine.start_program(chase(1)).unwrap();
    one_walk(&mut engine);
    assert!(reads(&engine, 1) - cold - warm >= BYTES / 64);
}

#[test]
fn memory_has_one_user_at_a_time_and_an_end() {
    let mut engine = Engine::new(&platform(), &[], &[], 1).unwrap();
    let memory = engine.give_memory(1, BYTES).unwrap();
    engine.start_program_with(chase(1), memory).unwrap();
    let refused = engine.start_program_with(chase(2), memory).unwrap_err().to_string();
    assert!(refused.contains("the program of core 1 uses it"), "{refused}");
    engine.stop_program(1).unwrap();
    let small = engine.give_memory(1, BYTES / 2).unwrap();
    let refused = engine.start_program_with(chase(1), small).unwrap_err().to_string();
    assert!(refused.contains("a buffer of 262144 bytes does not fit into 131072"), "{refused}");
    engine.take_memory_back(memory);
    assert!(engine.start_program_with(chase(2), memory).is_err());
    // What was taken back can be given again, any number of times.
    for _ in 0..100 {
        let memory = engine.give_memory(1, BYTES).unwrap();
        engine.start_program_with(chase(1), memory).unwrap();
        engine.take_memory_back(memory);
        engine.stop_program(1).unwrap();
    }
}
