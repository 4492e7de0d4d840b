//! Accesses per second of wall time in functional mode: with addresses made beforehand, and from a pattern's own stream.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use waykeeper_functional::{Addresses, CoreCaches, Level, PackedAccess};
use waykeeper_platform::Replacement;
use waykeeper_workload::{Loop, Operation, Order, Pattern};

const ACCESSES: usize = 1 << 20;

fn walk(operation: Operation, outer: (u64, u64), inner: (u64, u64)) -> Pattern {
    let [outer, inner] = [outer, inner].map(|(count, stride)| Loop { count, stride });
    Pattern::Walk { operation, outer, inner }
}

fn random(data_bytes: u64) -> Pattern {
    Pattern::Random {
        data_bytes,
        data_modifies: 0,
        random_counts: false,
        data_accesses: 1 << 40,
        code_bytes: 64,
        code_calls: 0,
        event_data_lines: 1,
        event_code_lines: 0,
        event_device_pages: 0,
        event_stride_lines: 1,
        line_bytes: 64,
    }
}

fn patterns() -> Vec<(&'static str, Pattern)> {
    use Operation::{Modify, Read};
    vec![
        ("walk in the first level", walk(Read, (1, 64), (512, 64))),
        ("walk in the first level, 8 bytes a step", walk(Read, (1, 64), (4096, 8))),
        ("random over 64 MiB", random(64 << 20)),
        ("random over 4 MiB", random(4 << 20)),
        ("random over 48 KiB", random(48 << 10)),
        ("way_hammer", walk(Read, (2048, 64), (64, 131_072))),
        ("way_hammer, modify", walk(Modify, (2048, 64), (64, 131_072))),
        ("chase over 64 MiB", Pattern::Chase { elements: 1 << 20, stride: 64, order: Order::Random, batch: 64 }),
    ]
}

fn hierarchy(replacement: Replacement) -> CoreCaches {
    let level = |kib: u64, ways| Level::of_bytes(kib << 10, ways, 64, replacement);
    CoreCaches::new(64, &[level(32, 4), level(256, 8), level(2048, 16)]).unwrap()
}

fn functional(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("functional");
    group.throughput(Throughput::Elements(ACCESSES as u64));
    group.sample_size(10);
    for (name, pattern) in patterns() {
        let mut made = Vec::new();
        let shape = pattern.stream(1);
        shape.clone().accesses(ACCESSES as u64, |access| {
            made.push(match access.operation {
                Operation::Write => PackedAccess::store(access.offset),
                _ => PackedAccess::load(access.offset),
            });
        });
        let mut caches = hierarchy(Replacement::Lru);
        group.bench_function(format!("{name}, made beforehand"), |bencher| {
            bencher.iter(|| caches.access(black_box(&made)));
        });
        let mut caches = hierarchy(Replacement::Lru);
        let mut addresses = Addresses::new(&pattern, 1).unwrap();
        group.bench_function(format!("{name}, from its stream"), |bencher| {
            bencher.iter(|| caches.follow(&mut addresses, black_box(ACCESSES as u64)));
        });
    }
    let mut addresses = Addresses::new(&random(4 << 20), 1).unwrap();
    for replacement in [Replacement::TreePlru, Replacement::Random, Replacement::RoundRobin] {
        let mut caches = hierarchy(replacement);
        group.bench_function(format!("random over 4 MiB, {replacement:?}"), |bencher| {
            bencher.iter(|| caches.follow(&mut addresses, black_box(ACCESSES as u64)));
        });
    }
    group.finish();
}

criterion_group!(benches, functional);
criterion_main!(benches);
