//! The case matrix: whatever an experiment lists, the cases have the comparisons that the figures need.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use waykeeper_experiment::Loaded;
use waykeeper_experiment::cases::{Case, Plan, Purpose};
use waykeeper_experiment::site::{ExecutorKind, MitigationOffer, Site, SiteCore};
use waykeeper_workload::{CacheShape, CacheShapes};

/// A machine with two hyperthreads on each core.
pub fn site(cores: u32) -> Site {
    let caches = CacheShapes(vec![
        CacheShape { level: 1, size_bytes: 32 << 10, ways: 8, line_bytes: 64 },
        CacheShape { level: 3, size_bytes: 2 << 20, ways: 16, line_bytes: 64 },
    ]);
    let core = |id: u32| SiteCore { id, caches: caches.clone(), siblings: vec![id ^ 1] };
    let offer = |name: &str| {
        let offer = if name == "d" {
            MitigationOffer::Refused("not here".into())
        } else {
            MitigationOffer::Applied(String::new())
        };
        (name.to_owned(), offer)
    };
    Site {
        executor: ExecutorKind::Host,
        platform: "host".into(),
        called: "this machine".into(),
        cores: (0..cores).map(core).collect(),
        auto_core: cores - 1,
        mitigations: BTreeMap::from(["a", "b", "c", "d"].map(offer)),
        needs_buffer: vec!["hugepages".into()],
        needs_own_memory: Vec::new(),
    }
}

/// An experiment on eight cores: targets on the first two, neighbours anywhere else, some in groups.
fn experiments() -> impl Strategy<Value = String> {
    let targets = prop::collection::btree_set(
        (prop::sample::select(&["latency_loop", "chase_llc", "rta_128k"][..]), 0..2_u32),
        1..4,
    );
    let cores = prop_oneof![
        3 => prop::collection::btree_set(2..8_u32, 1..4).prop_map(|cores| format!("{cores:?}").replace('{', "[").replace('}', "]")),
        1 => Just("'others'".to_owned())
    ];
    let neighbours = prop::collection::vec(
        (prop::sample::select(&["stream_read", "way_hammer"][..]), cores, prop::option::of(0..2_u32)),
        0..4,
    );
    let parts = prop::collection::vec(prop::sample::select(&["a", "b", "c", "d", "none"][..]), 1..4);
    let mitigations = prop::collection::vec(parts.prop_map(|parts| parts.join("+")), 0..4);
    let combine = prop::sample::select(&["alone", "together", "cross"][..]);
    (targets, neighbours, mitigations, combine, any::<bool>()).prop_map(
        |(targets, neighbours, mitigations, combine, sentinel)| {
            let mut text =
                format!("title = 'x'\ncombine = '{combine}'\nmitigations = {mitigations:?}\nsentinel = {sentinel}\n");
            for (workload, core) in targets {
                text += &format!("[[targets]]\nworkload = '{workload}'\ncore = {core}\n");
            }
            for (workload, cores, group) in neighbours {
                let group = group.map(|group| format!("group = 'g{group}'\n")).unwrap_or_default();
                text += &format!("[[neighbours]]\nworkload = '{workload}'\ncores = {cores}\n{group}");
            }
            text
        },
    )
}

fn sorted_parts(mitigation: &str) -> BTreeSet<&str> {
    waykeeper_experiment::mitigation::parts(mitigation).into_iter().collect()
}

fn check_plan(plan: &Plan) {
    let names: BTreeSet<_> = plan.cases.iter().map(|case| &case.name).collect();
    assert_eq!(names.len(), plan.cases.len(), "two cases of one name");
    for case in &plan.cases {
        let mut cores: Vec<_> = case.neighbours.iter().map(|n| n.core).chain([case.target.core]).collect();
        cores.sort_unstable();
        cores.dedup();
        assert_eq!(cores.len(), 1 + case.neighbours.len(), "a core has two workloads in {}", case.name);
        assert!(!sorted_parts(&case.mitigation).contains("d"), "{} is refused here", case.name);
    }
    let cases: Vec<&Case> = plan.cases.iter().filter(|case| case.purpose == Purpose::Case).collect();
    for (index, case) in cases.iter().enumerate() {
        // Slowdown needs the solo case under the same mitigation, cost and verdict the unmitigated ones.
        let has = |mitigation: &str, solo: bool| {
            cases.iter().any(|other| {
                other.target == case.target
                    && other.mitigation == mitigation
                    && other.solo() == solo
                    && (solo || other.neighbours == case.neighbours)
            })
        };
        assert!(has(&case.mitigation, true) && has("none", true) && has("none", case.solo()), "{}", case.name);
        let twin = cases[..index].iter().find(|other| {
            (&other.target, &other.neighbours, &other.group) == (&case.target, &case.neighbours, &case.group)
                && sorted_parts(&other.mitigation) == sorted_parts(&case.mitigation)
        });
        assert!(twin.is_none(), "{} and {} are the same", case.name, twin.unwrap().name);
    }
    let sentinels = plan.cases.iter().filter(|case| case.purpose == Purpose::Sentinel);
    for sentinel in sentinels {
        assert_eq!(sentinel.mitigation, "none");
        assert!(
            cases.iter().any(|case| case.neighbours == sentinel.neighbours && case.target.core == sentinel.target.core)
        );
    }
}

proptest! {
    #[test]
    fn the_cases_have_what_the_figures_need(text in experiments()) {
        let loaded = Loaded::from_text("x", "x.toml", &text, Vec::new()).unwrap();
        match Plan::new(&loaded, &site(8)) {
            Ok(plan) => {
                prop_assert!(!plan.cases.is_empty());
                check_plan(&plan);
            }
            // Two neighbours of a group on one core, `none` within a combination: told with file and line.
            Err(error) => prop_assert!(error.to_string().starts_with("x.toml:"), "{}", error),
        }
    }

    #[test]
    fn crossing_gives_every_combination(count in 0_usize..=3) {
        let listed = ["a", "b", "c"][..count].join("', '");
        let list = if count == 0 { "[]".to_owned() } else { format!("['{listed}']") };
        let text = format!("title = 'x'\ncombine = 'cross'\nmitigations = {list}\ntargets = [{{ workload = 'latency_loop' }}]\n");
        let plan = Plan::new(&Loaded::from_text("x", "x.toml", &text, Vec::new()).unwrap(), &site(4)).unwrap();
        let different: BTreeSet<_> = plan.cases.iter().map(|case| sorted_parts(&case.mitigation)).collect();
        prop_assert_eq!(different.len(), 1 << count);
    }

    #[test]
    fn others_leave_out_the_target_and_its_sibling(cores in 1_u32..5, target in 0_u32..8) {
        let cores = 2 * cores;
        prop_assume!(target < cores);
        let text = format!("title = 'x'\ntargets = [{{ workload = 'latency_loop', core = {target} }}]\nneighbours = [{{ workload = 'stream_read' }}]\n");
        let plan = Plan::new(&Loaded::from_text("x", "x.toml", &text, Vec::new()).unwrap(), &site(cores));
        let expected: Vec<u32> = (0..cores).filter(|core| core / 2 != target / 2).collect();
        match plan {
            Ok(plan) => {
                let loaded = plan.cases.iter().find(|case| !case.solo()).unwrap();
                prop_assert_eq!(loaded.neighbours.iter().map(|n| n.core).collect::<Vec<_>>(), expected);
            }
            Err(error) => {
                prop_assert!(expected.is_empty());
                prop_assert!(error.to_string().contains("no core is left"), "{}", error);
            }
        }
    }
}
