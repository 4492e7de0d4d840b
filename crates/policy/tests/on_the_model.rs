//! Plans of random policies for random machines, carried out on the model of the kernel's resctrl: the kernel accepts every
//! step, and what its files then show is what was planned.

mod machine;

use std::collections::BTreeMap;

use machine::{Model, Random, machine};
use proptest::prelude::*;
use waykeeper_policy::offer::Tree;
use waykeeper_policy::{
    Assignment, CdpType, Form, LoadedPolicy, Lowered, Mask, Membership, Offer, lower, parse_schemata, plan,
};

/// An amount as text.
fn amount() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (1_u32..3, 2_u32..7).prop_map(|(part, of)| format!("{part}/{of}")),
        2 => (5_u32..=50).prop_map(|percent| format!("{percent} %")),
        2 => (1_u32..8).prop_map(|ways| format!("{ways} ways")),
        2 => (1_u32..5).prop_map(|bits| format!("{bits} segments")),
        2 => (1_u32..1024).prop_map(|kib| format!("at least {kib} KiB")),
        1 => (0_u32..10, 1_u32..8).prop_map(|(low, bits)| format!("{:#x}", ((1_u32 << bits) - 1) << low)),
        1 => (1_u32..0x1000).prop_map(|mask| format!("{mask:#x}")),
    ]
}

fn share() -> impl Strategy<Value = String> {
    let table = |(amount, high, exclusive): (String, bool, bool)| {
        let at = if high { "high" } else { "low" };
        format!("{{ share = '{amount}', at = '{at}', exclusive = {exclusive} }}")
    };
    prop_oneof![
        4 => amount().prop_map(|amount| format!("'{amount}'")),
        3 => (amount(), any::<bool>(), prop::bool::weighted(0.7)).prop_map(table),
        1 => (amount(), amount()).prop_map(|(code, data)| format!("{{ code = '{code}', data = '{data}' }}")),
    ]
}

/// A share of every cache, or of some caches by id.
fn shares() -> impl Strategy<Value = String> {
    let by_cache = |shares: BTreeMap<u32, (String, bool)>| {
        let one = |(cache, (amount, exclusive)): (u32, (String, bool))| {
            format!("{{ cache = {cache}, share = '{amount}', exclusive = {exclusive} }}")
        };
        format!("[{}]", shares.into_iter().map(one).collect::<Vec<_>>().join(", "))
    };
    prop_oneof![
        4 => share(),
        1 => prop::collection::btree_map(0_u32..3, (amount(), any::<bool>()), 1..3).prop_map(by_cache),
    ]
}

/// What a class gets, mostly of what the machine has.
fn keys(has: (bool, bool, bool)) -> impl Strategy<Value = String> {
    let limit =
        prop_oneof![9 => (5_u32..101).prop_map(|percent| format!("'{percent} %'")), 1 => Just("'2 GB/s'".to_owned())];
    let one = |key: &'static str, value: Option<String>| value.map(|value| format!("{key} = {value}\n"));
    let often = |has: bool, much: f64| if has { much } else { 0.02 };
    let l2 = prop::option::weighted(often(has.0, 0.7), shares());
    let l3 = prop::option::weighted(often(has.1, 0.7), shares());
    (l2, l3, prop::option::weighted(often(has.2, 0.3), limit)).prop_map(move |(l2, l3, limit)| {
        [one("l2", l2), one("l3", l3), one("bandwidth", limit)].into_iter().flatten().collect()
    })
}

/// A policy whose classes have cores below 8, as owners by core.
fn policy(machine: &Random) -> impl Strategy<Value = String> + use<> {
    let has = (machine.machine.l2.is_some(), machine.machine.l3.is_some(), machine.machine.mb.is_some());
    let owners = prop::collection::vec(0_usize..5, 8);
    let classes = prop::collection::vec((keys(has), prop::bool::weighted(0.2)), 0..4);
    let limit_of_others = (1_u32..40).prop_map(|percent| format!("l3 = 'at least {percent} %'\n"));
    let others = prop::option::weighted(if has.1 { 0.15 } else { 0.01 }, limit_of_others);
    let lock = (if has.0 { 2_u8..3 } else { 3_u8..4 }, 0_u32..8, 1_u32..4);
    let locks = prop::collection::vec(lock, 1..3);
    let often = if machine.machine.pseudo_lock { 0.4 } else { 0.01 };
    (owners, classes, others, prop::option::weighted(often, locks)).prop_map(|(owners, classes, others, locks)| {
        let mut text = "title = 'random'\n".to_owned();
        if let Some(others) = others {
            text += &format!("[others]\n{others}");
        }
        for (i, (keys, with_task)) in classes.iter().enumerate() {
            let cores: Vec<_> = (0..8).filter(|core| owners[*core] == i).collect();
            text += &format!("[[classes]]\nname = 'c{i}'\n{keys}");
            if !cores.is_empty() {
                text += &format!("cores = {cores:?}\n");
            }
            if *with_task {
                text += &format!("tasks = [{}]\n", i + 1);
            }
        }
        for (i, (level, core, bits)) in locks.iter().flatten().enumerate() {
            text +=
                &format!("[[pseudo_locks]]\nname = 'k{i}'\nlevel = {level}\ncore = {core}\nsize = '{bits} segments'\n");
        }
        text
    })
}

/// A machine and a policy for it.
fn both() -> impl Strategy<Value = (Random, String)> {
    machine().prop_flat_map(|machine| {
        let policy = policy(&machine);
        (Just(machine), policy)
    })
}

/// What was planned, if the policy fits the machine.
fn planned(text: &str, model: &Model) -> Option<(Assignment, Offer, Lowered)> {
    let loaded = LoadedPolicy::from_text("random", "random.toml", text).ok()?;
    let offer = Offer::of_linux(model).expect("the model's files are the kernel's");
    let membership = Membership::read(&loaded.policy, model).expect("tasks 1 to 4 are there");
    let assignment = plan(&loaded, &offer, &membership).ok()?;
    let lowered = lower(&assignment, &offer, Form::Resctrl).ok()?;
    Some((assignment, offer, lowered))
}

/// Masks of a group by level, domain and access, from its schemata.
fn masks(model: &Model, group: &str) -> BTreeMap<(u8, u32, CdpType), Mask> {
    let path = if group.is_empty() { "schemata".to_owned() } else { format!("{group}/schemata") };
    let text = model.text(&format!("/sys/fs/resctrl/{path}")).expect("a group has schemata");
    let mut masks = BTreeMap::new();
    for line in parse_schemata(&text).expect("the kernel's form") {
        let Some(level) = line.name.strip_prefix('L').and_then(|rest| rest[..1].parse::<u8>().ok()) else { continue };
        let access = match line.name.len() {
            2 => CdpType::All,
            _ if line.name.ends_with("CODE") => CdpType::Code,
            _ => CdpType::Data,
        };
        for (domain, mask) in line.masks().expect("masks") {
            masks.insert((level, domain, access), Mask(mask));
        }
    }
    masks
}

fn groups(model: &Model) -> Vec<String> {
    let names = model.names("/sys/fs/resctrl").into_iter();
    let groups = names.filter(|name| model.text(&format!("/sys/fs/resctrl/{name}/mode")).is_some());
    std::iter::once(String::new()).chain(groups).collect()
}

/// Carries a plan out and compares the files with it.
fn check(assignment: &Assignment, offer: &Offer, lowered: &Lowered, model: &Model) -> Result<(), TestCaseError> {
    for step in lowered.steps() {
        let done = model.carry_out(&step);
        prop_assert!(done.is_ok(), "{step:?}: {}\n{}", done.unwrap_err(), lowered.script(assignment));
    }
    let all: BTreeMap<String, _> =
        groups(model).into_iter().map(|group| (group.clone(), masks(model, &group))).collect();
    for class in &assignment.classes {
        let group = if class.number == 0 { "" } else { class.name.as_str() };
        for mask in &class.masks {
            let key = (mask.level, mask.domain, mask.access);
            prop_assert_eq!(all[group][&key], mask.mask, "{} {:?}", &class.name, key);
            if !mask.exclusive {
                continue;
            }
            for (other, masks) in all.iter().filter(|(other, _)| *other != group) {
                let there =
                    masks.iter().filter(|((level, domain, _), _)| (*level, *domain) == (mask.level, mask.domain));
                for (at, other_mask) in there {
                    prop_assert!(
                        !other_mask.overlaps(mask.mask),
                        "{other} {at:?} {other_mask} and {} {}",
                        class.name,
                        mask.mask
                    );
                }
            }
        }
        if class.number > 0 && !class.cores.is_empty() {
            let cpus = model.text(&format!("/sys/fs/resctrl/{group}/cpus_list")).expect("a file");
            prop_assert_eq!(waykeeper_platform::parse_cpulist(&cpus), Some(class.cores.clone()));
        }
        for member in &class.members {
            let tasks = model.text(&format!("/sys/fs/resctrl/{group}/tasks")).expect("a file");
            let tasks: Vec<u32> = tasks.lines().filter_map(|line| line.parse().ok()).collect();
            prop_assert!(member.threads.iter().flatten().all(|thread| tasks.contains(thread)), "{tasks:?}");
        }
        for limit in &class.limits {
            let path = if class.number == 0 { "schemata".to_owned() } else { format!("{group}/schemata") };
            let text = model.text(&format!("/sys/fs/resctrl/{path}")).expect("a file");
            let lines = parse_schemata(&text).expect("the kernel's form");
            let line = lines.iter().find(|line| line.name == "MB").expect("a line");
            // No silent rounding: the kernel shows the very value.
            prop_assert!(line.values.contains(&(limit.domain, limit.value.to_string())), "{line:?} {limit:?}");
        }
    }
    for lock in &assignment.locks {
        let mode = model.text(&format!("/sys/fs/resctrl/{}/mode", lock.name));
        prop_assert_eq!(mode.as_deref(), Some("pseudo-locked\n"));
    }
    uses_are_covered(assignment, offer)
}

/// Every cache that a core of a class uses has a mask of it, at every level that the policy divides.
fn uses_are_covered(assignment: &Assignment, offer: &Offer) -> Result<(), TestCaseError> {
    for cache in &offer.caches {
        if !assignment.divided.iter().any(|divided| divided.level == cache.level) {
            continue;
        }
        for domain in &cache.domains {
            for class in assignment.classes.iter().skip(1) {
                let used = class.cores.iter().any(|core| domain.cores.contains(core));
                let has =
                    class.masks.iter().any(|mask| (mask.level, mask.domain) == (cache.level, domain.id) && mask.used);
                prop_assert!(!used || has, "{} in L{} {}", class.name, cache.level, domain.id);
            }
            for mask in assignment.classes.iter().flat_map(|class| &class.masks) {
                if (mask.level, mask.domain) == (cache.level, domain.id) {
                    prop_assert!(mask.mask.count() >= cache.min_bits.max(1), "{}", mask.mask);
                    prop_assert!(cache.sparse || mask.mask.is_contiguous(), "{}", mask.mask);
                    prop_assert!(mask.mask.without(domain.full()).is_empty(), "{}", mask.mask);
                    prop_assert!(!mask.mask.overlaps(domain.kept), "{}", mask.mask);
                }
            }
        }
    }
    let classes = offer.caches.iter().filter_map(|cache| {
        let apart = if cache.level == 3 { assignment.mount.cdp } else { assignment.mount.cdp_l2 };
        Some(cache.classes? / if apart { 2 } else { 1 })
    });
    let there = classes.chain(offer.bandwidth.iter().filter_map(|bandwidth| bandwidth.classes)).min();
    let needed = assignment.classes.len() as u32 + offer.taken_classes();
    prop_assert!(there.is_none_or(|there| needed <= there), "{needed} of {there:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn the_kernel_accepts_every_step_and_shows_what_was_planned((machine, text) in both()) {
        let model = Model::new(&machine);
        if let Some((assignment, offer, lowered)) = planned(&text, &model) {
            check(&assignment, &offer, &lowered, &model)?;
        }
    }
}

/// The property above is about something: a good part of the random policies fits.
#[test]
fn many_random_policies_fit() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut fitting = 0;
    let mut kinds = BTreeMap::new();
    for _ in 0..1000 {
        let (machine, text) = both().new_tree(&mut runner).unwrap().current();
        let Some((assignment, _, lowered)) = planned(&text, &Model::new(&machine)) else { continue };
        fitting += 1;
        let mut count = |what: &'static str, is: bool| *kinds.entry(what).or_insert(0) += u32::from(is);
        count("two classes", assignment.classes.len() > 2);
        count("locks", !assignment.locks.is_empty());
        count("code and data", assignment.mount.cdp || assignment.mount.cdp_l2);
        count("limits", assignment.classes.iter().any(|class| !class.limits.is_empty()));
        count("guarded", lowered.lines.iter().any(|line| line.shell.contains("'exclusive'")));
        count("tasks", assignment.classes.iter().any(|class| !class.members.is_empty()));
        count("beside groups", !machine.groups.is_empty());
    }
    assert!(fitting >= 100, "{fitting} of 1000");
    assert!(kinds.values().all(|count| *count >= 5), "{kinds:?}");
}
