//! What a mask that is written leaves where it is, line by line.

use waykeeper_platform::{Allocation, Replacement};
use waykeeper_simulator::caches::access::{Answer, Want};
use waykeeper_simulator::caches::cache::Cache;
use waykeeper_simulator::caches::hierarchy::{Effects, Hierarchy};
use waykeeper_simulator::caches::node::HierarchyPlan;
use waykeeper_simulator::caches::private::Private;
use waykeeper_simulator::caches::shared_level::SharedLevel;
use waykeeper_simulator::line::Line;
use waykeeper_simulator::observe::label::Label;
use waykeeper_simulator::time::Ps;

/// Two cores with a first level of one line each before four shared ways of one set, the least recently used first.
fn four_ways() -> Hierarchy {
    let cache = |ways| Cache::new(1, ways, Replacement::Lru);
    let shared = SharedLevel::new(3, cache(4), Allocation::NonInclusive);
    let cores = (0..2).map(|_| Private::new(cache(1), cache(1), None)).collect();
    Hierarchy::new(cores, vec![HierarchyPlan { cache: Some(shared), ..HierarchyPlan::new(0b11) }], 1).unwrap()
}

fn read(caches: &mut Hierarchy, core: usize, line: u32) -> Answer {
    let answer = caches.access(core, Line::new(line), Want::Read, Ps::ZERO, &mut Effects::default());
    if answer == Answer::Memory {
        caches.fill(core, Line::new(line), Want::Read, Ps::ZERO, &mut Effects::default());
    }
    answer
}

fn read_all(caches: &mut Hierarchy, core: usize, lines: std::ops::RangeInclusive<u32>) {
    for line in lines {
        read(caches, core, line);
    }
}

/// What lies in each of the four ways.
fn ways(caches: &Hierarchy) -> [u32; 4] {
    let cache = &caches.nodes[0].cache.as_ref().unwrap().cache;
    let way = |way| cache.held().find(|line| cache.find(*line).unwrap().way == way).map_or(0, Line::number);
    [0, 1, 2, 3].map(way)
}

fn held(caches: &Hierarchy, monitor: usize) -> u32 {
    caches.nodes[0].cache.as_ref().unwrap().held()[monitor]
}

#[test]
fn after_a_mask_is_written_old_lines_stay_until_their_ways_are_filled_by_others() {
    let mut caches = four_ways();
    caches.set_label(0, Label { class: 1, monitor: 1 });
    caches.set_label(1, Label { class: 2, monitor: 2 });
    // Empty ways are filled from the lowest on.
    read_all(&mut caches, 0, 11..=14);
    assert_eq!((ways(&caches), held(&caches, 1), held(&caches, 2)), ([11, 12, 13, 14], 4, 0));
    // Core 0 keeps way 0, core 1 fills ways 1 to 3.
    assert!(caches.set_ways(3, 0, 1, [0b0001; 2]) && caches.set_ways(3, 0, 2, [0b1110; 2]));
    assert_eq!((ways(&caches), held(&caches, 1)), ([11, 12, 13, 14], 4), "a write moves nothing");
    // Hits ignore the mask: 12 is in way 1 still. It is now more recent than 13 and 14.
    assert_eq!(read(&mut caches, 0, 12), Answer::Shared(3));
    // What core 0 misses goes to its way alone, though 13 is older.
    assert_eq!(read(&mut caches, 0, 15), Answer::Memory);
    assert_eq!((ways(&caches), held(&caches, 1)), ([15, 12, 13, 14], 4));
    // What core 1 misses takes core 0's old lines one by one, the least recently used first: 13, 14, 12.
    for (line, expected, left) in [(21, [15, 12, 21, 14], 3), (22, [15, 12, 21, 22], 2), (23, [15, 23, 21, 22], 1)] {
        assert_eq!(read(&mut caches, 1, line), Answer::Memory);
        assert_eq!((ways(&caches), held(&caches, 1), held(&caches, 2)), (expected, left, 4 - left));
    }
    assert_eq!(read(&mut caches, 0, 13), Answer::Memory);
    assert_eq!(ways(&caches), [13, 23, 21, 22]);
}

#[test]
fn a_core_that_moves_to_another_class_fills_its_ways_and_leaves_its_old_lines_to_the_old_monitor() {
    let mut caches = four_ways();
    assert!(caches.set_ways(3, 0, 1, [0b0011; 2]) && caches.set_ways(3, 0, 2, [0b1100; 2]));
    caches.set_label(0, Label { class: 1, monitor: 5 });
    read_all(&mut caches, 0, 11..=13);
    // 13 took the place of 11.
    assert_eq!((ways(&caches), held(&caches, 5)), ([13, 12, 0, 0], 2));
    caches.set_label(0, Label { class: 2, monitor: 6 });
    // A hit does not move a line to the new monitor.
    assert_eq!(read(&mut caches, 0, 12), Answer::Shared(3));
    assert_eq!((held(&caches, 5), held(&caches, 6)), (2, 0));
    read_all(&mut caches, 0, 14..=16);
    assert_eq!((ways(&caches), held(&caches, 5), held(&caches, 6)), ([13, 12, 16, 15], 2, 2));
}

#[test]
fn reserved_ways_are_nobodys_until_they_are_released() {
    let mut caches = four_ways();
    for (line, ways) in [(11, 0b0001), (12, 0b0010)] {
        assert_eq!(caches.lock(3, 0, Line::new(line), ways, Ps::ZERO, &mut Effects::default()), Ok(()));
    }
    caches.reserve_ways(3, 0, 0b0011);
    read_all(&mut caches, 1, 21..=24);
    assert_eq!(ways(&caches), [11, 12, 23, 24]);
    caches.release_ways(3, 0, 0b0011);
    // The ways are everybody's again, and their lines make room: 11 and 12 are the oldest.
    read_all(&mut caches, 1, 25..=26);
    assert_eq!(ways(&caches), [25, 26, 23, 24]);
}
