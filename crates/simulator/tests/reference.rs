//! The hierarchy against a slow, obvious one: random hierarchies and accesses, answer by answer, and after each step
//! every line in every way of every cache and filter.

#[path = "reference/array.rs"]
mod array;
#[path = "reference/model.rs"]
mod model;
mod setups;

use proptest::prelude::*;
use waykeeper_simulator::caches::access::{Answer, Want};
use waykeeper_simulator::caches::cache::Cache;
use waykeeper_simulator::caches::flags::{DIRTY, SHARED, label_of};
use waykeeper_simulator::caches::hierarchy::{Effects, Hierarchy};
use waykeeper_simulator::caches::snoop_filter::SnoopFilter;
use waykeeper_simulator::line::Line;
use waykeeper_simulator::observe::label::Label;
use waykeeper_simulator::time::Ps;

use array::{Array, Slot};
use model::Model;
use setups::{Action, LINES, action, setup};

/// What a cache holds, by set and way.
fn held(cache: &Cache) -> Vec<(usize, usize, Slot)> {
    let unlabelled = |(set, way, slot)| (set, way, Slot { label: Label::default(), ..slot });
    held_with_labels(cache).into_iter().map(unlabelled).collect()
}

/// The same of a shared cache, whose lines have labels.
fn held_with_labels(cache: &Cache) -> Vec<(usize, usize, Slot)> {
    let slot = |line: Line| {
        let place = cache.find(line)?;
        let flags = cache.flags(place);
        let locked = cache.is_locked(place);
        let [dirty, shared] = [DIRTY, SHARED].map(|flag| flags & flag != 0);
        let label = label_of(flags);
        Some((place.set(), place.way as usize, Slot { line, dirty, shared, locked, busy: false, label }))
    };
    sorted((0..LINES).map(Line::new).filter_map(slot))
}

fn entries(filter: &SnoopFilter) -> Vec<(usize, usize, Slot)> {
    let slot = |line: Line| {
        let place = filter.find(line)?;
        Some((place.set(), place.way as usize, Slot { line, busy: filter.is_busy(place), ..Slot::default() }))
    };
    sorted((0..LINES).map(Line::new).filter_map(slot))
}

/// What a private cache or a filter should hold: what labels lines had means nothing there.
fn expected(array: &Array) -> Vec<(usize, usize, Slot)> {
    sorted(array.held().map(|(set, way, slot)| (set, way, Slot { label: Label::default(), ..slot })))
}

fn sorted(slots: impl Iterator<Item = (usize, usize, Slot)>) -> Vec<(usize, usize, Slot)> {
    let mut slots: Vec<_> = slots.collect();
    slots.sort_by_key(|(set, way, _)| (*set, *way));
    slots
}

fn compare(hierarchy: &Hierarchy, model: &Model) -> Result<(), TestCaseError> {
    for (at, (core, expect)) in hierarchy.cores.iter().zip(&model.cores).enumerate() {
        prop_assert_eq!(held(&core.l1d), expected(&expect.l1d), "L1D of core {}", at);
        prop_assert_eq!(held(&core.l1i), expected(&expect.l1i), "L1I of core {}", at);
        if let (Some(l2), Some(expect)) = (&core.l2, &expect.l2) {
            prop_assert_eq!(held(&l2.cache), expected(expect), "L2 of core {}", at);
        }
    }
    for (at, (node, expect)) in hierarchy.nodes.iter().zip(&model.nodes).enumerate() {
        if let (Some(shared), Some(expect)) = (&node.cache, &expect.cache) {
            let expected = sorted(expect.lines.held());
            prop_assert_eq!(held_with_labels(&shared.cache), &expected[..], "cache of node {}", at);
            for (monitor, lines) in shared.held().iter().enumerate() {
                let counted = expected.iter().filter(|(.., slot)| usize::from(slot.label.monitor) == monitor).count();
                prop_assert_eq!(*lines as usize, counted, "lines of monitor {} in node {}", monitor, at);
            }
        }
        if let (Some(filter), Some((expect, _))) = (&node.filter, &expect.filter) {
            prop_assert_eq!(entries(&filter.entries), expected(expect), "filter of node {}", at);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_random_hierarchy_does_what_the_obvious_one_does(
        setup in setup(false),
        actions in prop::collection::vec(action(), 1..200),
    ) {
        let (mut hierarchy, mut model) = (setup.build(), Model::new(&setup));
        let mut effects = Effects::default();
        let mut pending: Vec<(usize, Line, Want)> = Vec::new();
        for action in actions {
            match action {
                Action::Access { core, line, want } => {
                    let answer = hierarchy.access(core, line, want, Ps::ZERO, &mut effects);
                    prop_assert_eq!(answer, model.access(core, line, want), "{:?}", action);
                    match answer {
                        Answer::Memory if want == Want::Walk && setup.reads_past_caches(core) => {}
                        Answer::Memory => pending.push((core, line, want)),
                        Answer::InFlight => {
                            let own = pending.iter_mut().find(|(by, of, _)| (*by, *of) == (core, line));
                            own.into_iter().for_each(|(_, _, before)| *before = before.joined(want));
                        }
                        _ => {}
                    }
                }
                Action::Answer { which } if which < pending.len() => {
                    let (core, line, want) = pending.remove(which);
                    hierarchy.fill(core, line, want, Ps::ZERO, &mut effects);
                    model.fill(core, line, want);
                }
                Action::Answer { .. } => {}
                Action::Lock { core, line, level, ways } => {
                    let locked = hierarchy.lock(level, core, line, ways, Ps::ZERO, &mut effects).is_ok();
                    prop_assert_eq!(locked, model.lock(core, line, level, ways), "{:?}", action);
                }
                Action::Unlock { level } => {
                    hierarchy.unlock_all(level);
                    model.unlock(level);
                }
                Action::Label { core, label } => {
                    hierarchy.set_label(core, label);
                    model.cores[core].label = label;
                }
                Action::Ways { core, level, class, ways } => {
                    let set = hierarchy.set_ways(level, core, class, ways);
                    prop_assert_eq!(set, model.set_ways(core, level, class, ways), "{:?}", action);
                }
                Action::Reserve { core, level, ways, back } => {
                    match back {
                        false => hierarchy.reserve_ways(level, core, ways),
                        true => hierarchy.release_ways(level, core, ways),
                    }
                    model.reserve(core, level, ways, back);
                }
            }
            let written: Vec<_> = effects.writes.drain(..).map(|write| (write.line, write.label)).collect();
            prop_assert_eq!(written, std::mem::take(&mut model.writes), "writes after {:?}", action);
            compare(&hierarchy, &model)?;
        }
    }
}
