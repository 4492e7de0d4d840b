//! Simulated accesses per second of wall time.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use waykeeper_platform::{Platform, find_bundled};
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Loop, Operation, Order, Pattern, TickBody};

struct Nowhere;

impl SampleReceiver for Nowhere {
    fn record(&mut self, _ticks: u64, _count: u64, _at_ps: u64) {}
}

fn walk(outer: (u64, u64), inner: (u64, u64)) -> Pattern {
    let [outer, inner] = [outer, inner].map(|(count, stride)| Loop { count, stride });
    Pattern::Walk { operation: Operation::Read, outer, inner }
}

fn neighbour(core: u32, pattern: Pattern) -> Program {
    Program { core, pattern, role: Role::Neighbour }
}

fn accesses(engine: &Engine) -> u64 {
    engine.counters().cores.iter().map(|(_, counts)| counts.accesses).sum()
}

fn platform(name: &str) -> Platform {
    Platform::from_toml(find_bundled(name).unwrap().text, name).unwrap()
}

/// The same program on every core, from a warm start.
fn on_all_cores(platform: &Platform, pattern: &Pattern) -> Vec<Program> {
    platform.core_ids().into_iter().map(|core| neighbour(core, pattern.clone())).collect()
}

fn accesses_per_second(criterion: &mut Criterion) {
    let agilex = platform("agilex5");
    let hammer = || walk((2048, 64), (64, 131_072));
    let tick = Program { core: 1, pattern: Pattern::Tick { body: TickBody::Nothing }, role: Role::Target };
    let chase = Pattern::Chase { elements: 1 << 20, stride: 64, order: Order::Random, batch: 64 };
    let cases = [
        ("walk in the first level", vec![neighbour(2, walk((8, 4096), (64, 64)))], 200_000_000),
        ("chase over 64 MiB", vec![neighbour(2, chase)], 20_000_000_000),
        (
            "way_hammer twice beside latency_loop",
            vec![tick, neighbour(2, hammer()), neighbour(3, hammer())],
            5_000_000_000,
        ),
    ];
    let cases = cases.map(|(name, programs, ps)| (name.to_string(), agilex.clone(), programs, ps));
    // Ways of a set one after the other, through 32 MiB, on platforms whose accesses take the general way.
    let general = ["zynq7000", "apollo-lake-e3950", "x7425e", "rk3588", "cd8180", "xeon-d-2752ter"].map(|name| {
        let platform = platform(name);
        let programs = on_all_cores(&platform, &walk((4096, 64), (128, 262_144)));
        (format!("{name}, all cores"), platform, programs, 200_000_000)
    });
    let mut group = criterion.benchmark_group("simulator");
    group.sample_size(10);
    for (name, platform, programs, ps) in cases.into_iter().chain(general) {
        // The engine starts warm: what is measured is the steady state.
        let mut warm = Engine::new(&platform, &programs, &[], 1).unwrap();
        warm.advance(ps, &mut Nowhere);
        let (before, until) = (accesses(&warm), warm.now_ps() + ps);
        let mut done = warm.clone();
        done.advance(until, &mut Nowhere);
        group.throughput(Throughput::Elements(accesses(&done) - before));
        group.bench_function(name, |bencher| {
            let run = |mut engine: Engine| {
                engine.advance(until, &mut Nowhere);
                black_box(engine.now_ps())
            };
            bencher.iter_batched(|| warm.clone(), run, BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, accesses_per_second);
criterion_main!(benches);
