//! Random levels, random streams: the same counts after every batch, and the same lines in the end.

use proptest::prelude::*;
use waykeeper_functional::{CoreCaches, Level, PackedAccess, StoreHit};
use waykeeper_platform::Replacement;
use waykeeper_workload::Xorshift;

use crate::model::Model;

fn replacement() -> impl Strategy<Value = Replacement> {
    use Replacement::{Biased, BitPlru, Lru, Mru, Random, RoundRobin, TreePlru};
    // LRU has loops of its own, and many of them.
    prop_oneof![4 => Just(Lru), 3 => prop::sample::select(vec![TreePlru, BitPlru, Random, RoundRobin, Mru, Biased])]
}

fn level() -> impl Strategy<Value = Level> {
    let ways = prop_oneof![Just(4u32), Just(8), Just(16), 1..33u32];
    let store_hit = prop_oneof![4 => Just(StoreHit::Use), 1 => Just(StoreHit::MarkOnly)];
    (0..5u32, ways, replacement(), any::<u32>(), 0..5u32, store_hit).prop_map(
        |(log2_sets, ways, replacement, mask, masked, store_hit)| {
            let ways = if replacement == Replacement::TreePlru { ways.next_power_of_two() } else { ways };
            let level = Level::new(1 << log2_sets, ways, replacement).with_store_hit(store_hit);
            let mask = mask & level.all_ways();
            if masked == 0 && mask != 0 { level.filling(mask) } else { level }
        },
    )
}

/// What a piece of a stream is like.
#[derive(Debug, Clone, Copy)]
struct Piece {
    accesses: usize,
    /// Lines that it touches.
    lines: u64,
    /// Lines from one to the next; 0 for a random order.
    stride: u64,
    /// Every access is repeated so often.
    repeats: usize,
    /// Of 8 accesses, how many are stores.
    stores: u64,
    /// Accesses handed over at a time.
    batch: usize,
}

fn piece() -> impl Strategy<Value = Piece> {
    let lines = prop_oneof![1..9u64, 1..200u64, 200..2000u64];
    let stride = prop_oneof![2 => Just(0u64), 1 => Just(1), 1 => prop::sample::select(vec![2u64, 4, 16, 64])];
    let stores = prop_oneof![2 => Just(0u64), 1 => 1..9u64];
    let batch = prop_oneof![Just(1usize), Just(7), Just(100), Just(5000)];
    (1..6000usize, lines, stride, prop_oneof![4 => Just(1usize), 1 => 2..9usize], stores, batch).prop_map(
        |(accesses, lines, stride, repeats, stores, batch)| Piece { accesses, lines, stride, repeats, stores, batch },
    )
}

impl Piece {
    fn stream(self, random: &mut Xorshift) -> Vec<PackedAccess> {
        let mut made = Vec::new();
        let mut next = 0;
        while made.len() < self.accesses {
            let line = if self.stride == 0 { random.below(self.lines) } else { next % self.lines * self.stride };
            next += 1;
            let store = random.below(8) < self.stores;
            let address = line * 64 + random.below(64);
            made.extend(
                (0..self.repeats)
                    .map(|_| if store { PackedAccess::store(address) } else { PackedAccess::load(address) }),
            );
        }
        made
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_are_the_models_after_every_batch(
        levels in prop::collection::vec(level(), 1..5),
        pieces in prop::collection::vec(piece(), 1..5),
        seed in 0..1u64 << 32,
    ) {
        let mut fast = CoreCaches::with_seed(64, &levels, seed).unwrap();
        let mut model = Model::new(64, &levels, seed);
        let mut random = Xorshift::new(seed);
        let mut touched = Vec::new();
        for piece in pieces {
            let stream = piece.stream(&mut random);
            for batch in stream.chunks(piece.batch) {
                fast.access(batch).unwrap();
                batch.iter().for_each(|access| model.access(*access));
                prop_assert_eq!(fast.counts(), model.counts());
            }
            touched.extend(stream.iter().map(|access| access.address()));
        }
        for address in touched {
            for level in 0..levels.len() {
                prop_assert_eq!(fast.holds(level, address), model.holds(level, address), "{} in {}", address, level);
            }
        }
    }

    /// A mask that changes on the way: fills obey the new one, lines stay where they are, and hits ignore it.
    #[test]
    fn masks_that_change_are_obeyed_as_the_model_does(
        replacement in replacement(),
        masks in prop::collection::vec((1..256u32, piece()), 1..6),
        seed in 0..1u64 << 32,
    ) {
        let levels = [Level::new(4, 8, replacement).filling(0xff), Level::new(8, 8, replacement).filling(0xff)];
        let mut fast = CoreCaches::with_seed(64, &levels, seed).unwrap();
        let mut model = Model::new(64, &levels, seed);
        let mut random = Xorshift::new(seed);
        for (mask, piece) in masks {
            let level = usize::from(random.below(2) == 1);
            fast.set_fill_ways(level, mask).unwrap();
            model.set_fill_ways(level, mask);
            for batch in piece.stream(&mut random).chunks(piece.batch) {
                fast.access(batch).unwrap();
                batch.iter().for_each(|access| model.access(*access));
                prop_assert_eq!(fast.counts(), model.counts());
            }
        }
    }

    /// Loads and stores by themselves are the accesses they stand for, and a copy goes on as the original does.
    #[test]
    fn loads_stores_and_copies_are_the_same_accesses(pieces in prop::collection::vec(piece(), 1..5), seed: u64) {
        let levels = [Level::new(8, 4, Replacement::Lru), Level::new(16, 8, Replacement::Lru)];
        let mut mixed = CoreCaches::new(64, &levels).unwrap();
        let mut apart = CoreCaches::new(64, &levels).unwrap();
        let mut random = Xorshift::new(seed);
        for piece in pieces {
            apart = apart.clone();
            for run in piece.stream(&mut random).chunk_by(|one, next| one.is_store() == next.is_store()) {
                mixed.access(run).unwrap();
                let addresses: Vec<u64> = run.iter().map(|access| access.address()).collect();
                if run[0].is_store() { apart.store(&addresses).unwrap() } else { apart.load(&addresses).unwrap() }
                prop_assert_eq!(mixed.counts(), apart.counts());
            }
        }
    }

    /// Where in the address space a program lies does not matter, as long as its sets stay.
    #[test]
    fn far_addresses_count_like_near_ones(pieces in prop::collection::vec(piece(), 1..4), far in prop::collection::vec(0..1u64 << 32, 3), seed: u64) {
        let levels = [Level::new(8, 4, Replacement::Lru), Level::new(16, 8, Replacement::TreePlru)];
        let mut near = CoreCaches::new(64, &levels).unwrap();
        let mut away = CoreCaches::new(64, &levels).unwrap();
        let mut random = Xorshift::new(seed);
        // Line numbers in three parts: each of them is moved by another multiple of 2^24 lines.
        let moved = |address: u64| {
            let part = (address >> 14) as usize % 3;
            address + ((3 * far[part] + part as u64) << 30) % (1 << 62)
        };
        for piece in pieces {
            let stream = piece.stream(&mut random);
            let moved: Vec<_> = stream.iter().map(|access| {
                let address = moved(access.address());
                if access.is_store() { PackedAccess::store(address) } else { PackedAccess::load(address) }
            }).collect();
            near.access(&stream).unwrap();
            away.access(&moved).unwrap();
            prop_assert_eq!(near.counts(), away.counts());
        }
    }
}
