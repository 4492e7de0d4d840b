//! The addresses that the release object code touches, observed from outside, are those of `Pattern::stream`.
//!
//! Loads, stores and instruction fetches are observed by valgrind's lackey; it does not show prefetches, so those are
//! observed by single-stepping the process and decoding the instruction (x86-64 only; `aarch64.rs` watches the kernels
//! of the other architecture).

mod expected;
mod observed;
mod places;
#[cfg(target_arch = "x86_64")]
mod prefetches;
mod touch;

use waykeeper_workload::recorder::{COUNTS_OFFSET, count_offset};
use waykeeper_workload::{CacheShape, CacheShapes, Loop, Operation, Order, Pattern, TickBody, Workload, bundled};

use crate::expected::{Kind, Touch, expected};
use crate::observed::{Observed, Role};

use std::env::consts::ARCH;

const SEED: u64 = 7;
const ACCESSES: u64 = 3000;

/// A machine with caches so small that 3000 accesses go around its patterns.
fn small_machine() -> CacheShapes {
    let cache = |level, size_bytes, ways| CacheShape { level, size_bytes, ways, line_bytes: 64 };
    CacheShapes(vec![cache(1, 1024, 2), cache(2, 4096, 4), cache(3, 16384, 8)])
}

/// Every bundled workload that has a kernel.
fn bundled_patterns() -> Vec<(&'static str, Pattern)> {
    let resolved = bundled().iter().map(|workload| {
        let parsed: Workload = toml::from_str(workload.text).unwrap();
        (workload.name, parsed.resolve(&small_machine()).unwrap())
    });
    let no_kernel = |pattern: &Pattern| {
        matches!(
            pattern,
            Pattern::Trace { .. }
                | Pattern::Command { .. }
                | Pattern::Wakeup { .. }
                | Pattern::Interrupt { .. }
                | Pattern::Packets { .. }
        )
    };
    // An unfair one would stall the whole machine, and those of others.
    let is_unfair = |pattern: &Pattern| pattern.operation().is_some_and(Operation::is_unfair);
    resolved.filter(|(_, pattern)| !no_kernel(pattern) && !is_unfair(pattern)).collect()
}

fn walk(operation: Operation) -> Pattern {
    Pattern::Walk { operation, outer: Loop { count: 5, stride: 8 }, inner: Loop { count: 7, stride: 4096 } }
}

/// Whether lackey sees the accesses of this pattern: there are some, and they are no prefetches.
fn has_visible_accesses(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Walk { operation, .. } | Pattern::Buffer { operation, .. } => *operation != Operation::Prefetch,
        Pattern::Chase { .. } | Pattern::Random { .. } => true,
        Pattern::Tick { .. }
        | Pattern::Trace { .. }
        | Pattern::Command { .. }
        | Pattern::Wakeup { .. }
        | Pattern::Interrupt { .. }
        | Pattern::Packets { .. } => false,
    }
}

/// Compares the whole observation with the beginning of the stream.
fn assert_follows_stream(name: &str, pattern: &Pattern, role: Role) {
    let observed = Observed::by_lackey(pattern, SEED, ACCESSES, role).touches();
    assert!(observed.len() as u64 >= ACCESSES, "{name} as {role:?}: only {} accesses were seen", observed.len());
    for (number, (seen, wanted)) in observed.iter().zip(expected(pattern, SEED)).enumerate() {
        assert_eq!(*seen, wanted, "{name} as {role:?}: access {number} of {}", observed.len());
    }
}

#[test]
fn every_bundled_workload_touches_what_its_stream_says() {
    for (name, pattern) in bundled_patterns() {
        if has_visible_accesses(&pattern) {
            assert_follows_stream(name, &pattern, Role::Target);
            assert_follows_stream(name, &pattern, Role::Neighbour);
        }
    }
}

#[test]
fn loads_and_stores_are_what_the_operation_says() {
    let fair = Operation::ALL.into_iter().filter(|operation| !operation.is_unfair() && operation.is_on(ARCH));
    // Of an atomic add lackey sees the compare-and-swap that valgrind makes of it.
    for operation in fair.filter(|operation| ![Operation::Prefetch, Operation::Atomic].contains(operation)) {
        let buffer = Pattern::Buffer { bytes: 1000, stride: 24, operation, period_ns: 100.0, offset_ns: None };
        for role in [Role::Target, Role::Neighbour] {
            assert_follows_stream("walk", &walk(operation), role);
            assert_follows_stream("buffer", &buffer, role);
        }
    }
}

#[test]
fn a_linear_chase_and_an_inner_loop_longer_than_a_neighbours_chunk_follow_their_streams() {
    let chase = Pattern::Chase { elements: 50, stride: 72, order: Order::Linear, batch: 3 };
    assert_follows_stream("chase", &chase, Role::Target);
    let (outer, inner) = (Loop { count: 3, stride: 8 }, Loop { count: 1500, stride: 64 });
    assert_follows_stream("walk", &Pattern::Walk { operation: Operation::Read, outer, inner }, Role::Neighbour);
}

#[test]
fn a_quiet_tick_touches_the_first_header_line_and_one_histogram_line() {
    for body in [TickBody::Nothing, TickBody::Adds(8), TickBody::Loop(8)] {
        let observed = Observed::by_lackey(&Pattern::Tick { body }, SEED, ACCESSES, Role::Target);
        let slices = observed.passes_of_tick();
        let passes: Vec<_> = slices.iter().flat_map(|slice| slice.iter().skip(2)).collect();
        let quiet = passes.iter().filter(|pass| pass.iter().all(|access| is_quiet(access.in_recorder))).count();
        // The others are new maxima and minima, and looks at the stop flag after 10 ms.
        assert!(quiet * 10 > passes.len() * 9, "{body:?}: only {quiet} of {} passes were quiet", passes.len());
        for pass in passes {
            let lines: std::collections::BTreeSet<u64> =
                pass.iter().filter_map(|access| access.in_recorder).map(|offset| offset / 64).collect();
            assert!(lines.len() <= 2, "{body:?}: a pass touched the recorder's lines {lines:?}");
            let counted =
                pass.iter().filter(|access| access.kind == Kind::Store && is_count(access.in_recorder)).count();
            assert_eq!(counted, 1, "{body:?}: {pass:?}");
        }
    }
}

/// In the first header line or the histogram of samples.
fn is_quiet(in_recorder: Option<u64>) -> bool {
    in_recorder.is_some_and(|offset| offset < 64) || is_count(in_recorder)
}

fn is_count(in_recorder: Option<u64>) -> bool {
    in_recorder.is_some_and(|offset| (COUNTS_OFFSET..count_offset((1 << 36) - 1) + 8).contains(&offset))
}

#[test]
fn each_sample_of_a_tick_is_stored_where_the_simulator_stores_it() {
    let observed = Observed::by_lackey(&Pattern::Tick { body: TickBody::Nothing }, SEED, ACCESSES, Role::Target);
    let mut stores = std::collections::BTreeMap::new();
    for pass in observed.passes_of_tick().iter().flatten() {
        for access in pass.iter().filter(|access| access.kind == Kind::Store && is_count(access.in_recorder)) {
            *stores.entry(access.in_recorder.unwrap()).or_insert(0) += 1;
        }
    }
    let counted: std::collections::BTreeMap<u64, u64> =
        observed.places.counts.iter().map(|(value, count)| (count_offset(*value), *count)).collect();
    assert_eq!(stores, counted);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn prefetches_go_where_the_stream_says() {
    let (_, stream_prefetch) = bundled_patterns().into_iter().find(|(name, _)| *name == "stream_prefetch").unwrap();
    let buffer =
        Pattern::Buffer { bytes: 1000, stride: 24, operation: Operation::Prefetch, period_ns: 100.0, offset_ns: None };
    for pattern in [walk(Operation::Prefetch), stream_prefetch, buffer] {
        for role in [Role::Target, Role::Neighbour] {
            let seen = prefetches::by_single_steps(&pattern, SEED, 500, role);
            assert!(seen.len() >= 500, "{pattern:?} as {role:?}: only {} prefetches were seen", seen.len());
            let wanted = expected(&pattern, SEED).map(|Touch { offset, .. }| offset);
            assert_eq!(seen, wanted.take(seen.len()).collect::<Vec<_>>(), "{pattern:?} as {role:?}");
        }
    }
}
