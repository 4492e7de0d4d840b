//! The C kernels, cross-compiled for AArch64 and run under qemu-aarch64 one instruction at a time, touch the addresses
//! of `Pattern::stream`. The observation is made from outside: the registers before each instruction tell the address.

mod decode;
#[path = "../addresses/expected.rs"]
mod expected;
mod observed;
#[path = "../addresses/places.rs"]
mod places;

use std::collections::BTreeSet;

use waykeeper_workload::recorder::{COUNTS_OFFSET, lowest_value};
use waykeeper_workload::{Loop, Operation, Order, Pattern, TickBody};

use crate::expected::{Kind, expected};
use crate::observed::Observed;

const SEED: u64 = 11;
const ACCESSES: u64 = 600;

fn assert_follows_stream(pattern: &Pattern) {
    for role in ["target", "neighbour"] {
        let observed = Observed::run(pattern, SEED, ACCESSES, role).touches();
        assert!(observed.len() as u64 >= ACCESSES, "{pattern:?} as {role}: only {} accesses were seen", observed.len());
        for (number, (seen, wanted)) in observed.iter().zip(expected(pattern, SEED)).enumerate() {
            assert_eq!(*seen, wanted, "{pattern:?} as {role}: access {number} of {}", observed.len());
        }
    }
}

#[test]
fn every_operation_of_a_walk_and_of_a_buffer_follows_its_stream() {
    for operation in Operation::ALL.into_iter().filter(|operation| !operation.is_unfair()) {
        let (outer, inner) = (Loop { count: 5, stride: 8 }, Loop { count: 7, stride: 4096 });
        assert_follows_stream(&Pattern::Walk { operation, outer, inner });
        assert_follows_stream(&Pattern::Buffer {
            bytes: 1000,
            stride: 24,
            operation,
            period_ns: 100.0,
            offset_ns: None,
        });
    }
}

#[test]
fn a_chase_follows_its_stream() {
    for order in [Order::Random, Order::Linear] {
        assert_follows_stream(&Pattern::Chase { elements: 100, stride: 72, order, batch: 7 });
    }
}

#[test]
fn random_data_and_code_accesses_follow_their_stream() {
    assert_follows_stream(&Pattern::Random {
        data_bytes: 8192,
        data_accesses: 20,
        data_modifies: 6,
        random_counts: false,
        code_bytes: 4096,
        code_calls: 10,
        event_data_lines: 3,
        event_code_lines: 5,
        event_device_pages: 0,
        event_stride_lines: 1,
        line_bytes: 64,
    });
}

#[test]
fn a_quiet_tick_touches_the_first_header_line_and_one_histogram_line() {
    for body in [TickBody::Nothing, TickBody::Adds(8), TickBody::Loop(8)] {
        let observed = Observed::run(&Pattern::Tick { body }, SEED, ACCESSES, "target");
        let mut passes = Vec::new();
        let mut pass = Vec::new();
        for (kind, address) in observed.data_accesses() {
            let offset = observed.places.recorder.offset(address);
            pass.push(offset);
            if kind == Kind::Store && offset.is_some_and(|offset| offset >= COUNTS_OFFSET) {
                passes.push(std::mem::take(&mut pass));
            }
        }
        assert_eq!(passes.len() as u64, observed.places.counts.iter().map(|(_, count)| count).sum::<u64>());
        // The way into and out of the loop, looks at the flag and new maxima and minima also touch other memory.
        let within = passes.iter().filter_map(|pass| pass.iter().copied().collect::<Option<Vec<u64>>>());
        let within: Vec<_> = within.collect();
        // How many passes do so depends on the emulator's clock and on what else the machine does; these are enough to see.
        assert!(within.len() >= 50, "{body:?}: {} of {} passes", within.len(), passes.len());
        for pass in within {
            let histogram: BTreeSet<u64> = pass.iter().map(|offset| offset / 64).filter(|line| *line != 0).collect();
            assert_eq!(histogram.len(), 1, "{body:?}: {pass:?}");
            assert!(histogram.first() >= Some(&(COUNTS_OFFSET / 64)), "{body:?}: {pass:?}");
        }
    }
}

#[test]
fn samples_are_counted_in_the_buckets_of_their_values() {
    let observed = Observed::run(&Pattern::Tick { body: TickBody::Nothing }, SEED, ACCESSES, "target");
    let (least, most) = (observed.recorded("min"), observed.recorded("max"));
    let buckets: Vec<u64> = observed.places.counts.iter().map(|(bucket, _)| *bucket).collect();
    assert_eq!(waykeeper_workload::recorder::bucket(least), buckets[0]);
    assert_eq!(waykeeper_workload::recorder::bucket(most), *buckets.last().unwrap());
    // Each sample is at least its bucket's lowest value and less than the next one's.
    let bound =
        |next| observed.places.counts.iter().map(move |(bucket, n)| lowest_value(bucket + next) * n).sum::<u64>();
    assert!((bound(0)..bound(1)).contains(&observed.recorded("sum")));
}
