//! Ways for instructions beside ways for data.

use waykeeper_platform::{Allocation, Param, Platform, Settings, WayGroups, find_bundled};
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::Pattern;

struct Nobody;

impl SampleReceiver for Nobody {
    fn record(&mut self, _ticks: u64, _count: u64, _at_ps: u64) {}
}

/// Lines of 6 MiB of code that a core calls at random.
fn calls() -> Program {
    let pattern = Pattern::Random {
        data_bytes: 4096,
        data_accesses: 1,
        data_modifies: 0,
        random_counts: false,
        code_bytes: 6 << 20,
        code_calls: 4000,
        event_data_lines: 1,
        event_code_lines: 1,
        event_device_pages: 0,
        event_stride_lines: 1,
        line_bytes: 64,
    };
    Program { core: 1, pattern, role: Role::Target }
}

/// The share of lookups in the shared cache that hit.
fn hits(allocation: Allocation, target: &[u8], target_code: &[u8]) -> f64 {
    let mut platform = Platform::from_toml(find_bundled("xeon-d-2752ter").unwrap().text, "xeon-d-2752ter").unwrap();
    platform.shared_caches[0].allocation = Some(Param::documented(allocation, "test"));
    let groups = WayGroups {
        target: target.to_vec(),
        others: vec![0],
        target_code: Some(target_code.to_vec()),
        others_code: None,
    };
    let mut engine = Engine::new(&platform, &[calls()], &[], 1).unwrap();
    engine.set_control(&Settings { way_groups: Some(groups), ..Settings::default() }).unwrap();
    engine.advance(20_000_000_000, &mut Nobody);
    let before = *engine.counters().core(1).unwrap();
    engine.advance(40_000_000_000, &mut Nobody);
    let now = *engine.counters().core(1).unwrap();
    let (hits, reads) = (now.shared_hits - before.shared_hits, now.memory_reads - before.memory_reads);
    assert!(hits + reads > 50_000, "{hits} + {reads}");
    hits as f64 / (hits + reads) as f64
}

/// One of 20 ways has 16384 sets. Of 98304 lines the second level has 20480, so that k others belong to a set, 4.75 in the
/// mean, scattered by a hash. Each of them is asked for as often as any other, and one of them comes as often: if the way
/// has one, with k in k + 1 cases, that is one of k. A hit takes it away.
fn expected() -> f64 {
    let mean: f64 = (98304.0 - 20480.0) / 16384.0;
    // The mean of k / (k + 1) of a Poisson distribution.
    (1.0 - (1.0 - (-mean).exp()) / mean) / mean
}

#[test]
fn code_that_leaves_the_second_level_fills_the_ways_for_code() {
    let all: Vec<u8> = (0..20).collect();
    for allocation in [Allocation::Victim, Allocation::ExclusiveUntilShared] {
        let few = hits(allocation, &all, &[3]);
        assert!((few / expected() - 1.0).abs() < 0.15, "{allocation:?}: {few} for {}", expected());
        let many = hits(allocation, &[3], &all);
        assert!(many > 0.95, "{allocation:?}: {many}");
    }
}
