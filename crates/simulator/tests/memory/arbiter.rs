//! What makes requests wait before the channels.

use proptest::prelude::*;
use waykeeper_platform::Replacement;
use waykeeper_simulator::line::Line;
use waykeeper_simulator::memory::layout::Checks;
use waykeeper_simulator::memory::parameters::MemoryParameters;
use waykeeper_simulator::memory::regulator::{Portions, Scheme, Windows};
use waykeeper_simulator::memory::side_cache::SideCacheParameters;
use waykeeper_simulator::memory::{Memory, Requester};
use waykeeper_simulator::time::Ps;

use crate::common::{FIRST, answers, changed, parameters, read, row, write};

#[test]
fn the_way_to_the_memory_lets_one_line_pass_at_a_time() {
    let mut memory = changed(|parameters| parameters.line_time = Ps::new(50));
    for bank in 0..4 {
        read(&mut memory, bank * 8, bank);
    }
    memory.read(Line::new(40), 9, FIRST, Ps::new(1000));
    // They pass at 1000, 1050, .., the one of higher priority as soon as it can. Line 40 is row 5, bank 1: line 8 of the
    // same bank, which passes at 1100, begins with a precharge (activation 1110, data 1140 to 1145).
    assert_eq!(answers(&mut memory), [(0, 1135), (9, 1185), (1, 1245), (2, 1285), (3, 1335)]);
}

#[test]
fn a_full_write_queue_makes_its_sender_wait_and_nobody_else() {
    let run = |write_entries| {
        let mut memory = changed(move |parameters| parameters.scheduler.write_entries = write_entries);
        memory.read(Line::new(row(0)), 0, Requester::default(), Ps::new(1000));
        [1, 2, 3].into_iter().for_each(|n| write(&mut memory, row(n)));
        read(&mut memory, 16, 1);
        memory.read(Line::new(8), 2, Requester { class: 1, ..Requester::default() }, Ps::new(1000));
        answers(&mut memory)
    };
    // Unbounded: the banks 0, 1, 2 read at once; their data follow each other on the bus.
    assert_eq!(run(usize::MAX), [(0, 1135), (2, 1140), (1, 1145)]);
    // Two writes at most: the third waits, and the read of its class behind it. The first write goes when no read is left,
    // with its precharge at 1030 (activation 1040, data 1070 to 1075), and makes room for both. The read's activation is
    // at 1030, its data are behind the write's.
    assert_eq!(run(2), [(0, 1135), (2, 1140), (1, 1180)]);
}

#[test]
fn a_read_does_not_pass_a_write_of_its_line() {
    let mut memory = changed(|parameters| parameters.scheduler.write_entries = 1);
    read(&mut memory, row(0), 0);
    write(&mut memory, row(1));
    write(&mut memory, row(2));
    // Its class could pass the write that waits, but the line is the same.
    memory.read(Line::new(row(2)), 1, Requester { class: 1, ..Requester::default() }, Ps::new(1000));
    // Activations: read 1000, writes 1040 and 1080; the row of the second one is then open for the read: data of the
    // write from 1110 to 1115, of the read to 1120.
    assert_eq!(answers(&mut memory), [(0, 1135), (1, 1220)]);
    assert_eq!(memory.counts().reads_behind_writes, 1);
}

/// Any of what stands before the channels, over channels with or without ECC.
fn memories() -> impl Strategy<Value = MemoryParameters> {
    let windows = Windows { length: Ps::new(1000), steps: 10, line: Ps::new(20) };
    let scheme = prop_oneof![
        Just(None),
        Just(Some(Scheme::Stride)),
        Just(Some(Scheme::Delay { step: Ps::new(30), steps: 10 })),
        Just(Some(Scheme::Maximum(windows))),
        Just(Some(Scheme::Minimum(windows))),
        Just(Some(Scheme::Portions(Portions { slot: Ps::new(100), slots: 10, line: Ps::new(20) }))),
    ];
    let front = (scheme, 1..8usize, prop_oneof![Just(0u64), 1..100u64], prop_oneof![Just(usize::MAX), 1..8usize]);
    let cache = prop_oneof![Just(None), (any::<bool>(), any::<bool>()).prop_map(Some)];
    let checks = prop_oneof![Just(Checks::Nowhere), Just(Checks::SameRow), Just(Checks::BehindData)];
    (front, cache, checks, 0..2u32, any::<bool>()).prop_map(|(front, cache, checks, channel_bits, hash)| {
        let (scheme, entries, line_time, write_entries) = front;
        let mut parameters = parameters();
        parameters.layout.channels = 1 << channel_bits;
        (parameters.layout.channel_hash, parameters.layout.checks) = (hash, checks);
        parameters.line_time = Ps::new(line_time);
        parameters.scheduler.write_entries = write_entries;
        parameters.regulation = scheme.map(|scheme| (scheme, entries));
        parameters.cache = cache.map(|(read_allocation, dirty_write_allocation)| SideCacheParameters {
            parts: 2,
            sets: 2,
            ways: 2,
            replacement: Replacement::Random,
            hit: Ps::new(60),
            read_allocation,
            dirty_write_allocation,
            seed: 1,
        });
        parameters
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_read_is_answered_once_and_every_write_written(
        parameters in memories(),
        shares in prop::collection::vec((0..3u8, 1..10u64, any::<bool>()), 0..4),
        requests in prop::collection::vec((0..200u64, 0..256u32, any::<bool>(), 0..3u8, any::<bool>()), 1..80),
    ) {
        let mut memory = Memory::new(&parameters);
        let (mut now, mut answered, mut shares) = (Ps::new(1000), Vec::new(), shares.into_iter());
        for (number, (after, line, writes, class, first)) in requests.iter().enumerate() {
            let next = now + Ps::new(*after);
            while memory.next_time() <= next {
                answered.extend(memory.step(memory.next_time()));
            }
            now = next;
            if number % 16 == 0 && let Some((class, share, enabled)) = shares.next() {
                prop_assert_eq!(memory.set_bandwidth(class, share, enabled, now), parameters.regulation.is_some());
            }
            let source = Requester { class: *class, first: *first, ..Requester::default() };
            if *writes {
                memory.write(Line::new(*line), source, now);
            } else {
                memory.read(Line::new(*line), number as u32, source, now);
            }
        }
        answered.extend(answers(&mut memory).into_iter().map(|(handle, _)| handle));
        answered.sort_unstable();
        let reads: Vec<_> = (0..requests.len()).filter(|at| !requests[*at].2).map(|at| at as u32).collect();
        prop_assert_eq!(&answered, &reads);
        let counts = memory.counts();
        prop_assert_eq!(counts.reads + counts.cache_hits, reads.len() as u64 + counts.check_reads);
        let writes = (requests.len() - reads.len()) as u64;
        prop_assert_eq!(counts.writes + counts.cache_writes, writes + counts.cache_evictions + counts.check_writes);
    }
}
