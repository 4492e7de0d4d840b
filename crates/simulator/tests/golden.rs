//! Digests of golden runs: every sample and every counter, bit by bit.
//!
//! They are here so that any other machine can check that it gets the same bits, and so that a faster engine can show
//! that it is the same engine. `golden/platform.toml` is a copy of the Agilex 5 as it was when the digests were taken:
//! new parameters of the platform change no digest. A change of the model does, and then
//! `GOLDEN=print cargo test --release -p waykeeper-simulator --test golden -- --nocapture` prints the new list for
//! `golden/digests.txt`; the commit says why they changed.

use std::fmt::Write;

use waykeeper_platform::Platform;
use waykeeper_simulator::{Counters, Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Loop, Operation, Order, Pattern, TickBody};

const PLATFORM: &str = include_str!("golden/platform.toml");
const DIGESTS: &str = include_str!("golden/digests.txt");

const MILLISECOND: u64 = 1_000_000_000;

const MITIGATIONS: [&[&str]; 5] = [&[], &["nl3a"], &["nl3a", "cp"], &["nl3a", "cp", "qos"], &["colouring"]];

/// FNV-1a of 64 bits over the little-endian bytes of numbers.
struct Digest(u64);

impl Digest {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn add_counters(&mut self, counters: &Counters) {
        for (id, c) in &counters.cores {
            self.add(u64::from(*id));
            let events = [c.accesses, c.l1_hits, c.l2_hits, c.shared_hits, c.transfers, c.memory_reads];
            let lost = [c.invalidated_by_cluster, c.invalidated_by_interconnect, c.cluster_waits, c.interconnect_waits];
            let stalls = [c.stalled_for_shared_ps, c.stalled_for_memory_ps, c.stalled_for_filters_ps];
            let numbers = events.into_iter().chain([c.bytes_from_memory]).chain(lost).chain(stalls);
            numbers.for_each(|number| self.add(number));
        }
        let s = &counters.shared;
        let evictions = [s.allocations, s.bypassed, s.cluster_filter_evictions, s.interconnect_filter_evictions];
        let m = &counters.memory;
        let memory = [m.reads, m.writes, m.aged_writes, m.reads_behind_writes, m.row_hits, m.row_misses, m.refreshes];
        let numbers = evictions.into_iter().chain([s.no_allocate_ps, s.no_allocate_entries]).chain(memory);
        numbers.for_each(|number| self.add(number));
    }
}

impl SampleReceiver for Digest {
    fn record(&mut self, ticks: u64, count: u64, at_ps: u64) {
        [ticks, count, at_ps].into_iter().for_each(|number| self.add(number));
    }
}

fn walk(operation: Operation, outer: (u64, u64), inner: (u64, u64)) -> Pattern {
    let [outer, inner] = [outer, inner].map(|(count, stride)| Loop { count, stride });
    Pattern::Walk { operation, outer, inner }
}

/// 2048 sets of 16 ways, four times over.
fn way_hammer(operation: Operation) -> Pattern {
    walk(operation, (2048, 64), (64, 131_072))
}

fn set_crawler(operation: Operation) -> Pattern {
    walk(operation, (64, 131_072), (2048, 64))
}

fn latency_loop() -> Pattern {
    Pattern::Tick { body: TickBody::Nothing }
}

fn chase(elements: u64) -> Pattern {
    Pattern::Chase { elements, stride: 64, order: Order::Random, batch: 64 }
}

/// A pattern and the core that it runs on.
type Placed = (u32, Pattern);

/// The digest of a target and its neighbours on the other cores, all of the same kind. Stops halfway, because where an
/// engine stops must not matter to the counters.
fn digest(target: Placed, neighbours: &[Placed], mitigations: &[&str], seed: u64, ps: u64) -> u64 {
    let platform = Platform::from_toml(PLATFORM, "golden/platform.toml").unwrap();
    let neighbour = |(core, pattern): &Placed| (*core, pattern.clone(), Role::Neighbour);
    let programs: Vec<_> = std::iter::once((target.0, target.1, Role::Target))
        .chain(neighbours.iter().map(neighbour))
        .map(|(core, pattern, role)| Program { core, pattern, role })
        .collect();
    let mut engine = Engine::new(&platform, &programs, mitigations, seed).unwrap();
    let mut digest = Digest::new();
    for until in [ps / 2, ps] {
        engine.advance(until, &mut digest);
        digest.add_counters(&engine.counters());
    }
    digest.0
}

/// The published experiment, and what else takes other ways through the engine: writes, dependent loads, transfers
/// between levels, instruction fetches, an in-order neighbour.
fn runs() -> Vec<(String, u64)> {
    let mut runs = Vec::new();
    for mitigations in MITIGATIONS {
        for (name, pattern) in
            [("way_hammer", way_hammer(Operation::Read)), ("set_crawler", set_crawler(Operation::Read))]
        {
            for core in [1, 3] {
                for seed in [1, 2] {
                    let others = if core == 3 { [1, 2] } else { [2, 3] }.map(|core| (core, pattern.clone()));
                    let mitigation = if mitigations.is_empty() { "none".into() } else { mitigations.join("+") };
                    let digest = digest((core, latency_loop()), &others, mitigations, seed, 2 * MILLISECOND);
                    runs.push((format!("{mitigation} {name} core {core} seed {seed}"), digest));
                }
            }
        }
    }
    let adds = Pattern::Tick { body: TickBody::Adds(2048) };
    let events = Pattern::Random {
        data_bytes: 512 << 10,
        data_accesses: 16,
        data_modifies: 0,
        random_counts: false,
        code_bytes: 512 << 10,
        code_calls: 8,
        event_data_lines: 16,
        event_code_lines: 16,
        event_device_pages: 0,
        event_stride_lines: 1,
        line_bytes: 64,
    };
    let buffer = Pattern::Buffer {
        bytes: 128 << 10,
        stride: 64,
        operation: Operation::Modify,
        period_ns: 50_000.0,
        offset_ns: None,
    };
    let in_first_level = walk(Operation::Modify, (8, 4096), (64, 64));
    let written = |core| (core, way_hammer(Operation::Write));
    let others: [(&str, Placed, Vec<Placed>); 6] = [
        ("writing hammers", (1, adds), vec![written(2), written(3)]),
        ("writing crawlers", (3, latency_loop()), vec![(0, set_crawler(Operation::Write)), written(2)]),
        ("chase over 8 MiB", (2, chase(1 << 17)), vec![written(3)]),
        ("chase over 1 MiB", (0, chase(1 << 14)), vec![(1, chase(1 << 16)), (3, set_crawler(Operation::Modify))]),
        ("events", (1, events.clone()), vec![(2, events), (3, way_hammer(Operation::Read))]),
        ("buffer", (2, buffer), vec![(3, in_first_level), (0, way_hammer(Operation::Prefetch))]),
    ];
    for (name, target, neighbours) in others {
        for mitigations in [&[][..], &["nl3a", "cp", "qos"]] {
            let suffix = if mitigations.is_empty() { "" } else { " nl3a+cp+qos" };
            let digest = digest(target.clone(), &neighbours, mitigations, 3, 2 * MILLISECOND);
            runs.push((format!("{name}{suffix}"), digest));
        }
    }
    runs
}

#[test]
fn golden_runs_give_the_same_bits() {
    let mut seen = String::new();
    for (name, digest) in runs() {
        writeln!(seen, "{digest:016x} {name}").unwrap();
    }
    if std::env::var_os("GOLDEN").is_some_and(|value| value == "print") {
        print!("{seen}");
        return;
    }
    for (seen, golden) in seen.lines().zip(DIGESTS.lines()) {
        assert_eq!(seen, golden, "seen, and golden");
    }
    assert_eq!(seen.lines().count(), DIGESTS.lines().count());
}
