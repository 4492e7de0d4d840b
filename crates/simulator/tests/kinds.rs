//! What must hold in any hierarchy after any sequence of accesses: filters cover what is cached, inclusive caches have
//! what lies inside, exclusive ones do not, changes are somewhere, locked lines stay.

mod setups;

use proptest::prelude::*;
use waykeeper_platform::{Allocation, EntryTaken, Inclusion};
use waykeeper_simulator::caches::access::{Answer, Want};
use waykeeper_simulator::caches::cache::Cache;
use waykeeper_simulator::caches::flags::{DIRTY, Flags, SHARED};
use waykeeper_simulator::caches::hierarchy::{Effects, Hierarchy};
use waykeeper_simulator::caches::node::NodeChild;
use waykeeper_simulator::line::Line;
use waykeeper_simulator::time::Ps;

use setups::{Action, CORES, LINES, Setup, action, setup};

#[derive(Debug, Clone, Copy)]
struct Pending {
    core: usize,
    line: Line,
    want: Want,
}

fn flags(cache: &Cache, line: Line) -> Option<Flags> {
    cache.find(line).map(|place| cache.flags(place))
}

/// The flags of a core's data copies.
fn in_core(hierarchy: &Hierarchy, core: usize, line: Line) -> Option<Flags> {
    let private = &hierarchy.cores[core];
    let second = private.l2.as_ref().and_then(|l2| flags(&l2.cache, line));
    match (flags(&private.l1d, line), second) {
        (None, None) => None,
        (first, second) => Some(first.unwrap_or(0) | second.unwrap_or(0)),
    }
}

fn in_unit(hierarchy: &Hierarchy, unit: NodeChild, line: Line) -> bool {
    match unit {
        NodeChild::Core(core) => in_core(hierarchy, core, line).is_some(),
        NodeChild::Node(at) => {
            let node = &hierarchy.nodes[at];
            node.cache.as_ref().is_some_and(|shared| shared.cache.find(line).is_some())
                || node.units.iter().any(|unit| in_unit(hierarchy, *unit, line))
        }
    }
}

/// By line, how many caches have a copy that was changed since it left the next one outward. There may be several: who
/// changes a line that a cache further out has changed before does not take the older change away from there.
fn changes(hierarchy: &Hierarchy) -> Vec<usize> {
    let private = hierarchy.cores.iter().flat_map(|core| [Some(&core.l1d), core.l2.as_ref().map(|l2| &l2.cache)]);
    let shared = hierarchy.nodes.iter().map(|at| at.cache.as_ref().map(|shared| &shared.cache));
    let caches: Vec<_> = private.chain(shared).flatten().collect();
    let count = |line| caches.iter().filter(|cache| flags(cache, line).is_some_and(|flags| flags & DIRTY != 0)).count();
    (0..LINES).map(Line::new).map(count).collect()
}

fn check(hierarchy: &Hierarchy, pending: &[Pending]) {
    for line in (0..LINES).map(Line::new) {
        let cores: Vec<_> = (0..CORES).filter_map(|core| Some((core, in_core(hierarchy, core, line)?))).collect();
        let in_flight = pending.iter().any(|pending| pending.line == line);
        let shared_copies =
            hierarchy.nodes.iter().filter_map(|at| flags(&at.cache.as_ref()?.cache, line)).collect::<Vec<_>>();
        if in_flight {
            assert!(cores.is_empty() && shared_copies.is_empty(), "{line:?} is both cached and under way");
        }
        if cores.len() > 1 {
            assert!(cores.iter().all(|(_, flags)| flags & SHARED != 0), "{line:?} is in {cores:?} without notice");
            assert!(cores.iter().all(|(_, flags)| flags & DIRTY == 0), "{line:?} is in {cores:?} and changed");
        }
        for (at, node) in hierarchy.nodes.iter().enumerate() {
            let inside = node.units.iter().enumerate().filter(|(_, unit)| in_unit(hierarchy, **unit, line));
            let inside = inside.fold(0u32, |mask, (bit, _)| mask | 1 << bit);
            if let Some(filter) = &node.filter {
                let entry = filter.entries.find(line);
                let busy = entry.is_some_and(|place| filter.entries.is_busy(place));
                let of_inside = pending.iter().any(|p| p.line == line && node.cores >> p.core & 1 == 1);
                assert!(!busy || (of_inside && filter.taken == EntryTaken::AtRequest), "node {at}, {line:?}");
                if !busy {
                    let owners = entry.map_or(0, |place| filter.entries.owners(place));
                    assert_eq!(owners, inside, "the filter of node {at} about {line:?}");
                }
            }
            let Some(shared) = &node.cache else { continue };
            let copy = flags(&shared.cache, line);
            match shared.allocation {
                Allocation::Inclusive => {
                    assert!(copy.is_some() || inside == 0, "{line:?} is inside of node {at} but not in it");
                    let fetched = (0..CORES)
                        .filter(|core| node.cores >> core & 1 == 1)
                        .any(|core| hierarchy.cores[core].l1i.find(line).is_some());
                    assert!(copy.is_some() || !fetched, "the instruction {line:?}, node {at}");
                }
                Allocation::ExclusiveUntilShared | Allocation::Victim => {
                    let shared = copy.is_some_and(|flags| flags & SHARED != 0);
                    assert!(copy.is_none() || inside == 0 || shared, "{line:?} is in node {at} and inside");
                }
                Allocation::NonInclusive => {}
            }
        }
    }
    for (core, private) in hierarchy.cores.iter().enumerate() {
        let Some(l2) = &private.l2 else { continue };
        for line in private.l1d.held() {
            let both = l2.cache.find(line).is_some();
            assert!(both || l2.inclusion != Inclusion::InclusiveOfL1d, "core {core}, {line:?}: not in both");
            assert!(!both || l2.inclusion != Inclusion::ExclusiveOfL1d, "core {core}, {line:?}: in both");
        }
    }
}

/// Runs a setup; `each` sees every state.
fn run(setup: &Setup, actions: &[Action], mut each: impl FnMut(&Hierarchy, &[Pending])) {
    let (mut hierarchy, mut effects) = (setup.build(), Effects::default());
    let mut pending: Vec<Pending> = Vec::new();
    let mut before = vec![0; LINES as usize];
    for (now, action) in actions.iter().enumerate() {
        let now = Ps::new(now as u64);
        let mut stored = None;
        match *action {
            Action::Access { core, line, want } => {
                let answer = hierarchy.access(core, line, want, now, &mut effects);
                match answer {
                    Answer::Memory if want == Want::Walk && setup.reads_past_caches(core) => {}
                    Answer::Memory => pending.push(Pending { core, line, want }),
                    Answer::InFlight => {
                        let own = pending.iter_mut().find(|p| p.core == core && p.line == line);
                        own.into_iter().for_each(|own| own.want = own.want.joined(want));
                    }
                    Answer::Busy(_) | Answer::OtherCore if want == Want::Stream => {}
                    Answer::Busy(_) => {}
                    _ if want.is_store() => stored = Some(line),
                    _ => {}
                }
            }
            Action::Answer { which } if which < pending.len() => {
                let Pending { core, line, want } = pending.remove(which);
                hierarchy.fill(core, line, want, now, &mut effects);
                stored = want.is_store().then_some(line);
            }
            Action::Answer { .. } => {}
            Action::Lock { core, line, level, ways } => {
                let _ = hierarchy.lock(level, core, line, ways, now, &mut effects);
            }
            Action::Unlock { level } => hierarchy.unlock_all(level),
            Action::Label { core, label } => hierarchy.set_label(core, label),
            Action::Ways { core, level, class, ways } => drop(hierarchy.set_ways(level, core, class, ways)),
            Action::Reserve { core, level, ways, back: false } => hierarchy.reserve_ways(level, core, ways),
            Action::Reserve { core, level, ways, back: true } => hierarchy.release_ways(level, core, ways),
        }
        // Changes are not lost, and none comes from nowhere: each is still there, merged into another, or written.
        let written: Vec<_> = effects.writes.drain(..).map(|write| write.line).collect();
        let after = changes(&hierarchy);
        for number in 0..LINES {
            let line = Line::new(number);
            let (had, has) = (before[number as usize] + usize::from(stored == Some(line)), after[number as usize]);
            let writes = written.iter().filter(|held| **held == line).count();
            assert!(
                has + writes <= had,
                "line {number}: {had} changes before {action:?}, then {has}, and {writes} written"
            );
            assert!(has + writes > 0 || had == 0, "line {number}: the change is lost with {action:?}");
        }
        before = after;
        each(&hierarchy, &pending);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_hierarchy_keeps_its_promises(
        setup in setup(true),
        actions in prop::collection::vec(action(), 1..250),
    ) {
        run(&setup, &actions, check);
    }
}
