//! The cluster's rules, one by one, worked out by hand.

use waykeeper_platform::{EntryTaken, Inclusion, Replacement};
use waykeeper_simulator::access::{Answer, Want};
use waykeeper_simulator::cache::{Cache, DIRTY, SHARED};
use waykeeper_simulator::counters::{CoreCounters, SharedCounters};
use waykeeper_simulator::filter::SnoopFilter;
use waykeeper_simulator::hierarchy::Hierarchy;
use waykeeper_simulator::mode::NoAllocateMode;
use waykeeper_simulator::private::{Private, SecondLevel};
use waykeeper_simulator::tags::Line;
use waykeeper_workload::Xorshift;

/// Two cores with one line of L1 and one of L2 each, a shared cache of one set and two ways, and a filter of given size.
fn cluster(cluster_ways: usize, interconnect_ways: usize) -> Hierarchy {
    let cache = |ways| Cache::new(1, ways, Replacement::Lru);
    let l2 = || Some(SecondLevel { cache: cache(1), inclusion: Inclusion::ExclusiveOfL1d });
    let core = || Private { l1d: cache(1), l1i: cache(1), l2: l2() };
    Hierarchy {
        cores: vec![core(), core()],
        shared: cache(2),
        fill_ways: vec![0b11, 0b11],
        cluster_filter: SnoopFilter::new(1, cluster_ways, Replacement::Lru),
        interconnect_filter: Some(SnoopFilter::new(1, interconnect_ways, Replacement::Lru)),
        interconnect_taken: EntryTaken::AtRequest,
        mode: None,
        writes: Vec::new(),
        disturbed: 0,
        counts: vec![CoreCounters::default(); 2],
        shared_counts: SharedCounters::default(),
        random: Xorshift::new(1),
    }
}

fn read_through(hierarchy: &mut Hierarchy, core: usize, line: Line, want: Want) {
    assert_eq!(hierarchy.access(core, line, want, 0), Answer::Memory);
    hierarchy.fill(core, line, want, 0);
}

#[test]
fn a_line_moves_out_level_by_level_and_back_at_once() {
    let mut cluster = cluster(8, 8);
    read_through(&mut cluster, 0, 1, Want::Write);
    assert!(cluster.shared.find(1).is_none(), "a first fill does not allocate in the shared cache");
    read_through(&mut cluster, 0, 2, Want::Read);
    assert!(cluster.shared.find(1).is_none(), "the second level is the first level's victim cache");
    read_through(&mut cluster, 0, 3, Want::Read);
    let place = cluster.shared.find(1).expect("the second level's victim allocates in the shared cache");
    assert_eq!(cluster.shared.flags(place), DIRTY);
    assert_eq!(cluster.access(0, 1, Want::Read, 0), Answer::Shared);
    assert!(cluster.shared.find(1).is_none(), "a refetch removes the line from the shared cache");
    assert!(cluster.writes.is_empty());
    assert_eq!(cluster.access(0, 1, Want::Read, 0), Answer::L1);
    assert_eq!(cluster.access(0, 3, Want::Read, 0), Answer::L2);
}

#[test]
fn a_line_that_a_second_core_reads_is_in_both_and_in_the_shared_cache() {
    let mut cluster = cluster(8, 8);
    read_through(&mut cluster, 0, 1, Want::Write);
    assert_eq!(cluster.access(1, 1, Want::Read, 0), Answer::OtherCore);
    let place = cluster.shared.find(1).unwrap();
    assert_eq!(cluster.shared.flags(place), DIRTY | SHARED);
    assert!(cluster.cores[0].holds(1) && cluster.cores[1].holds(1));
    // A write makes it exclusive again.
    assert_eq!(cluster.access(0, 1, Want::Write, 0), Answer::L1);
    assert!(!cluster.cores[1].holds(1) && cluster.shared.find(1).is_none());
    assert_eq!(cluster.access(1, 1, Want::Read, 0), Answer::OtherCore);
}

#[test]
fn the_clusters_filter_throws_a_line_out_of_its_core_into_the_shared_cache() {
    let mut cluster = cluster(2, 8);
    read_through(&mut cluster, 0, 1, Want::Write);
    read_through(&mut cluster, 1, 2, Want::Read);
    // The filter's two entries are taken; line 1 has the older one.
    assert_eq!(cluster.access(1, 3, Want::Read, 0), Answer::Memory);
    assert!(!cluster.cores[0].holds(1) && cluster.shared.find(1).is_some());
    assert_eq!((cluster.disturbed, cluster.counts[0].invalidated_by_cluster), (0b01, 1));
    // The entry of line 3 waits for its fill, so line 2 makes room next, and then there is none.
    assert_eq!(cluster.access(1, 4, Want::Read, 0), Answer::Memory);
    assert_eq!(cluster.access(0, 5, Want::Read, 0), Answer::ClusterBusy);
    assert_eq!(cluster.access(1, 3, Want::Read, 0), Answer::UnderWay);
    cluster.fill(1, 3, Want::Read, 0);
    assert_eq!(cluster.access(0, 5, Want::Read, 0), Answer::Memory);
}

#[test]
fn in_no_allocate_mode_what_is_thrown_out_goes_to_memory() {
    let mut cluster = cluster(1, 8);
    cluster.mode = Some(NoAllocateMode::new(1, 1000, 1000));
    read_through(&mut cluster, 0, 1, Want::Write);
    read_through(&mut cluster, 1, 2, Want::Read);
    assert_eq!(cluster.writes, [1]);
    assert!(cluster.shared.find(1).is_none());
    read_through(&mut cluster, 0, 3, Want::Read);
    assert_eq!(cluster.writes, [1], "line 2 was not changed, so nothing is written");
    let outer = cluster.interconnect_filter.as_ref().unwrap();
    assert_eq!(outer.held().collect::<Vec<_>>(), [3]);
}

#[test]
fn the_interconnects_filter_throws_a_line_out_of_the_cluster() {
    let mut cluster = cluster(8, 2);
    read_through(&mut cluster, 0, 1, Want::Write);
    read_through(&mut cluster, 1, 2, Want::Read);
    read_through(&mut cluster, 1, 3, Want::Read);
    assert!(!cluster.cores[0].holds(1) && cluster.shared.find(1).is_none());
    assert_eq!((cluster.writes.as_slice(), cluster.counts[0].invalidated_by_interconnect), (&[1][..], 1));
    assert_eq!(cluster.access(1, 4, Want::Read, 0), Answer::Memory);
    assert_eq!(cluster.access(1, 5, Want::Read, 0), Answer::Memory);
    assert_eq!(cluster.access(0, 6, Want::Read, 0), Answer::InterconnectBusy);
}

#[test]
fn each_core_fills_its_own_ways_of_the_shared_cache_and_hits_in_all() {
    let mut cluster = cluster(8, 8);
    cluster.fill_ways = vec![0b01, 0b10];
    for line in 1..=4 {
        read_through(&mut cluster, 0, line, Want::Read);
    }
    // L1 has 4, L2 has 3; 1 and 2 went to the only way that core 0 fills.
    assert_eq!(cluster.shared.held().collect::<Vec<_>>(), [2]);
    cluster.fill_ways = vec![0b10, 0b10];
    assert_eq!(cluster.access(0, 2, Want::Read, 0), Answer::Shared, "a line stays where it was, and hits there");
}
