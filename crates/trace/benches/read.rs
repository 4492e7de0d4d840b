//! Reading a trace from memory: records a second, for addresses that compress well and for random ones.

use std::io::Cursor;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use waykeeper_trace::{Record, RecordKind, StoredTrace, Writer};

const RECORDS: u64 = 2_000_000;

fn trace(address: impl Fn(u64) -> u64) -> StoredTrace {
    let mut writer = Writer::new(Cursor::new(Vec::new()), "bench", false).expect("memory");
    for i in 0..RECORDS {
        let kind = if i % 4 == 3 { RecordKind::Store } else { RecordKind::Load };
        let record = Record { address: address(i), gap: i % 3, bytes: 4, kind, dependent: false };
        writer.push(&record).expect("memory");
    }
    StoredTrace::from_bytes(writer.finish().expect("memory").0.into_inner()).expect("a whole trace")
}

fn read(c: &mut Criterion) {
    let mut group = c.benchmark_group("read");
    group.throughput(Throughput::Elements(RECORDS)).sample_size(20);
    let random = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 38 << 2;
    for (name, trace) in [("columns", trace(|i| i % 5 * 4_000_000 + i / 5 * 2380)), ("random", trace(random))] {
        println!("{name}: {:.2} bytes a record", trace.stored_bytes() as f64 / RECORDS as f64);
        group.bench_function(name, |b| {
            let (mut passes, mut block) = (trace.passes(), Vec::new());
            b.iter(|| {
                let mut sum = 0u64;
                loop {
                    passes.next_block(&mut block);
                    if block.is_empty() {
                        return sum;
                    }
                    sum = block.iter().fold(sum, |sum, record| sum.wrapping_add(record.address));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);
