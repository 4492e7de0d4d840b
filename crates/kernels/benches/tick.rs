//! What one sample of `tick` costs, and how much of that is the recording.

use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use waykeeper_kernels::{Kernel, MappedMemory, Recorder, clock};
use waykeeper_workload::{Pattern, TickBody};

/// Mean time of one pass of the loop itself: all samples of a run of criterion's choice of length.
fn tick_sample(criterion: &mut Criterion) {
    let clock = clock::measure();
    let mut kernel =
        Kernel::new(&Pattern::Tick { body: TickBody::Nothing }, MappedMemory::none(), 1).expect("a plain tick");
    let mut recorder = Recorder::new_boxed();
    criterion.bench_function("tick sample", |bencher| {
        bencher.iter_custom(|samples| {
            recorder.reset(u64::MAX, 0);
            let mut ticks = 0;
            while recorder.samples() < samples {
                kernel.run_target(&mut recorder, clock::now() + 100_000, &AtomicU32::new(0));
                ticks = recorder.sum();
            }
            let mean_s = ticks as f64 / recorder.samples() as f64 / clock.frequency_hz;
            Duration::from_secs_f64(mean_s * samples as f64)
        });
    });
}

unsafe extern "C" {
    /// The ticks that a loop of so many readings takes.
    safe fn wk_entry_readings(times: u64) -> u64;
}

/// The same loop with nothing recorded: the difference to `tick sample` is what the recording costs in the loop.
fn reading(criterion: &mut Criterion) {
    let frequency_hz = clock::measure().frequency_hz;
    criterion.bench_function("counter reading", |bencher| {
        bencher.iter_custom(|times| Duration::from_secs_f64(wk_entry_readings(times) as f64 / frequency_hz));
    });
}

/// Recording one quiet sample through a function call, with no counter to wait for.
fn recording(criterion: &mut Criterion) {
    let mut recorder = Recorder::new_boxed();
    recorder.reset(1000, 0);
    recorder.record(0, 1);
    recorder.record(0, 200);
    let mut start = 0;
    criterion.bench_function("recording", |bencher| {
        bencher.iter(|| {
            start += 100;
            recorder.record(black_box(start), black_box(start + 60))
        });
    });
}

criterion_group!(benches, tick_sample, reading, recording);
criterion_main!(benches);
