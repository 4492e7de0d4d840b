//! What the target waited for in its longest samples: the parts, and why lines were lost.

use waykeeper_platform::{Allocation, EntryTaken, Inclusion, Platform, Replacement, find_bundled};
use waykeeper_simulator::caches::access::{Answer, Want};
use waykeeper_simulator::caches::cache::Cache;
use waykeeper_simulator::caches::hierarchy::{Effects, Hierarchy};
use waykeeper_simulator::caches::node::HierarchyPlan;
use waykeeper_simulator::caches::private::{Private, SecondLevel};
use waykeeper_simulator::caches::shared_level::SharedLevel;
use waykeeper_simulator::caches::snoop_filter::SnoopFilter;
use waykeeper_simulator::line::Line;
use waykeeper_simulator::observe::explain::{Explained, From, LineRole, Part, losses_of};
use waykeeper_simulator::observe::losses::{Cause, Lost};
use waykeeper_simulator::time::Ps;
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Loop, Operation, Pattern, TickBody};

#[derive(Debug, Default, PartialEq)]
struct All(Vec<(u64, u64, u64)>);

impl SampleReceiver for All {
    fn record(&mut self, ticks: u64, count: u64, at_ps: u64) {
        self.0.push((ticks, count, at_ps));
    }
}

const MILLISECOND: u64 = 1_000_000_000;

/// A latency loop on core 1 of the Agilex 5 beside two way hammers, on cores 2 and 3.
fn engine(target: Pattern) -> Engine {
    let platform = Platform::from_toml(find_bundled("agilex5").unwrap().text, "platforms/agilex5.toml").unwrap();
    let [outer, inner] = [(2048, 64), (64, 131_072)].map(|(count, stride)| Loop { count, stride });
    let hammer = Pattern::Walk { operation: Operation::Read, outer, inner };
    let mut programs = vec![Program { core: 1, pattern: target, role: Role::Target }];
    programs.extend([2, 3].map(|core| Program { core, pattern: hammer.clone(), role: Role::Neighbour }));
    Engine::new(&platform, &programs, &[], 1).unwrap()
}

fn latency_loop() -> Pattern {
    Pattern::Tick { body: TickBody::Nothing }
}

fn events() -> Pattern {
    Pattern::Random {
        data_bytes: 64 << 10,
        data_accesses: 16,
        data_modifies: 0,
        code_bytes: 64 << 10,
        code_calls: 8,
        event_data_lines: 8,
        event_code_lines: 8,
        event_device_pages: 0,
        random_counts: false,
        event_stride_lines: 1,
        line_bytes: 64,
    }
}

fn explained(target: Pattern) -> (Vec<Explained>, Engine, All) {
    let mut engine = engine(target);
    assert!(engine.explain(20, MILLISECOND));
    let mut samples = All::default();
    engine.advance(4 * MILLISECOND, &mut samples);
    (engine.longest().to_vec(), engine, samples)
}

#[test]
fn samples_and_counters_are_the_same_with_and_without() {
    for pattern in [latency_loop(), events()] {
        let (_, explaining, with) = explained(pattern.clone());
        let (mut plain, mut without) = (engine(pattern), All::default());
        plain.advance(4 * MILLISECOND, &mut without);
        assert!(!without.0.is_empty() && with == without);
        let [with, without] = [explaining, plain].map(|engine| {
            let mut counters = engine.counters();
            counters.cores.iter_mut().for_each(|(_, core)| core.misses = Default::default());
            counters
        });
        assert_eq!(format!("{with:?}"), format!("{without:?}"));
    }
}

#[test]
fn the_longest_samples_come_first_and_their_parts_lie_within_them() {
    for pattern in [latency_loop(), events()] {
        let (longest, _, samples) = explained(pattern);
        let late = |(ticks, _, at): &(u64, u64, u64)| (*at > MILLISECOND + ticks * 2500).then_some(*ticks);
        let mut expected: Vec<_> = samples.0.iter().filter_map(late).collect();
        expected.sort_unstable_by_key(|ticks| std::cmp::Reverse(*ticks));
        assert_eq!(longest.iter().map(|sample| sample.ticks).collect::<Vec<_>>(), expected[..20]);
        for sample in &longest {
            assert!(!sample.parts.is_empty() && sample.parts.is_sorted_by_key(|part| part.asked_ps));
            for part in &sample.parts {
                assert!(sample.began_ps <= part.asked_ps && part.came_ps <= sample.ended_ps, "{part:?}");
                let Some(read_path) = part.memory else { continue };
                let queued = read_path.held_until_ps.unwrap_or(read_path.admitted_ps);
                let times = [part.asked_ps, read_path.admitted_ps, queued, read_path.issued_ps, part.came_ps];
                assert!(times.is_sorted(), "{part:?}");
            }
            let tried_again = |pair: &[Part]| pair[0].from == pair[1].from && pair[0].came_ps == pair[1].asked_ps;
            let filter = |part: &Part| matches!(part.from, From::Filter(_));
            let twice = sample
                .parts
                .windows(2)
                .any(|pair| filter(&pair[0]) && pair[0].line == pair[1].line && tried_again(pair));
            assert!(!twice, "all attempts are one part");
            // An in-order core waits for one thing after the other.
            let waited: u64 = sample.parts.iter().map(|part| part.came_ps - part.asked_ps).sum();
            assert!(waited <= sample.ended_ps - sample.began_ps);
        }
    }
}

#[test]
fn a_line_that_a_filter_took_away_comes_back_from_where_it_went() {
    let (longest, engine, _) = explained(latency_loop());
    let parts: Vec<_> = longest.iter().flat_map(|sample| &sample.parts).collect();
    let taken = |lost: &Lost| matches!(lost.cause, Cause::ClusterFilter | Cause::InterconnectFilter);
    // The loop fits into the first level: it never needs a place for itself, and hammers on cores 2 and 3 take its lines.
    for part in &parts {
        let Some(first) = part.lost.first() else { continue };
        assert!(taken(first) && first.level == 0 && first.at < part.asked_ps, "{part:?}");
        assert!([2, 3].contains(&engine.core_id(first.by)), "{part:?}");
    }
    assert!(parts.iter().any(|part| part.lost.iter().any(taken) && part.from == From::Memory && part.memory.is_some()));
    // The platform's L3 answers in 28 ns.
    let from_l3: Vec<_> = parts.iter().filter(|part| part.from == From::Shared(3)).collect();
    assert!(from_l3.iter().all(|part| part.came_ps - part.asked_ps == 28_000), "{from_l3:?}");
    assert!(
        parts.iter().any(|part| part.what == LineRole::Stack)
            && parts.iter().any(|part| part.what == LineRole::Recorder)
    );
}

#[test]
fn the_losses_of_a_line_are_told_in_their_order() {
    // Two cores with one line of L1 and two of L2 each, an L3 of one line, and a filter of four entries.
    let cache = |ways| Cache::new(1, ways, Replacement::Lru);
    let core = || Private::new(cache(1), cache(1), Some(SecondLevel::new(cache(2), Inclusion::ExclusiveOfL1d)));
    let shared = SharedLevel::new(3, cache(1), Allocation::ExclusiveUntilShared);
    let filter = Some((SnoopFilter::new(1, 4, Replacement::Lru), EntryTaken::AtRequest));
    let plan = HierarchyPlan { cores: 0b11, cache: Some(shared), filter, mode: None };
    let mut caches = Hierarchy::new(vec![core(), core()], vec![plan], 1).unwrap();
    caches.watch(0);
    let read = |caches: &mut Hierarchy, core, line, now| {
        assert_eq!(caches.access(core, line, Want::Read, Ps::new(now), &mut Effects::default()), Answer::Memory);
        caches.fill(core, line, Want::Read, Ps::new(now + 1), &mut Effects::default());
    };
    read(&mut caches, 0, Line::new(1), 10);
    read(&mut caches, 0, Line::new(2), 20);
    read(&mut caches, 1, Line::new(11), 30);
    read(&mut caches, 1, Line::new(12), 40);
    // The fifth entry takes the place of that of line 1, which moves to the L3; the sixth that of line 2, and line 2
    // pushes line 1 out of the L3.
    read(&mut caches, 1, Line::new(13), 50);
    let filter = |line, at| Lost { line, cause: Cause::ClusterFilter, level: 0, by: 1, at };
    assert_eq!(losses_of(&caches.losses, Line::new(1), Ps::new(60)), [filter(Line::new(1), 50)]);
    assert_eq!(losses_of(&caches.losses, Line::new(1), Ps::new(50)), [], "what the access itself does comes later");
    read(&mut caches, 1, Line::new(14), 70);
    let pushed = |line, at| Lost { line, cause: Cause::Neighbour, level: 3, by: 1, at };
    assert_eq!(
        losses_of(&caches.losses, Line::new(1), Ps::new(80)),
        [filter(Line::new(1), 50), pushed(Line::new(1), 70)]
    );
    // Core 1 has room for three lines: when the fourth comes, its first goes to the L3 in the place of line 2.
    assert_eq!(
        losses_of(&caches.losses, Line::new(2), Ps::new(80)),
        [filter(Line::new(2), 70), pushed(Line::new(2), 71)]
    );
    assert_eq!(losses_of(&caches.losses, Line::new(9), Ps::new(80)), []);
}

#[test]
fn times_count_what_was_skipped() {
    let mut engine = engine(latency_loop());
    assert!(engine.set_skipping() && engine.explain(5, MILLISECOND));
    let mut samples = All::default();
    engine.advance(40 * MILLISECOND, &mut samples);
    assert!(engine.counters().cores.iter().any(|(_, counters)| counters.skipped_accesses > 0));
    let longest = engine.longest();
    assert!(longest.len() == 5 && longest.iter().any(|explained| explained.ended_ps > 10 * MILLISECOND));
    for Explained { ticks, began_ps, ended_ps, parts, .. } in longest {
        assert!(samples.0.iter().any(|(value, _, at)| (value, at) == (ticks, ended_ps)), "{ticks} at {ended_ps}");
        for part in parts {
            assert!((*began_ps..=*ended_ps).contains(&part.asked_ps) && part.came_ps <= *ended_ps, "{part:?}");
            assert!(part.lost.iter().all(|lost| lost.at < part.asked_ps), "{part:?}");
        }
    }
}
