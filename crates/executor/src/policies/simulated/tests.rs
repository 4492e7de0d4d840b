//! Policies beside the platforms' own mitigations.

use waykeeper_platform::{Colouring, find_bundled as find_platform};

use super::*;

fn platform(name: &str) -> Platform {
    Platform::from_toml(find_platform(name).unwrap().text, name).unwrap()
}

#[test]
fn policies_come_to_what_the_platforms_own_mitigations_set() {
    for (policy, name, core, mitigation) in [
        ("apollo-lake-one-segment", "apollo-lake-e3950", 3, "one-segment"),
        ("apollo-lake-half", "apollo-lake-e3950", 3, "four-segments"),
        ("apollo-lake-pseudo-lock", "apollo-lake-e3950", 3, "pseudo-lock"),
        ("tcc-halves", "i7-13800hre", 4, "cat-half"),
    ] {
        let platform = platform(name);
        assert_eq!(
            settings(policy, &platform, core, &[]).map(|policy| policy.set).as_ref(),
            Ok(&platform.mitigations[mitigation].set),
            "{policy}"
        );
    }
}

#[test]
fn everybody_has_the_share_of_the_own_class() {
    let platform = platform("i7-13800hre");
    let ways = |target, neighbours: &[CoreId]| {
        settings("tcc-halves", &platform, target, neighbours).map(|policy| policy.set.way_groups.unwrap())
    };
    let halves: [Vec<u8>; 2] = [(0..6).collect(), (6..12).collect()];
    let shares = |target: usize, others: usize| (halves[target].clone(), halves[others].clone());
    // The classes: cores 4 and 5, and everyone else.
    for (target, neighbours, expected) in [
        (4, &[0, 1][..], shares(1, 0)),
        (3, &[4, 5], shares(0, 1)),
        (3, &[0, 1], shares(0, 0)),
        (4, &[5], shares(1, 1)),
    ] {
        let ways = ways(target, neighbours).unwrap();
        assert_eq!((ways.target, ways.others), expected, "{target} beside {neighbours:?}");
    }
    let why = ways(4, &[0, 5]).unwrap_err();
    assert!(why.contains("different shares of the target's L3"), "{why}");
}

/// Several of a platform's own mitigations at once.
fn together(platform: &Platform, names: &[&str]) -> Settings {
    names.iter().fold(Settings::default(), |set, name| set.then(&platform.mitigations[*name].set))
}

#[test]
fn policies_with_more_than_ways_do_too() {
    for (policy, name, core, neighbours, mitigations) in [
        ("agilex5-isolate-core1", "agilex5", 1, &[2, 3][..], &["nl3a", "cp", "qos"][..]),
        // Half of the portions and strides of 1 and 8, which are 0 and 7 less one.
        ("cd8180-portions", "cd8180", 0, &[1, 2, 3], &["split-3-3", "ic-7"]),
        ("zynq-lockdown", "zynq7000", 0, &[1], &["tlb", "l2-lock-all"]),
        // The others stay at their base clocks, 2.5 and 1.8 GHz, as the platform has them.
        ("tcc-speed-shift", "i7-13800hre", 4, &[0, 1, 6], &["speed-shift"]),
    ] {
        let platform = platform(name);
        let set = settings(policy, &platform, core, neighbours).map(|policy| policy.set);
        assert_eq!(set, Ok(together(&platform, mitigations)), "{policy}");
    }
}

/// 2 MiB in 16 ways: a way of 128 KiB has address bits 16 to 0, and the upper of two halves of its pages has bit 16 set.
/// The platform's own mitigation takes bit 14, another one of the colour's bits 12 to 16.
#[test]
fn halves_of_the_colours_are_told_apart_by_the_highest_bit() {
    let platform = platform("agilex5");
    let set = settings("colour-halves", &platform, 1, &[2, 3]).unwrap().set;
    assert_eq!(set, Settings { colouring: Some(Colouring { address_bit: 16 }), ..Settings::default() });
}

#[test]
fn what_the_model_has_not_is_told() {
    let policy = settings("tcc-speed-shift", &platform("i7-13800hre"), 4, &[0]).unwrap();
    assert_eq!(policy.left_out, ["not simulated: a ring at 4 GHz"]);
    for (policy, name, target, neighbours, expected) in [
        ("agilex5-isolate-core1", "agilex5", 2, &[1][..], "puts the neighbours before the target on core 2"),
        ("agilex5-isolate-core1", "agilex5", 0, &[1, 2], "different"),
        ("zynq-lockdown", "zynq7000", 1, &[0], "locks memory for core 0, and the target is on core 1"),
        ("tcc-speed-shift", "i7-13800hre", 0, &[1, 4], "different clocks"),
        ("colour-halves", "agilex5", 2, &[3], "one half of the colours"),
        ("cd8180-portions", "agilex5", 0, &[1], "does not share bandwidth by weights"),
    ] {
        let why = settings(policy, &platform(name), target, neighbours).unwrap_err();
        assert!(why.contains(expected), "{policy} on {name}: {why}");
    }
}
