//! Making the steps of a trace: those of a program that runs as they are asked for, and those of a file.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use waykeeper_workload::{CacheShapes, Workload, WorkloadStep, find_bundled};

fn steps(c: &mut Criterion) {
    let mut group = c.benchmark_group("steps");
    group.sample_size(10);
    for name in ["disparity_cif", "mser_cif", "disparity_vga", "mser_vga"] {
        let text = find_bundled(name).expect("it is bundled").text;
        let workload: Workload = toml::from_str(text).expect("it can be read");
        let mut stream = workload.resolve(&CacheShapes::default()).expect("it has a meaning").stream(0);
        let mut pass = || stream.by_ref().take_while(|step| *step != WorkloadStep::End).count() as u64;
        let steps = pass();
        println!("{name}: {steps} steps");
        group.throughput(Throughput::Elements(steps));
        group.bench_function(name, |b| b.iter(&mut pass));
    }
    group.finish();
}

criterion_group!(benches, steps);
criterion_main!(benches);
