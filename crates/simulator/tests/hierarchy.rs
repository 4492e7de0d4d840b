//! The cluster's rules, one by one, worked out by hand.

use std::ops::{Deref, DerefMut};
use waykeeper_platform::{Allocation, EntryTaken, Inclusion, Replacement};
use waykeeper_simulator::caches::access::{Answer, Want};
use waykeeper_simulator::caches::allocation::no_allocate_mode::NoAllocateMode;
use waykeeper_simulator::caches::cache::Cache;
use waykeeper_simulator::caches::flags::{DIRTY, SHARED};

use waykeeper_simulator::caches::hierarchy::{Effects, Hierarchy};
use waykeeper_simulator::caches::node::HierarchyPlan;
use waykeeper_simulator::caches::private::{Private, SecondLevel};
use waykeeper_simulator::caches::shared_level::SharedLevel;
use waykeeper_simulator::caches::snoop_filter::SnoopFilter;
use waykeeper_simulator::line::Line;
use waykeeper_simulator::observe::label::Label;
use waykeeper_simulator::time::Ps;

/// Caches at time zero, and all that they caused outside.
struct Caches {
    hierarchy: Hierarchy,
    effects: Effects,
}

impl Caches {
    fn new(hierarchy: Hierarchy) -> Self {
        Self { hierarchy, effects: Effects::default() }
    }

    fn access(&mut self, core: usize, line: Line, want: Want) -> Answer {
        self.hierarchy.access(core, line, want, Ps::ZERO, &mut self.effects)
    }

    fn fill(&mut self, core: usize, line: Line, want: Want) {
        self.hierarchy.fill(core, line, want, Ps::ZERO, &mut self.effects);
    }
}

impl Deref for Caches {
    type Target = Hierarchy;

    fn deref(&self) -> &Hierarchy {
        &self.hierarchy
    }
}

impl DerefMut for Caches {
    fn deref_mut(&mut self) -> &mut Hierarchy {
        &mut self.hierarchy
    }
}

/// Two cores with one line of L1 and one of L2 each, a shared cache of one set and two ways, and a filter of given size.
fn cluster(cluster_ways: usize, interconnect_ways: usize) -> Caches {
    cluster_with(cluster_ways, interconnect_ways, None)
}

fn cluster_with(cluster_ways: usize, interconnect_ways: usize, mode: Option<NoAllocateMode>) -> Caches {
    let cache = |ways| Cache::new(1, ways, Replacement::Lru);
    let l2 = || Some(SecondLevel::new(cache(1), Inclusion::ExclusiveOfL1d));
    let core = || Private::new(cache(1), cache(1), l2());
    let filter = |ways| Some((SnoopFilter::new(1, ways, Replacement::Lru), EntryTaken::AtRequest));
    let cache = Some(SharedLevel::new(3, cache(2), Allocation::ExclusiveUntilShared));
    let cluster = HierarchyPlan { cores: 0b11, cache, filter: filter(cluster_ways), mode };
    let interconnect = HierarchyPlan { filter: filter(interconnect_ways), ..HierarchyPlan::new(0b11) };
    Caches::new(Hierarchy::new(vec![core(), core()], vec![cluster, interconnect], 1).unwrap())
}

/// The shared cache.
fn shared(hierarchy: &Hierarchy) -> &Cache {
    &hierarchy.nodes[0].cache.as_ref().unwrap().cache
}

fn read_through(caches: &mut Caches, core: usize, line: Line, want: Want) {
    assert_eq!(caches.access(core, line, want), Answer::Memory);
    caches.fill(core, line, want);
}

#[test]
fn a_line_moves_out_level_by_level_and_back_at_once() {
    let mut cluster = cluster(8, 8);
    read_through(&mut cluster, 0, Line::new(1), Want::Write);
    assert!(shared(&cluster).find(Line::new(1)).is_none(), "a first fill does not allocate in the shared cache");
    read_through(&mut cluster, 0, Line::new(2), Want::Read);
    assert!(shared(&cluster).find(Line::new(1)).is_none(), "the second level is the first level's victim cache");
    read_through(&mut cluster, 0, Line::new(3), Want::Read);
    let place = shared(&cluster).find(Line::new(1)).expect("the second level's victim allocates in the shared cache");
    assert_eq!(shared(&cluster).flags(place), DIRTY);
    assert_eq!(cluster.access(0, Line::new(1), Want::Read), Answer::Shared(3));
    assert!(shared(&cluster).find(Line::new(1)).is_none(), "a refetch removes the line from the shared cache");
    assert!(cluster.effects.writes.is_empty());
    assert_eq!(cluster.access(0, Line::new(1), Want::Read), Answer::L1);
    assert_eq!(cluster.access(0, Line::new(3), Want::Read), Answer::L2);
}

#[test]
fn a_line_that_a_second_core_reads_is_in_both_and_in_the_shared_cache() {
    let mut cluster = cluster(8, 8);
    read_through(&mut cluster, 0, Line::new(1), Want::Write);
    assert_eq!(cluster.access(1, Line::new(1), Want::Read), Answer::OtherCore);
    let place = shared(&cluster).find(Line::new(1)).unwrap();
    assert_eq!(shared(&cluster).flags(place), DIRTY | SHARED);
    assert!(cluster.cores[0].holds(Line::new(1)) && cluster.cores[1].holds(Line::new(1)));
    // A write makes it exclusive again.
    assert_eq!(cluster.access(0, Line::new(1), Want::Write), Answer::L1);
    assert!(!cluster.cores[1].holds(Line::new(1)) && shared(&cluster).find(Line::new(1)).is_none());
    assert_eq!(cluster.access(1, Line::new(1), Want::Read), Answer::OtherCore);
}

#[test]
fn the_clusters_filter_throws_a_line_out_of_its_core_into_the_shared_cache() {
    let mut cluster = cluster(2, 8);
    read_through(&mut cluster, 0, Line::new(1), Want::Write);
    read_through(&mut cluster, 1, Line::new(2), Want::Read);
    // The filter's two entries are taken; line 1 has the older one.
    assert_eq!(cluster.access(1, Line::new(3), Want::Read), Answer::Memory);
    assert!(!cluster.cores[0].holds(Line::new(1)) && shared(&cluster).find(Line::new(1)).is_some());
    assert_eq!((cluster.effects.disturbed, cluster.counts[0].invalidated_by_cluster), (0b01, 1));
    // The entry of line 3 waits for its fill, so line 2 makes room next, and then there is none.
    assert_eq!(cluster.access(1, Line::new(4), Want::Read), Answer::Memory);
    assert_eq!(cluster.access(0, Line::new(5), Want::Read), Answer::Busy(0));
    assert_eq!(cluster.access(1, Line::new(3), Want::Read), Answer::InFlight);
    cluster.fill(1, Line::new(3), Want::Read);
    assert_eq!(cluster.access(0, Line::new(5), Want::Read), Answer::Memory);
}

#[test]
fn in_no_allocate_mode_what_is_thrown_out_goes_to_memory() {
    let mut cluster = cluster_with(1, 8, Some(NoAllocateMode::new(1, Ps::new(1000), Ps::new(1000))));
    read_through(&mut cluster, 0, Line::new(1), Want::Write);
    read_through(&mut cluster, 1, Line::new(2), Want::Read);
    let written = |cluster: &Caches| cluster.effects.writes.iter().map(|write| write.line).collect::<Vec<_>>();
    assert_eq!(written(&cluster), [Line::new(1)]);
    assert!(shared(&cluster).find(Line::new(1)).is_none());
    read_through(&mut cluster, 0, Line::new(3), Want::Read);
    assert_eq!(written(&cluster), [Line::new(1)], "line 2 was not changed, so nothing is written");
    let outer = cluster.nodes[1].filter.as_ref().unwrap();
    assert_eq!(outer.entries.held().collect::<Vec<_>>(), [Line::new(3)]);
}

#[test]
fn the_interconnects_filter_throws_a_line_out_of_the_cluster() {
    let mut cluster = cluster(8, 2);
    read_through(&mut cluster, 0, Line::new(1), Want::Write);
    read_through(&mut cluster, 1, Line::new(2), Want::Read);
    read_through(&mut cluster, 1, Line::new(3), Want::Read);
    assert!(!cluster.cores[0].holds(Line::new(1)) && shared(&cluster).find(Line::new(1)).is_none());
    assert_eq!((cluster.effects.writes[0].line, cluster.effects.writes.len()), (Line::new(1), 1));
    assert_eq!(cluster.counts[0].invalidated_by_interconnect, 1);
    assert_eq!(cluster.access(1, Line::new(4), Want::Read), Answer::Memory);
    assert_eq!(cluster.access(1, Line::new(5), Want::Read), Answer::Memory);
    assert_eq!(cluster.access(0, Line::new(6), Want::Read), Answer::Busy(1));
}

#[test]
fn each_core_fills_its_own_ways_of_the_shared_cache_and_hits_in_all() {
    let mut cluster = cluster(8, 8);
    (0..2).for_each(|core| cluster.set_label(core, Label { class: core as u8 + 1, monitor: 0 }));
    assert!(cluster.set_ways(3, 0, 1, [0b01; 2]) && cluster.set_ways(3, 1, 2, [0b10; 2]));
    for line in 1..=4 {
        read_through(&mut cluster, 0, Line::new(line), Want::Read);
    }
    // L1 has 4, L2 has 3; 1 and 2 went to the only way that core 0 fills.
    assert_eq!(shared(&cluster).held().collect::<Vec<_>>(), [Line::new(2)]);
    cluster.set_ways(3, 0, 1, [0b10; 2]);
    assert_eq!(
        cluster.access(0, Line::new(2), Want::Read),
        Answer::Shared(3),
        "a line stays where it was, and hits there"
    );
}

#[test]
fn a_line_that_a_neighbour_pushes_outward_goes_to_the_ways_of_its_own_class() {
    // Two cores with one line of L1, an L2 of one line and an L3 of one set and two ways, both for evictions.
    let cache = |ways| Cache::new(1, ways, Replacement::Lru);
    let level = |level, ways| Some(SharedLevel::new(level, cache(ways), Allocation::Victim));
    let plan = |level| HierarchyPlan { cache: level, ..HierarchyPlan::new(0b11) };
    let cores = (0..2).map(|_| Private::new(cache(1), cache(1), None)).collect();
    let hierarchy = Hierarchy::new(cores, vec![plan(level(2, 1)), plan(level(3, 2))], 1).unwrap();
    let mut caches = Caches::new(hierarchy);
    caches.set_label(0, Label { class: 1, monitor: 5 });
    assert!(caches.set_ways(3, 0, 1, [0b10; 2]) && caches.set_ways(3, 0, 0, [0b01; 2]));
    // Line 1 of core 0 moves to the L2; then core 1 pushes its own line 3 there, and line 1 on to the L3.
    read_through(&mut caches, 0, Line::new(1), Want::Read);
    read_through(&mut caches, 0, Line::new(2), Want::Read);
    read_through(&mut caches, 1, Line::new(3), Want::Read);
    read_through(&mut caches, 1, Line::new(4), Want::Read);
    let outer = &caches.nodes[1].cache.as_ref().unwrap().cache;
    assert_eq!(outer.find(Line::new(1)).map(|place| place.way), Some(1));
    assert_eq!(caches.occupancy(3, 0).unwrap()[..2], [0, 1]);
    assert_eq!([0, 5].map(|monitor| caches.shared_level(3, 0).unwrap().0.held()[monitor]), [0, 1]);
}

#[test]
fn a_line_in_flight_to_the_shared_cache_is_not_asked_for_twice() {
    let mut cluster = cluster(8, 8);
    assert_eq!(cluster.access(0, Line::new(1), Want::Prefetch { level: 3 }), Answer::Memory);
    // The cluster's filter has no entry for it: it goes no further in than the shared cache.
    assert_eq!(cluster.access(1, Line::new(1), Want::Read), Answer::InFlight);
    cluster.fill(0, Line::new(1), Want::Prefetch { level: 3 });
    assert_eq!(cluster.access(1, Line::new(1), Want::Read), Answer::Shared(3));
}

#[test]
fn a_store_that_joins_a_load_changes_the_line_where_the_load_wants_it() {
    let mut cluster = cluster(8, 8);
    cluster.set_store_level(0, 3);
    assert_eq!(cluster.access(0, Line::new(1), Want::Read), Answer::Memory);
    assert_eq!(cluster.access(0, Line::new(1), Want::Write), Answer::InFlight);
    cluster.fill(0, Line::new(1), Want::Read.joined(Want::Write));
    let l1d = &cluster.cores[0].l1d;
    assert_eq!(l1d.find(Line::new(1)).map(|place| l1d.flags(place)), Some(DIRTY));
    // One that misses goes no further in than the shared cache.
    read_through(&mut cluster, 0, Line::new(2), Want::Write);
    assert!(!cluster.cores[0].holds(Line::new(2)) && shared(&cluster).find(Line::new(2)).is_some());
}
