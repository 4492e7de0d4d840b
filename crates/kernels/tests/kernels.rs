//! Every kind of workload runs in both roles, ends when told to and counts what it did.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use waykeeper_kernels::{AccessCounter, Kernel, KernelError, MappedMemory, Recorder, clock};
use waykeeper_workload::{Loop, Operation, Order, Pattern, TickBody, WakeupFigure};

/// Page-aligned memory that outlives the kernels of one test.
#[derive(Clone)]
#[repr(align(4096))]
struct Page {
    bytes: [u8; 4096],
}

fn memory(pages: &mut [Page]) -> MappedMemory {
    // SAFETY: every test gives its pages to one kernel and drops that first.
    unsafe { MappedMemory::new(pages.as_mut_ptr().cast(), size_of_val(pages)) }
}

fn pages() -> Vec<Page> {
    vec![Page { bytes: [0; 4096] }; 16]
}

/// One small pattern of every kind and operation, with its accesses in one sample.
fn patterns() -> Vec<(Pattern, u64)> {
    let mut patterns = vec![
        (Pattern::Chase { elements: 100, stride: 64, order: Order::Random, batch: 7 }, 7),
        (
            Pattern::Random {
                data_bytes: 4096,
                data_accesses: 5,
                data_modifies: 4,
                random_counts: false,
                code_bytes: 4096,
                code_calls: 3,
                event_data_lines: 2,
                event_code_lines: 1,
                event_device_pages: 0,
                event_stride_lines: 1,
                line_bytes: 64,
            },
            15,
        ),
        (Pattern::Tick { body: TickBody::Nothing }, 1),
        (Pattern::Tick { body: TickBody::Adds(0) }, 1),
        (Pattern::Tick { body: TickBody::Adds(TickBody::MOST_ADDS) }, 1),
        (Pattern::Tick { body: TickBody::Loop(0) }, 1),
        (Pattern::Tick { body: TickBody::Loop(1000) }, 1),
    ];
    let is_run = |operation: &Operation| !operation.is_unfair() && operation.is_on(std::env::consts::ARCH);
    for operation in Operation::ALL.into_iter().filter(is_run) {
        let (outer, inner) = (Loop { count: 3, stride: 4096 }, Loop { count: 50, stride: 64 });
        patterns.push((Pattern::Walk { operation, outer, inner }, 50));
        patterns.push((Pattern::Buffer { bytes: 4096, stride: 32, operation, period_ns: 1e4, offset_ns: None }, 128));
    }
    patterns
}

#[test]
fn a_target_ends_at_its_deadline_with_every_sample_counted() {
    for (pattern, _) in patterns() {
        let mut pages = pages();
        let mut kernel = Kernel::new(&pattern, memory(&mut pages), 1).unwrap();
        let mut recorder = Recorder::new_boxed();
        let start = clock::now();
        // Longer than a slice of the scheduler, which may give the core to another test meanwhile.
        let deadline = start + 100_000_000;
        kernel.run_target(&mut recorder, deadline, &AtomicU32::new(0));
        let end = clock::now();
        assert!(end >= deadline, "{pattern:?} ended before its deadline");
        let counted: u64 = recorder.counts().map(|(_, count)| count).sum();
        assert!(counted > 0, "{pattern:?} took no sample");
        assert_eq!(counted + recorder.overflow(), recorder.samples());
        assert!(recorder.sum() <= u128::from(end - start), "{pattern:?} measured more time than there was");
        assert!(recorder.min() <= recorder.max());
        assert!((start..=end).contains(&recorder.max_at()));
    }
}

#[test]
fn the_samples_of_a_tick_cover_the_run() {
    let mut kernel = Kernel::new(&Pattern::Tick { body: TickBody::Nothing }, MappedMemory::none(), 1).unwrap();
    let mut recorder = Recorder::new_boxed();
    // The end of a sample is the start of the next; only the look every 10 ms lies between two samples. This thread may
    // be interrupted there or outside of the run, but not every time.
    let covered = (0..100).any(|_| {
        recorder.reset(u64::MAX, 0);
        let start = clock::now();
        kernel.run_target(&mut recorder, start + 10_000_000, &AtomicU32::new(0));
        recorder.sum() as f64 > 0.99 * (clock::now() - start) as f64
    });
    assert!(covered, "the samples never made up 99 % of a run");
}

#[test]
fn a_buffer_with_an_offset_plans_its_passes_on_the_grid_of_the_common_start() {
    let (period_ns, stop) = (50_000.0, AtomicU32::new(0));
    let start = clock::now();
    let planned = [0.0, 25_000.0, 49_999.0].map(|offset_ns| {
        let pattern = Pattern::Buffer {
            bytes: 4096,
            stride: 64,
            operation: Operation::Read,
            period_ns,
            offset_ns: Some(offset_ns),
        };
        let mut pages = pages();
        let mut kernel = Kernel::new(&pattern, memory(&mut pages), 1).unwrap();
        kernel.start_at(start);
        let mut recorder = Recorder::new_boxed();
        // Many passes: the C loop adds period after period, and the expected time is of one multiplication.
        kernel.run_target(&mut recorder, clock::now() + (5e-3 * clock::frequency_hz()) as u64, &stop);
        assert!(recorder.samples() > 0);
        kernel.run_neighbour(&AccessCounter::new(), clock::now() + (1e-3 * clock::frequency_hz()) as u64, &stop);
        kernel.next_release().unwrap()
    });
    let ticks = |ns: f64| ns * 1e-9 * clock::frequency_hz();
    for (next, offset_ns) in planned.into_iter().zip([0.0, 25_000.0, 49_999.0]) {
        let since = (next - start) as f64 - ticks(offset_ns);
        let periods = (since / ticks(period_ns)).round();
        assert!(periods >= 1.0 && (since - periods * ticks(period_ns)).abs() <= 1.0, "{offset_ns}: {since}");
    }
    let plain = Pattern::Buffer { bytes: 64, stride: 8, operation: Operation::Read, period_ns, offset_ns: None };
    assert_eq!(Kernel::new(&plain, memory(&mut pages()), 1).unwrap().next_release(), None);
}

#[test]
fn with_stop_set_from_the_start_one_sample_is_taken() {
    for (pattern, _) in patterns() {
        if matches!(pattern, Pattern::Buffer { .. }) {
            continue; // It looks while it waits for its first period.
        }
        let mut pages = pages();
        let mut kernel = Kernel::new(&pattern, memory(&mut pages), 1).unwrap();
        let mut recorder = Recorder::new_boxed();
        kernel.run_target(&mut recorder, u64::MAX, &AtomicU32::new(1));
        assert_eq!(recorder.samples(), 1, "{pattern:?}");
    }
}

#[test]
fn the_stop_flag_ends_either_role() {
    for (pattern, per_sample) in patterns() {
        let mut pages = pages();
        let (stop, progress) = (AtomicU32::new(0), AccessCounter::new());
        let mut kernel = Kernel::new(&pattern, memory(&mut pages), 1).unwrap();
        let mut recorder = Recorder::new_boxed();
        thread::scope(|scope| {
            scope.spawn(|| {
                kernel.run_target(&mut recorder, u64::MAX, &stop);
                stop.store(0, Ordering::Relaxed);
                kernel.run_neighbour(&progress, u64::MAX, &stop);
            });
            thread::sleep(Duration::from_millis(20));
            stop.store(1, Ordering::Relaxed);
            while stop.load(Ordering::Relaxed) == 1 {
                thread::yield_now();
            }
            while progress.accesses() == 0 {
                thread::yield_now();
            }
            stop.store(1, Ordering::Relaxed);
        });
        assert!(progress.accesses() >= per_sample, "{pattern:?}");
    }
}

#[test]
fn a_pass_of_a_walk_or_buffer_makes_each_access_once() {
    let (outer, inner) = (Loop { count: 3, stride: 4096 }, Loop { count: 50, stride: 64 });
    let operation = Operation::Modify;
    for (pattern, accesses) in [
        (Pattern::Walk { operation, outer, inner }, 150),
        (Pattern::Buffer { bytes: 4096, stride: 32, operation, period_ns: 1e9, offset_ns: None }, 128),
    ] {
        let mut pages = pages();
        let mut kernel = Kernel::new(&pattern, memory(&mut pages), 1).unwrap();
        kernel.start_at_outer(2);
        kernel.run_pass();
        drop(kernel);
        // Each access adds 1 to its word, of which only the first byte changes.
        let bytes: Vec<u8> = pages.iter().flat_map(|page| page.bytes).collect();
        assert_eq!(bytes.iter().filter(|byte| **byte == 1).count(), accesses, "{pattern:?}");
        assert!(bytes.iter().all(|byte| *byte <= 1), "{pattern:?}");
    }
}

#[test]
fn every_kind_has_a_pass_that_ends() {
    for (pattern, _) in patterns() {
        let mut pages = pages();
        let mut kernel = Kernel::new(&pattern, memory(&mut pages), 1).unwrap();
        kernel.run_pass();
        kernel.run_pass();
    }
}

#[test]
fn a_loop_of_more_increments_takes_longer_and_so_do_more_adds() {
    let fastest = |body| {
        let mut kernel = Kernel::new(&Pattern::Tick { body }, MappedMemory::none(), 1).unwrap();
        let mut recorder = Recorder::new_boxed();
        while recorder.samples() < 1000 {
            kernel.run_target(&mut recorder, clock::now() + 1_000_000, &AtomicU32::new(0));
        }
        recorder.min().unwrap()
    };
    let nothing = fastest(TickBody::Nothing);
    for bodies in [[TickBody::Adds(2000), TickBody::Adds(8000)], [TickBody::Loop(2000), TickBody::Loop(8000)]] {
        // The minimum of a thousand is free of interruptions, and 6000 cycles are many ticks of any counter.
        let [fewer, more] = bodies.map(fastest);
        assert!(nothing < fewer && fewer < more, "{nothing}, {fewer}, {more} ticks for {bodies:?}");
    }
}

#[test]
fn what_cannot_run_is_refused_with_the_reason() {
    let refusal = |pattern: &Pattern| match Kernel::new(pattern, MappedMemory::none(), 1) {
        Ok(_) => panic!("{pattern:?} was accepted"),
        Err(error) => error.to_string(),
    };
    let command =
        refusal(&Pattern::Command { argv: vec!["stress-ng".into()], passes: waykeeper_workload::Passes::Process });
    assert!(command.contains("stress-ng") && command.contains("process"), "{command}");
    let wakeup = refusal(&Pattern::Wakeup { period_ns: 1e6, figure: WakeupFigure::WakeupLatency, body: None });
    assert!(wakeup.contains("`wakeup` waits for the operating system"), "{wakeup}");
    let chase = refusal(&Pattern::Chase { elements: 100, stride: 64, order: Order::Linear, batch: 1 });
    assert!(chase.contains("6400") && chase.contains("given 0"), "{chase}");
    let adds = refusal(&Pattern::Tick { body: TickBody::Adds(8193) });
    assert!(adds.contains("8193") && adds.contains("8192"), "{adds}");
    let buffer =
        refusal(&Pattern::Buffer { bytes: 0, stride: 8, operation: Operation::Read, period_ns: 1.0, offset_ns: None });
    assert!(buffer.contains("`bytes` is 0"), "{buffer}");

    let mut pages = pages();
    // SAFETY: within the pages, which outlive it.
    let crooked = unsafe { MappedMemory::new(pages.as_mut_ptr().cast::<u8>().add(64), 8192) };
    let small = Pattern::Buffer { bytes: 64, stride: 8, operation: Operation::Read, period_ns: 1.0, offset_ns: None };
    assert!(matches!(Kernel::new(&small, crooked, 1), Err(KernelError::NotPageAligned { .. })));
}
