//! Branches of whole programs that the core did not foresee.

mod whole_programs;

use waykeeper_platform::{CoreId, Param, Platform};
use waykeeper_simulator::{Engine, Program, Role};
use waykeeper_workload::{ImageSize, WorkloadStep};

use whole_programs::{IN_ORDER, OUT_OF_ORDER, mser, platform, sample};

/// Branches of the second pass that are not foreseen.
fn not_foreseen() -> u64 {
    let second = mser(ImageSize::Sqcif)
        .stream(0)
        .skip_while(|step| *step != WorkloadStep::End)
        .skip(1)
        .take_while(|step| *step != WorkloadStep::End);
    second.filter(|step| matches!(step, WorkloadStep::Mispredicted { .. })).count() as u64
}

/// Picoseconds of the second pass, alone: everything it needs is in the caches.
fn second_pass(core: CoreId, cycles: Option<u64>, change: impl Fn(&mut Platform)) -> u64 {
    let mut platform = platform();
    for kind in &mut platform.cores {
        kind.misprediction_cycles = cycles.map(|cycles| Param::documented(cycles, "test"));
    }
    change(&mut platform);
    let target = Program { core, pattern: mser(ImageSize::Sqcif), role: Role::Target };
    let mut engine = Engine::new(&platform, &[target], &[], 3).unwrap();
    sample(&mut engine, 1)
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
