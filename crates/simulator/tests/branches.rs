//! Branches of whole programs that the core did not foresee.

use waykeeper_platform::{CoreId, Param, Platform, find_bundled};
use waykeeper_simulator::{Engine, Program, Role, Samples};
use waykeeper_workload::{CacheShape, CacheShapes, ImageSize, Pattern, ProgramName, Step, Trace, Workload};

const MICROSECOND: u64 = 1_000_000;
const IN_ORDER: CoreId = 1;
const OUT_OF_ORDER: CoreId = 11;

#[derive(Default)]
struct Log(Vec<u64>);

impl Samples for Log {
    fn record(&mut self, ticks: u64, count: u64, _at_ps: u64) {
        (0..count).for_each(|_| self.0.push(ticks));
    }
}

fn mser() -> Pattern {
    let caches = CacheShapes(vec![CacheShape { level: 1, size_bytes: 32 << 10, ways: 4, line_bytes: 64 }]);
    let (program, size) = (Some(ProgramName::Mser), Some(ImageSize::Sqcif));
    let trace = Trace { title: None, program, size, seed: None, shifts: None, file: None };
    Workload::Trace(trace).resolve(&caches).unwrap()
}

/// Branches of the second pass that are not foreseen.
fn not_foreseen() -> u64 {
    let second = mser().stream(0).skip_while(|step| *step != Step::End).skip(1).take_while(|step| *step != Step::End);
    second.filter(|step| matches!(step, Step::Mispredicted { .. })).count() as u64
}

/// Picoseconds of the second pass, alone: everything it needs is in the caches.
fn second_pass(core: CoreId, cycles: Option<u64>, change: impl Fn(&mut Platform)) -> u64 {
    let mut platform = Platform::from_toml(find_bundled("cd8180").unwrap().text, "platforms/cd8180.toml").unwrap();
    platform.counter.as_mut().unwrap().tick_ns.value = 0.001;
    for kind in &mut platform.cores {
        kind.misprediction_cycles = cycles.map(|cycles| Param::documented(cycles, "test"));
    }
    change(&mut platform);
    let target = Program { core, pattern: mser(), role: Role::Target };
    let mut engine = Engine::new(&platform, &[target], &[], 3).unwrap();
    let mut log = Log::default();
    for slice in 1..10_000 {
        engine.advance(slice * 100 * MICROSECOND, &mut log);
        if let Some(ticks) = log.0.get(1) {
            return *ticks;
        }
    }
    panic!("no two passes ended in a second");
}

/// Loads stop the core, and nothing overlaps: each branch that was not foreseen adds its cycles, and nothing else changes.
#[test]
fn in_order_each_adds_its_cycles() {
    let plain = |platform: &mut Platform| {
        for kind in &mut platform.cores {
            (kind.first_use_instructions, kind.store_buffer_entries, kind.write_streaming) = (None, None, None);
            kind.prefetchers.clear();
        }
    };
    let [none, twenty, forty] = [Some(0), Some(20), Some(40)].map(|cycles| second_pass(IN_ORDER, cycles, plain));
    // 1.8 GHz: 555.6 ps a cycle, 556 in whole picoseconds.
    let expected = (not_foreseen() * 20 * 556) as f64;
    for added in [twenty - none, forty - twenty] {
        // Stores go on beside the core, and find less to do when it stands longer.
        assert!((added as f64 / expected - 1.0).abs() < 0.02, "{added} for {expected}");
    }
}

/// What an out-of-order core began behind such a branch was in vain: it waits for the branch's load first.
#[test]
fn out_of_order_a_core_does_not_run_past_one() {
    let pass = |cycles| second_pass(OUT_OF_ORDER, cycles, |_| {});
    let [foreseen, free, eleven] = [None, Some(0), Some(11)].map(pass);
    let at_once = second_pass(OUT_OF_ORDER, None, |platform| {
        for kind in &mut platform.cores {
            if let Some(window) = &mut kind.window_instructions {
                window.value = 1;
            }
        }
    });
    // 2.6 GHz: 385 ps a cycle. A core that stops at every load that misses waits for none of those branches longer than
    // for a hit of the first level, 4 cycles.
    let most = at_once + not_foreseen() * 4 * 385;
    assert!(foreseen < free && free <= most, "{foreseen}, {free}, {most}");
    // Stores and prefetches go on meanwhile, so that not every cycle is lost.
    let most = not_foreseen() * 11 * 385;
    assert!((most / 2..=most).contains(&(eleven - free)), "{} of {most}", eleven - free);
}
