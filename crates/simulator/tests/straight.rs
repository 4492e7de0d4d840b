//! The short way of reads beside the general one: the same samples and counters, bit by bit.

use proptest::prelude::*;
use waykeeper_platform::{Allocation, EntryTaken, Inclusion, Param, Platform, Replacement, find_bundled};
use waykeeper_simulator::{Counters, Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Loop, Operation, Pattern, TickBody};

#[derive(Debug, Default, PartialEq)]
struct Seen(Vec<(u64, u64, u64)>);

impl SampleReceiver for Seen {
    fn record(&mut self, ticks: u64, count: u64, at_ps: u64) {
        self.0.push((ticks, count, at_ps));
    }
}

/// What of the Agilex 5 is otherwise.
#[derive(Debug, Clone)]
struct Variant {
    filter: (u64, u64, Replacement, f64),
    outer_filter: (u64, u64, EntryTaken),
    allocation: Allocation,
    shared: (u64, Replacement),
    inclusion: Inclusion,
    outstanding: u64,
    queue_entries: u64,
    row_hits_first: bool,
    evictions: u64,
}

impl Variant {
    fn platform(&self) -> Platform {
        let mut platform = Platform::from_toml(find_bundled("agilex5").unwrap().text, "agilex5").unwrap();
        let other = |value| Some(Param::documented(value, "a variant"));
        let shared = &mut platform.shared_caches[0];
        shared.size_kib.value = self.shared.0;
        shared.replacement.as_mut().unwrap().value = self.shared.1;
        shared.allocation.as_mut().unwrap().value = self.allocation;
        shared.no_allocate_mode.as_mut().unwrap().evictions.value = self.evictions;
        let filter = shared.snoop_filter.as_mut().unwrap();
        (filter.sets.value, filter.ways.value, filter.victim.value, filter.retry_ns.value) = self.filter;
        let outer = platform.interconnect.as_mut().unwrap().snoop_filter.as_mut().unwrap();
        (outer.sets.value, outer.ways.value, outer.taken.value) = self.outer_filter;
        for kind in &mut platform.cores {
            kind.outstanding_misses.as_mut().unwrap().value = self.outstanding;
            kind.l2.as_mut().unwrap().inclusion.as_mut().unwrap().value = self.inclusion;
        }
        let scheduler = &mut platform.memory.as_mut().unwrap().scheduler;
        scheduler.queue_entries.value = self.queue_entries;
        scheduler.order = self.row_hits_first.then(|| other(waykeeper_platform::CommandOrder::RowHitsFirst)).flatten();
        platform
    }
}

fn variant() -> impl Strategy<Value = Variant> {
    use prop::sample::select;
    let replacement =
        || select(vec![Replacement::Random, Replacement::TreePlru, Replacement::Lru, Replacement::BitPlru]);
    let filter =
        (select(vec![16u64, 512, 1024]), select(vec![4u64, 16, 32]), replacement(), select(vec![2.5, 10.0, 45.0]));
    let taken = prop_oneof![4 => Just(EntryTaken::AtFill), 1 => Just(EntryTaken::AtRequest)];
    let outer_filter = (select(vec![64u64, 2048]), select(vec![2u64, 11, 20]), taken);
    let allocation = prop_oneof![4 => Just(Allocation::ExclusiveUntilShared), 1 => Just(Allocation::Victim)];
    let shared = (select(vec![64u64, 2048]), replacement());
    let inclusion = select(vec![Inclusion::InclusiveOfL1d, Inclusion::ExclusiveOfL1d, Inclusion::NonInclusive]);
    let numbers = (1..50u64, select(vec![1u64, 3, 16, 64]), prop::bool::weighted(0.2), select(vec![1u64, 16]));
    (filter, outer_filter, allocation, shared, inclusion, numbers).prop_map(
        |(filter, outer_filter, allocation, shared, inclusion, numbers)| {
            let (outstanding, queue_entries, row_hits_first, evictions) = numbers;
            Variant {
                filter,
                outer_filter,
                allocation,
                shared,
                inclusion,
                outstanding,
                queue_entries,
                row_hits_first,
                evictions,
            }
        },
    )
}

/// Walks that meet in few sets or in many, and use lines again or not.
fn walk() -> impl Strategy<Value = Pattern> {
    let reads = prop::sample::select(vec![Operation::Read, Operation::Prefetch]);
    let operation = prop_oneof![5 => reads, 1 => Just(Operation::Modify)];
    let outer = (1..200u64, prop::sample::select(vec![64u64, 128, 4096]));
    let inner = (1..70u64, prop::sample::select(vec![8u64, 64, 16_384, 131_072]));
    let of = |(count, stride): (u64, u64)| Loop { count, stride };
    (operation, outer, inner).prop_map(move |(operation, outer, inner)| Pattern::Walk {
        operation,
        outer: of(outer),
        inner: of(inner),
    })
}

const MITIGATIONS: [&[&str]; 6] =
    [&[], &["nl3a"], &["nl3a", "cp"], &["nl3a", "cp", "qos"], &["colouring"], &["lpddr4-ecc"]];

/// Runs in pieces, because where an engine stops must not matter.
fn run(platform: &Platform, programs: &[Program], mitigations: &[&str], seed: u64, general: bool) -> (Seen, Counters) {
    let mut engine = Engine::new(platform, programs, mitigations, seed).unwrap();
    if general {
        engine.avoid_short_ways();
    }
    let mut seen = Seen::default();
    for until in [7_000_000, 30_000_000, 60_000_001, 200_000_000] {
        engine.advance(until, &mut seen);
    }
    (seen, engine.counters())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_short_way_changes_nothing(
        variant in variant(),
        neighbours in prop::collection::vec(walk(), 1..4),
        mitigations in prop::sample::select(&MITIGATIONS[..]),
        seed in 0..1000u64,
    ) {
        let platform = variant.platform();
        let target = Program { core: 1, pattern: Pattern::Tick { body: TickBody::Nothing }, role: Role::Target };
        let others = [3, 2, 0].into_iter().zip(&neighbours);
        let others = others.map(|(core, pattern)| Program { core, pattern: pattern.clone(), role: Role::Neighbour });
        let programs: Vec<_> = std::iter::once(target).chain(others).collect();
        let [short, general] = [false, true].map(|general| run(&platform, &programs, mitigations, seed, general));
        prop_assert_eq!(short, general);
    }
}
