//! What must hold after any sequence of accesses: exclusive means never in both, filters cover what is cached.

use proptest::prelude::*;
use waykeeper_platform::{Allocation, EntryTaken, Inclusion, Replacement};
use waykeeper_simulator::caches::access::{Answer, Want};
use waykeeper_simulator::caches::allocation::no_allocate_mode::NoAllocateMode;
use waykeeper_simulator::caches::cache::Cache;
use waykeeper_simulator::caches::hierarchy::{Effects, Hierarchy, Write};
use waykeeper_simulator::caches::node::HierarchyPlan;
use waykeeper_simulator::caches::private::{Private, SecondLevel};
use waykeeper_simulator::caches::shared_level::SharedLevel;
use waykeeper_simulator::caches::snoop_filter::SnoopFilter;
use waykeeper_simulator::line::Line;
use waykeeper_simulator::observe::label::Label;
use waykeeper_simulator::time::Ps;
use waykeeper_workload::Xorshift;

/// Small enough that every mechanism runs all the time: 3 cores of 8 to 16 lines, 32 shared lines, tight filters.
fn hierarchy(seed: u64, interconnect_ways: usize, interconnect_taken: EntryTaken) -> Hierarchy {
    let cache = |sets, ways, replacement| Cache::new(sets, ways, replacement);
    let core = |inclusion: Option<Inclusion>| {
        let l2 = inclusion.map(|inclusion| SecondLevel::new(cache(2, 4, Replacement::Lru), inclusion));
        Private::new(cache(2, 2, Replacement::TreePlru), cache(2, 2, Replacement::Random), l2)
    };
    let filter = |ways| SnoopFilter::new(4, ways, Replacement::Random);
    let l3 = SharedLevel::new(3, cache(4, 8, Replacement::Random), Allocation::ExclusiveUntilShared);
    let cluster = HierarchyPlan {
        cores: 0b111,
        cache: Some(l3),
        filter: Some((filter(5), EntryTaken::AtRequest)),
        mode: Some(NoAllocateMode::new(8, Ps::new(1000), Ps::new(300))),
    };
    let interconnect =
        HierarchyPlan { filter: Some((filter(interconnect_ways), interconnect_taken)), ..HierarchyPlan::new(0b111) };
    let cores = [Some(Inclusion::ExclusiveOfL1d), Some(Inclusion::InclusiveOfL1d), None].map(core);
    let mut hierarchy = Hierarchy::new(cores.into(), vec![cluster, interconnect], seed).unwrap();
    hierarchy.set_label(0, Label { class: 1, monitor: 1 });
    assert!(hierarchy.set_ways(3, 0, 1, [0b0000_0011; 2]) && hierarchy.set_ways(3, 0, 0, [0b1111_1100; 2]));
    hierarchy
}

/// The shared cache.
fn shared(hierarchy: &Hierarchy) -> &Cache {
    &hierarchy.nodes[0].cache.as_ref().unwrap().cache
}

/// The filter of the cluster, or of the interconnect.
fn filter(hierarchy: &Hierarchy, node: usize) -> &SnoopFilter {
    &hierarchy.nodes[node].filter.as_ref().unwrap().entries
}

/// An access and how long after the one before it comes.
#[derive(Debug, Clone, Copy)]
struct Action {
    core: usize,
    line: Line,
    want: Want,
    after: u64,
    answer_one: bool,
}

fn action() -> impl Strategy<Value = Action> {
    let want = prop_oneof![3 => Just(Want::Read), 2 => Just(Want::Write), 1 => Just(Want::Fetch)];
    (0..3usize, 0..48u32, want, prop_oneof![9 => 0..60u64, 1 => 300..900u64], any::<bool>()).prop_map(
        |(core, line, want, after, answer_one)| Action { core, line: Line::new(line), want, after, answer_one },
    )
}

struct Pending {
    core: usize,
    line: Line,
    want: Want,
}

fn check(hierarchy: &Hierarchy, pending: &[Pending]) {
    let in_cores = |line: Line| (0..3).filter(move |core| hierarchy.cores[*core].holds(line));
    for line in (0..48).map(Line::new) {
        let owners: u32 = in_cores(line).fold(0, |mask, core| mask | 1 << core);
        let in_shared = shared(hierarchy).find(line).is_some();
        let in_flight = pending.iter().any(|pending| pending.line == line);
        let entry = filter(hierarchy, 0).find(line);
        if in_flight {
            assert!(entry.is_some_and(|place| filter(hierarchy, 0).is_busy(place)), "{line:?} is not busy");
            assert!(owners == 0 && !in_shared, "{line:?} is both cached and under way");
        } else {
            let tracked = entry.map_or(0, |place| filter(hierarchy, 0).owners(place));
            assert_eq!(tracked, owners, "the cluster's filter is wrong about {line:?}");
        }
        if owners.count_ones() == 1 && in_shared {
            // Shared by two cores once, and one of them has lost it since.
            let place = shared(hierarchy).find(line).unwrap();
            assert!(
                shared(hierarchy).flags(place) & waykeeper_simulator::caches::flags::SHARED != 0,
                "{line:?} is in both"
            );
        }
        let outer = filter(hierarchy, 1);
        let taken = hierarchy.nodes[1].filter.as_ref().unwrap().taken;
        let expected = in_flight && taken == EntryTaken::AtRequest;
        assert_eq!(outer.find(line).is_some(), owners != 0 || in_shared || expected, "interconnect, {line:?}");
    }
    for (core, private) in hierarchy.cores.iter().enumerate() {
        let Some(l2) = &private.l2 else { continue };
        for line in private.l1d.held() {
            let both = l2.cache.find(line).is_some();
            assert_eq!(both, l2.inclusion == Inclusion::InclusiveOfL1d, "core {core}, {line:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_hierarchy_keeps_its_invariants(actions in prop::collection::vec(action(), 1..300), seed: u64, ways in 6..14usize, at_fill: bool) {
        let taken = if at_fill { EntryTaken::AtFill } else { EntryTaken::AtRequest };
        let mut hierarchy = hierarchy(seed, ways, taken);
        let mut pending: Vec<Pending> = Vec::new();
        let (mut now, mut effects) = (Ps::ZERO, Effects::default());
        for Action { core, line, want, after, answer_one } in actions {
            now += Ps::new(after);
            // Code and data never share a line here, as in any program: the upper lines are code.
            let want = if line >= Line::new(40) { Want::Fetch } else if want == Want::Fetch { Want::Read } else { want };
            let answer = hierarchy.access(core, line, want, now, &mut effects);
            if answer == Answer::Memory {
                pending.push(Pending { core, line, want });
            }
            check(&hierarchy, &pending);
            if answer_one && !pending.is_empty() {
                let Pending { core, line, want } = pending.remove(0);
                hierarchy.fill(core, line, want, now, &mut effects);
                check(&hierarchy, &pending);
            }
        }
    }

    /// A change that a core made is in some cache, or was written to memory, at all times.
    #[test]
    fn no_change_is_lost(actions in prop::collection::vec(action(), 1..300), seed: u64) {
        let mut hierarchy = hierarchy(seed, 8, EntryTaken::AtRequest);
        let mut changed = [false; 48];
        let (mut now, mut effects) = (Ps::ZERO, Effects::default());
        for Action { core, line, want, after, .. } in actions {
            now += Ps::new(after);
            let want = if line >= Line::new(40) { Want::Fetch } else if want == Want::Fetch { Want::Read } else { want };
            let answer = hierarchy.access(core, line, want, now, &mut effects);
            // What makes room may be this very line, before it is read again and changed anew.
            for Write { line: written, .. } in effects.writes.drain(..) {
                prop_assert!(changed[written.number() as usize], "{:?} was written without a change", written);
                changed[written.number() as usize] = false;
            }
            if answer == Answer::Memory {
                hierarchy.fill(core, line, want, now, &mut effects);
            }
            changed[line.number() as usize] |= want == Want::Write;
            for Write { line: written, .. } in effects.writes.drain(..) {
                prop_assert!(changed[written.number() as usize], "{:?} was written without a change", written);
                changed[written.number() as usize] = false;
            }
            for line in (0..48u32).filter(|line| changed[*line as usize]) {
                let dirty = |cache: &Cache| cache.find(Line::new(line)).is_some_and(|place| cache.flags(place) & 1 == 1);
                let held = hierarchy.cores.iter().any(|core| {
                    dirty(&core.l1d) || core.l2.as_ref().is_some_and(|l2| dirty(&l2.cache))
                });
                prop_assert!(held || dirty(shared(&hierarchy)), "the change of line {} is lost", line);
            }
        }
    }

    #[test]
    fn fills_obey_masks_and_hits_do_not(lines in prop::collection::vec((0..64u32, any::<bool>()), 1..400), seed: u64) {
        use Replacement::{Biased, BitPlru, Lru, Mru, Random, RoundRobin, TreePlru};
        for replacement in [Lru, TreePlru, BitPlru, Random, RoundRobin, Mru, Biased] {
            let mut cache = Cache::new(4, 8, replacement);
            let mut random = Xorshift::new(seed);
            let mut by_class = [[0usize; 4]; 2];
            let mut class_of = std::collections::BTreeMap::new();
            for (line, class) in &lines {
                let mask = if *class { 0b1100_0000 } else { 0b0011_1111 };
                if let Some(place) = cache.find(Line::new(*line)) {
                    cache.touch(place, 0);
                    continue;
                }
                if let Some(out) = cache.insert(Line::new(*line), 0, mask, &mut random) {
                    let owner: bool = class_of.remove(&out.line.number()).unwrap();
                    prop_assert_eq!(owner, *class, "a fill evicted from ways that are not its own");
                    by_class[usize::from(owner)][out.line.bits(3) as usize] -= 1;
                }
                class_of.insert(*line, *class);
                let held = &mut by_class[usize::from(*class)][(line & 3) as usize];
                *held += 1;
                prop_assert!(*held <= mask.count_ones() as usize);
                prop_assert!(cache.find(Line::new(*line)).is_some());
            }
        }
    }
}
