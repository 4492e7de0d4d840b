//! Sweeps: a grid has every point, nothing is run twice, and every loaded case finds the solo case that it is compared
//! with.

use std::collections::BTreeSet;

use proptest::prelude::*;
use waykeeper_experiment::cases::{Case, Plan, Purpose};
use waykeeper_experiment::{Loaded, Set};

use crate::matrix::site;

/// What a sweep varies, and whether the solo cases depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    NeighbourSize,
    NeighbourOperation,
    TargetSize,
    TargetAndNeighbourCores,
}

impl What {
    fn sweep(self, points: usize) -> String {
        let listed = |values: &[&str]| {
            let values: Vec<_> = values[..points].iter().map(|value| format!("'{value}'")).collect();
            values.join(", ")
        };
        match self {
            Self::NeighbourSize => format!(
                "[[sweep]]\nname = 'size'\nkey = 'neighbours.0.with.size'\nvalues = [{}]\n",
                listed(&["8 KiB", "1 MiB", "2 MiB"])
            ),
            Self::NeighbourOperation => format!(
                "[[sweep]]\nname = 'operation'\nkey = 'neighbours.0.with.operation'\nvalues = [{}]\n",
                listed(&["read", "write", "modify"])
            ),
            Self::TargetSize => format!(
                "[[sweep]]\nname = 'own'\nkey = 'targets.0.with.size'\nvalues = [{}]\n",
                listed(&["64 KiB", "128 KiB", "256 KiB"])
            ),
            Self::TargetAndNeighbourCores => {
                let point = |at: usize| {
                    format!("{{ name = {at}, set.targets.0.core = {at}, set.neighbours.0.cores = [{}] }}", at + 4)
                };
                let points: Vec<_> = (0..points).map(point).collect();
                format!("[[sweep]]\nname = 'cores'\npoints = [{}]\n", points.join(", "))
            }
        }
    }

    fn touches_the_target(self) -> bool {
        matches!(self, Self::TargetSize | Self::TargetAndNeighbourCores)
    }
}

const ALL: [What; 4] = [What::NeighbourSize, What::NeighbourOperation, What::TargetSize, What::TargetAndNeighbourCores];

fn experiment(sweeps: &[(What, usize)], mitigations: &[&str]) -> String {
    let mut text = format!(
        "title = 'x'\nsentinel = false\nmitigations = {mitigations:?}\n\
         [[targets]]\nworkload = 'rta_128k'\ncore = 0\n\
         [[neighbours]]\nworkload = 'stream_read'\ncores = [4]\n"
    );
    for (what, points) in sweeps {
        text += &what.sweep(*points);
    }
    text
}

fn plan(text: &str, sets: &[String]) -> Plan {
    let sets = sets.iter().map(|set| Set::parse(set).unwrap()).collect();
    Plan::new(&Loaded::from_text("x", "x.toml", text, sets).unwrap(), &site(8)).unwrap()
}

fn sweeps() -> impl Strategy<Value = Vec<(What, usize)>> {
    let some = prop::collection::btree_map(prop::sample::select(&ALL[..]), 1..=3_usize, 0..=4);
    some.prop_map(|some| some.into_iter().collect())
}

fn unnamed(case: &Case) -> Case {
    Case { name: String::new(), point: Default::default(), ..case.clone() }
}

proptest! {
    #[test]
    fn a_grid_has_every_point_and_nothing_twice(sweeps in sweeps(), mitigations in 0..=2_usize) {
        let plan = plan(&experiment(&sweeps, &["a", "b"][..mitigations]), &[]);
        let product = |of: &dyn Fn(What) -> bool| -> usize {
            sweeps.iter().filter(|(what, _)| of(*what)).map(|(_, points)| points).product()
        };
        let (solo, loaded): (Vec<&Case>, Vec<&Case>) = plan.cases.iter().partition(|case| case.solo());
        prop_assert_eq!(loaded.len(), (1 + mitigations) * product(&|_| true));
        prop_assert_eq!(solo.len(), (1 + mitigations) * product(&What::touches_the_target));
        let names: BTreeSet<_> = plan.cases.iter().map(|case| &case.name).collect();
        prop_assert_eq!(names.len(), plan.cases.len());
        for (index, case) in plan.cases.iter().enumerate() {
            prop_assert!(case.purpose == Purpose::Case);
            let twin = plan.cases[..index].iter().find(|other| unnamed(other) == unnamed(case));
            prop_assert!(twin.is_none(), "{} and {} are the same", case.name, twin.unwrap().name);
        }
    }

    #[test]
    fn every_loaded_case_has_one_solo_case_at_its_point(sweeps in sweeps()) {
        let plan = plan(&experiment(&sweeps, &["a"]), &[]);
        for case in plan.cases.iter().filter(|case| !case.solo()) {
            let solo: Vec<_> = plan.cases.iter()
                .filter(|other| other.solo() && other.mitigation == case.mitigation && case.point.contains(&other.point))
                .collect();
            prop_assert_eq!(solo.len(), 1, "{}: {:?}", case.name, solo);
            prop_assert_eq!(&solo[0].target, &case.target);
        }
    }

    #[test]
    fn chosen_points_are_those_cases_of_the_whole_grid(sweeps in sweeps(), chosen in 0..3_usize) {
        prop_assume!(!sweeps.is_empty());
        let text = experiment(&sweeps, &["a"]);
        let whole = plan(&text, &[]);
        let (what, points) = sweeps[0];
        let name = what.sweep(1).split('\'').nth(1).unwrap().to_owned();
        let labels = Loaded::from_text("x", "x.toml", &text, Vec::new()).unwrap().experiment.sweep[0].labels();
        let label = &labels[chosen % points];
        let part = plan(&text, &[format!("sweep.{name}.only='{label}'")]);
        let loaded = |plan: &Plan| -> Vec<Case> { plan.cases.iter().filter(|case| !case.solo()).cloned().collect() };
        let expected: Vec<Case> =
            loaded(&whole).into_iter().filter(|case| case.point.label(&name) == Some(label)).collect();
        prop_assert_eq!(loaded(&part), expected);
    }
}
