//! Counts that were worked out by hand.

use waykeeper_functional::{Addresses, CoreCaches, Level, LevelCounts, PackedAccess, StoreHit};
use waykeeper_platform::Replacement;
use waykeeper_workload::{Loop, Operation, Order, Pattern, TickBody};

fn kib(kib: u64, ways: u32, replacement: Replacement) -> Level {
    Level::of_bytes(kib << 10, ways, 64, replacement)
}

/// 32 KiB 4-way, 256 KiB 8-way, 2 MiB 16-way: 128, 512 and 2048 sets.
fn three_levels() -> CoreCaches {
    let lru = |size, ways| kib(size, ways, Replacement::Lru);
    CoreCaches::new(64, &[lru(32, 4), lru(256, 8), lru(2048, 16)]).unwrap()
}

fn counts(loads: u64, misses: u64, stores: u64, evicts: u64) -> LevelCounts {
    LevelCounts { loads, hits: loads - misses, misses, stores, evicts }
}

/// The same 64 KiB read twice through 64 KiB of 8 ways. The arithmetic is at the test of the same vector for the timed
/// caches, in `src/replacement/tests.rs`.
#[test]
fn mru_gives_the_golden_vector_by_allocated_ways() {
    let lines: Vec<u64> = (0..1024).map(|line| line * 64).collect();
    let hits = |allocated: u32| {
        let level = kib(64, 8, Replacement::Mru).filling(u32::MAX >> (32 - allocated));
        let mut caches = CoreCaches::new(64, &[level]).unwrap();
        caches.load(&lines).unwrap();
        caches.load(&lines).unwrap();
        caches.counts()[0].hits
    };
    assert_eq!([1, 2, 3, 4, 5, 6, 7, 8].map(hits), [0, 256, 384, 512, 640, 768, 896, 1024]);
}

/// Under LRU a loop over more than the allocated ways never hits, and one that fits always does.
#[test]
fn lru_gives_all_or_nothing_by_allocated_ways() {
    let lines: Vec<u64> = (0..1024).map(|line| line * 64).collect();
    let hits = |allocated: u32| {
        let level = kib(64, 8, Replacement::Lru).filling(u32::MAX >> (32 - allocated));
        let mut caches = CoreCaches::new(64, &[level]).unwrap();
        caches.load(&lines).unwrap();
        caches.load(&lines).unwrap();
        caches.counts()[0].hits
    };
    assert_eq!([1, 4, 7, 8].map(hits), [0, 0, 0, 1024]);
}

#[test]
fn a_walk_that_fits_into_the_first_level_misses_once_a_line() {
    let mut caches = three_levels();
    let walk: Vec<u64> = (0..4096).map(|step| step * 8).collect();
    for _ in 0..10 {
        caches.load(&walk).unwrap();
    }
    // 32 KiB are 512 lines: each is missed once in each level.
    assert_eq!(caches.counts(), [counts(40_960, 512, 0, 0), counts(512, 512, 0, 0), counts(512, 512, 0, 0)]);
}

/// 64 lines 128 KiB apart fall into one set of every level: 131072 / 64 is 2048, a multiple of 128, 512 and 2048. They are
/// four times what the largest set holds, so under LRU nothing ever hits.
#[test]
fn way_hammer_misses_everywhere() {
    let hammer = Pattern::Walk {
        operation: Operation::Read,
        outer: Loop { count: 2048, stride: 64 },
        inner: Loop { count: 64, stride: 131_072 },
    };
    let mut caches = three_levels();
    let mut addresses = Addresses::new(&hammer, 1).unwrap();
    let passes = 3 * 2048 * 64;
    caches.follow(&mut addresses, passes).unwrap();
    assert_eq!(caches.counts(), [counts(passes, passes, 0, 0); 3]);
}

/// The same with a load and a store to each line, which hits in the first level. Where a store that hits is no use, a set
/// keeps the last 4, 8 or 16 lines that were loaded, so a line is there still when the level inside stores it: no store
/// misses, and every line leaves dirty. All leave but those that stay: 512, 4096 and 32768 lines.
#[test]
fn way_hammer_that_modifies_writes_everything_back() {
    let hammer = Pattern::Walk {
        operation: Operation::Modify,
        outer: Loop { count: 2048, stride: 64 },
        inner: Loop { count: 64, stride: 131_072 },
    };
    let levels =
        three_levels().levels().iter().map(|level| level.with_store_hit(StoreHit::MarkOnly)).collect::<Vec<_>>();
    let mut caches = CoreCaches::new(64, &levels).unwrap();
    let pass = 2048 * 64;
    caches.follow(&mut Addresses::new(&hammer, 1).unwrap(), pass).unwrap();
    let first = counts(pass, pass, pass, pass - 512);
    let second = counts(pass, pass, pass - 512, pass - 4096);
    let third = counts(pass, pass, pass - 4096, pass - 32_768);
    assert_eq!(caches.counts(), [first, second, third]);
}

/// Where it is a use, one set of 4 ways before one of 8 shows what follows. The second level sees loads 0 to 7 with stores
/// 0 to 3 among them: load 4, store 0, load 5, store 1, load 6, store 2, load 7, store 3. The oldest use is now load 4, so
/// load 8 takes the place of 4, and the store of 4 that follows finds it gone. It takes the place of 0, which is dirty.
#[test]
fn written_back_lines_push_out_the_ones_that_will_be() {
    let lru = |ways| Level::new(1, ways, Replacement::Lru);
    let mut caches = CoreCaches::new(64, &[lru(4), lru(8)]).unwrap();
    for line in 0..9 {
        caches.access(&[PackedAccess::load(line * 64), PackedAccess::store(line * 64)]).unwrap();
    }
    // Second level: 9 loads and the one of line 4, all missed; stores 0 to 4; line 0 leaves.
    assert_eq!(caches.counts(), [counts(9, 9, 9, 5), counts(10, 10, 5, 1)]);
}

/// Two sets of one way: 0 and 2 share a set, 1 has the other.
#[test]
fn a_store_miss_loads_the_line_and_its_eviction_stores_it() {
    let level = |sets| Level::new(sets, 1, Replacement::Lru);
    let mut caches = CoreCaches::new(64, &[level(2), level(4)]).unwrap();
    let line = |n: u64| n * 64;
    // Store 0: misses both levels. Load 2: misses both, 0 leaves the first level dirty; the second has it and it hits.
    caches.access(&[PackedAccess::store(line(0)), PackedAccess::load(line(2))]).unwrap();
    assert_eq!(caches.counts(), [counts(2, 2, 1, 1), counts(2, 2, 1, 0)]);
    // Load 4: takes the place of 2 (clean) in the first level and of 0 (dirty) in the second: one eviction, to memory.
    caches.access(&[PackedAccess::load(line(4))]).unwrap();
    assert_eq!(caches.counts(), [counts(3, 3, 1, 1), counts(3, 3, 1, 1)]);
    assert!(!caches.holds(1, line(0)) && caches.holds(1, line(2)) && caches.holds(0, line(4)));
}

/// One set of two ways. The store to 0 is a use or is none: then 0 is still the oldest, and 2 takes its place.
#[test]
fn a_store_that_hits_is_a_use_or_only_a_mark() {
    for (store_hit, kept, gone, evicts) in [(StoreHit::Use, 0, 64, 0), (StoreHit::MarkOnly, 64, 0, 1)] {
        let level = Level::new(1, 2, Replacement::Lru).with_store_hit(store_hit);
        let mut caches = CoreCaches::new(64, &[level]).unwrap();
        caches
            .access(&[PackedAccess::load(0), PackedAccess::load(64), PackedAccess::store(0), PackedAccess::load(128)])
            .unwrap();
        assert!(caches.holds(0, kept) && !caches.holds(0, gone), "{store_hit:?}");
        assert_eq!(caches.counts(), [counts(3, 3, 1, evicts)], "{store_hit:?}");
    }
}

/// A chase visits each of its lines once before it returns: with 64 lines in a level of 32, LRU never hits.
#[test]
fn a_chase_over_more_than_a_set_can_hold_never_hits() {
    let chase = Pattern::Chase { elements: 64, stride: 64, order: Order::Random, batch: 8 };
    let mut caches = CoreCaches::new(64, &[Level::new(1, 32, Replacement::Lru)]).unwrap();
    caches.follow(&mut Addresses::new(&chase, 3).unwrap(), 6400).unwrap();
    assert_eq!(caches.counts(), [counts(6400, 6400, 0, 0)]);
    let mut caches = CoreCaches::new(64, &[Level::new(2, 32, Replacement::Lru)]).unwrap();
    caches.follow(&mut Addresses::new(&chase, 3).unwrap(), 6400).unwrap();
    assert_eq!(caches.counts(), [counts(6400, 64, 0, 0)]);
}

#[test]
fn what_cannot_be_is_refused_with_its_key() {
    let lru = |sets, ways| Level::new(sets, ways, Replacement::Lru);
    let refused = |line, levels: &[Level]| CoreCaches::new(line, levels).unwrap_err().what;
    assert_eq!(refused(64, &[]), "levels");
    assert_eq!(refused(48, &[lru(1, 1)]), "line_bytes");
    assert_eq!(refused(64, &[lru(1, 1), lru(3, 1)]), "levels.1.sets");
    assert_eq!(refused(64, &[lru(0, 1)]), "levels.0.sets");
    assert_eq!(refused(64, &[lru(1, 0)]), "levels.0.ways");
    assert_eq!(refused(64, &[lru(1, 33)]), "levels.0.ways");
    assert_eq!(refused(64, &[Level::new(1, 6, Replacement::TreePlru)]), "levels.0.ways");
    assert_eq!(refused(64, &[lru(1, 2).filling(0b100)]), "levels.0.fill_ways");
    assert_eq!(refused(64, &[lru(1, 2).filling(0)]), "levels.0.fill_ways");
    let mut caches = CoreCaches::new(64, &[lru(1, 2)]).unwrap();
    assert_eq!(caches.set_fill_ways(0, 0b01).unwrap_err().what, "levels.0.fill_ways");
    assert_eq!(caches.set_fill_ways(1, 0b01).unwrap_err().what, "levels.1");
    let tick = Pattern::Tick { body: TickBody::Nothing };
    assert_eq!(Addresses::new(&tick, 1).unwrap_err().what, "workload");
}

#[test]
fn counts_begin_anew_and_lines_stay() {
    let mut caches = CoreCaches::new(64, &[Level::new(1, 2, Replacement::Lru)]).unwrap();
    caches.load(&[0, 64]).unwrap();
    caches.reset_counts();
    caches.load(&[0, 64]).unwrap();
    assert_eq!(caches.counts(), [counts(2, 0, 0, 0)]);
}
