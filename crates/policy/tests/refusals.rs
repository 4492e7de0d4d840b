//! What does not fit is refused with one sentence that names the key, what was asked and what there is.

use waykeeper_platform::{Platform, find_bundled};
use waykeeper_policy::offer::{BandwidthOffer, BandwidthUnit, PresentGroup, ResctrlState};
use waykeeper_policy::{LoadedPolicy, Mask, Membership, MountSettings, Offer, Refusal, plan};

fn offer(platform: &str) -> Offer {
    let file = find_bundled(platform).unwrap_or_else(|| panic!("no platform {platform}"));
    Offer::of_platform(&Platform::from_toml(file.text, platform).unwrap())
}

fn with_bandwidth(mut offer: Offer, unit: BandwidthUnit, rates: bool) -> Offer {
    let domains = vec![(0, offer.cores.clone())];
    offer.bandwidth = Some(BandwidthOffer { domains, unit, min: 10, max: 100, step: 10, classes: Some(4), rates });
    offer
}

fn refusal_on(offer: &Offer, policy: &str) -> Refusal {
    let loaded = LoadedPolicy::from_text("my", "my.toml", &format!("title = 'x'\n{policy}")).unwrap();
    match plan(&loaded, offer, &Membership::unread(&loaded.policy)) {
        Err(refusal) => refusal,
        Ok(assignment) => panic!("{policy}: {assignment:?}"),
    }
}

/// The key, and every word in the sentence.
#[track_caller]
fn refused(offer: &Offer, policy: &str, key: &str, lacking: bool, words: &[&str]) {
    let refusal = refusal_on(offer, policy);
    assert_eq!((refusal.key.as_str(), refusal.lacking), (key, lacking), "{refusal}");
    words.iter().for_each(|word| assert!(refusal.message.contains(word), "{word}: {refusal}"));
    assert!(!refusal.message.contains('\n'), "{refusal}");
}

fn class(name: &str, rest: &str) -> String {
    format!("[[classes]]\nname = '{name}'\n{rest}\n")
}

#[test]
fn more_ways_than_there_are() {
    let xeon = offer("xeon-d-2752ter");
    let two = class("a", "cores = '0'\nl3 = '12 ways'") + &class("b", "cores = '1'\nl3 = '12 ways'");
    refused(&xeon, &two, "classes.1.l3", false, &["12 of its 20 ways", "8 are free", "`a` has 0-11"]);
    refused(
        &xeon,
        &class("a", "cores = '0'\nl3 = '21 ways'"),
        "classes.0.l3",
        false,
        &["more than", "20 MiB, 20 ways"],
    );
    refused(&xeon, &class("a", "cores = '0'\nl3 = '100 %'"), "classes.0.l3", false, &["nothing is left", "others"]);
    let others = class("a", "cores = '0'\nl3 = 'half'") + "[others]\nl3 = 'at least 11 MiB'\n";
    refused(&xeon, &others, "others.l3", false, &["11 of its 20 ways", "leave 10"]);
}

#[test]
fn masks_that_collide_or_cannot_be() {
    let xeon = offer("xeon-d-2752ter");
    let two = class("a", "cores = '0'\nl3 = '0xff'") + &class("b", "cores = '1'\nl3 = '0x180'");
    refused(&xeon, &two, "classes.1.l3", false, &["0x180 overlaps", "0xff of `a`"]);
    refused(&xeon, &class("a", "cores = '0'\nl3 = '0x5'"), "classes.0.l3", false, &["holes"]);
    refused(&xeon, &class("a", "cores = '0'\nl3 = '0x100000'"), "classes.0.l3", false, &["beyond", "0xfffff"]);
    let shared = class("a", "cores = '0'\nl3 = '0xff'")
        + &class("b", "cores = '1'\nl3 = { share = '0x180', exclusive = false }");
    refused(&xeon, &shared, "classes.1.l3", false, &["0x180 overlaps", "`a` has alone"]);
}

#[test]
fn less_than_the_machine_takes() {
    let xeon = offer("xeon-d-2752ter");
    // 4 % of 20 ways is 0.8 of one; the least is 1 MiB.
    refused(&xeon, &class("a", "cores = '0'\nl3 = '4 %'"), "classes.0.l3", false, &["less than the least", "1 MiB"]);
    let mut two_bits = xeon.clone();
    two_bits.caches[0].min_bits = 2;
    refused(&two_bits, &class("a", "cores = '0'\nl3 = '1 way'"), "classes.0.l3", false, &["least share there, 2"]);
    refused(&two_bits, &class("a", "cores = '0'\nl3 = '0x1'"), "classes.0.l3", false, &["2 at least"]);
    let throttled = with_bandwidth(xeon, BandwidthUnit::Percent, false);
    let policy = class("a", "cores = '0'\nbandwidth = '5 %'");
    refused(&throttled, &policy, "classes.0.bandwidth", false, &["5 %", "least", "10 %"]);
}

#[test]
fn more_classes_than_there_are() {
    // The 1185GRE has 4 classes: the others and three more.
    let four: String = (0..4).map(|i| class(&format!("c{i}"), &format!("cores = '{i}'\nl3 = '1 way'"))).collect();
    refused(&offer("i7-1185gre"), &four, "classes", true, &["5 are needed", "its L3 tells 4 apart"]);
    let three: String = (0..3).map(|i| class(&format!("c{i}"), &format!("cores = '{i}'\nl3 = '1 way'"))).collect();
    let loaded = LoadedPolicy::from_text("my", "my.toml", &format!("title = 'x'\n{three}")).unwrap();
    assert!(plan(&loaded, &offer("i7-1185gre"), &Membership::unread(&loaded.policy)).is_ok());
    // Code and data apart halve them.
    let mut apart = offer("i7-1185gre");
    apart.caches[0].cdp = true;
    let apart_policy =
        class("a", "cores = '0'\nl3 = { code = '1 way', data = '1 way' }") + &class("b", "cores = '1'\nl3 = '1 way'");
    refused(&apart, &apart_policy, "classes", true, &["3 are needed", "tells 2 apart"]);
}

#[test]
fn cores_that_are_not_there() {
    let xeon = offer("xeon-d-2752ter");
    refused(&xeon, &class("a", "cores = '12'\nl3 = 'half'"), "classes.0.cores", false, &["no core 12", "0-11"]);
    let elsewhere = class("a", "cores = { i7-1185gre = '1' }\nl3 = 'half'");
    refused(&xeon, &elsewhere, "classes.0.cores", false, &["for i7-1185gre", "none for `xeon-d-2752ter`"]);
    let lock = "[[pseudo_locks]]\nname = 'k'\nlevel = 2\ncore = 9\nsize = '1 segment'\n";
    refused(&offer("apollo-lake-e3950"), lock, "pseudo_locks.0.core", false, &["no core 9", "0-3"]);
}

#[test]
fn resources_that_are_not_there() {
    refused(
        &offer("xeon-d-2752ter"),
        &class("a", "cores = '0'\nl2 = 'half'"),
        "classes.0.l2",
        true,
        &["L2", "can divide L3"],
    );
    let apollo = offer("apollo-lake-e3950");
    refused(&apollo, &class("a", "cores = '0'\nl3 = 'half'"), "classes.0.l3", true, &["L3", "can divide L2"]);
    refused(&apollo, &class("a", "cores = '0'\nbandwidth = '20 %'"), "classes.0.bandwidth", true, &["bandwidth"]);
    let apart = class("a", "cores = '0'\nl2 = { code = '1 way', data = '1 way' }");
    refused(&apollo, &apart, "classes.0.l2", true, &["code from data", "CDP"]);
    refused(&offer("cd8180"), &class("a", "cores = '0'\nbandwidth = '20 %'"), "classes.0.bandwidth", true, &["stride"]);
    let throttled = with_bandwidth(apollo, BandwidthUnit::Percent, false);
    refused(&throttled, &class("a", "cores = '0'\nbandwidth = '2 GB/s'"), "classes.0.bandwidth", true, &["percent"]);
    let amd = with_bandwidth(offer("xeon-d-2752ter"), BandwidthUnit::EighthsOfGigabytePerSecond, false);
    refused(&amd, &class("a", "cores = '0'\nbandwidth = '20 %'"), "classes.0.bandwidth", false, &["MB/s"]);
}

#[test]
fn locks_where_nothing_can_be_locked() {
    let lock = |level: u8, core: u32, size: &str| {
        format!("[[pseudo_locks]]\nname = 'k{core}'\nlevel = {level}\ncore = {core}\nsize = '{size}'\n")
    };
    refused(&offer("xeon-d-2752ter"), &lock(3, 0, "1 way"), "pseudo_locks.0", true, &["cannot lock", "Goldmont"]);
    let apollo = offer("apollo-lake-e3950");
    refused(&apollo, &lock(3, 0, "1 way"), "pseudo_locks.0.level", true, &["cannot divide an L3"]);
    let two = lock(2, 2, "1 segment") + &lock(2, 3, "1 segment");
    refused(&apollo, &two, "pseudo_locks.1", false, &["`k2`", "one region"]);
    refused(&apollo, &lock(2, 3, "2 MiB"), "pseudo_locks.0.size", false, &["more than", "1 MiB"]);
    let mut large = apollo.clone();
    large.caches[0].domains[1].size_bytes = 64 << 20;
    refused(&large, &lock(2, 3, "1 segment"), "pseudo_locks.0.size", true, &["8 MiB", "4 MiB"]);
    // 7 of 8 segments beside one that is locked.
    let crowded = lock(2, 3, "1 segment") + &class("a", "cores = '2'\nl2 = '7 segments'");
    refused(&apollo, &crowded, "classes.0.l2", false, &["nothing is left"]);
}

#[test]
fn a_resctrl_that_stands_in_the_way() {
    let state = |mounted, groups, mode: &str| ResctrlState {
        at: "/sys/fs/resctrl".into(),
        mounted,
        groups,
        root_mode: mode.into(),
    };
    let group = |name: &str, mode: &str| PresentGroup { name: name.into(), mode: mode.into(), cores: vec![] };
    let mut xeon = offer("xeon-d-2752ter");
    let policy = class("a", "cores = '0'\nl3 = 'half'");
    xeon.resctrl = Some(state(MountSettings::default(), vec![group("a", "shareable")], "shareable"));
    refused(&xeon, &policy, "classes.0.name", false, &["group `a` already"]);
    xeon.resctrl = Some(state(MountSettings::default(), vec![], "exclusive"));
    refused(&xeon, &policy, "", true, &["root", "`shareable`"]);
    // All ways filled by a group that is there: nothing can be exclusive.
    xeon.resctrl = Some(state(MountSettings::default(), vec![group("b", "shareable")], "shareable"));
    xeon.caches[0].domains[0].filled = Mask(0xfffff);
    refused(&xeon, &policy, "classes.0.l3", false, &["none is free", "already fill 0-19", "`rmdir`"]);
    for (names, said) in [
        (&["b"][..], "group `b`, which resctrl has already, fills 0-19"),
        (&["b", "c"], "groups `b` and `c`, which resctrl has already, fill 0-19"),
        (&["b", "c", "d", "e", "f", "g"], "groups `b`, `c`, `d`, `e` and 2 more, which resctrl has already, fill 0-19"),
    ] {
        xeon.caches[0].domains[0].filled_by = names.iter().map(ToString::to_string).collect();
        refused(&xeon, &policy, "classes.0.l3", false, &[said]);
    }
    xeon.caches[0].domains[0].filled_by.clear();
    refused(&xeon, &class("a", "cores = '0'\nl3 = '0xf'"), "classes.0.l3", true, &["already fill ways 0-3"]);
    // 16 classes: the others, ours and 15 that are there.
    xeon.caches[0].domains[0].filled = Mask(0);
    let many = (0..15).map(|i| group(&format!("g{i}"), "shareable")).collect();
    xeon.resctrl = Some(state(MountSettings::default(), many, "shareable"));
    refused(&xeon, &policy, "classes", true, &["17 are needed", "15 for groups", "16 apart"]);
    // Code and data apart need another mount.
    xeon.resctrl = Some(state(MountSettings::default(), vec![], "shareable"));
    xeon.caches[0].cdp = true;
    let apart = class("a", "cores = '0'\nl3 = { code = '1 way', data = '1 way' }");
    refused(&xeon, &apart, "", true, &["`cdp`", "umount"]);
}

/// What is wrong on every machine is refused when the file is read, with its line.
#[test]
fn files_that_are_no_policy() {
    let half = "cores = '0'\nl3 = 'half'";
    for (text, told) in [
        (String::new(), "my.toml: it assigns nothing to anybody"),
        (class("a", "cores = '0'\nl3 = 'haf'"), "my.toml:5: classes.0.l3: found \"haf\", expected a share such as"),
        (class("a", "cores = '0'\nl3 = 4"), "my.toml:5: classes.0.l3: found `4`, expected a share such as"),
        (
            class("a", "cores = '0'\nl3 = { share = 'half', end = 'low' }"),
            "my.toml:5: classes.0.l3.end: unknown key `end`",
        ),
        (class("a", "cores = '0'\nl3 = { at = 'low' }"), "my.toml:5: classes.0.l3: it has no amount"),
        (class("a", "cores = '0'\nl3 = { code = 'half' }"), "my.toml:5: classes.0.l3: code and data go together"),
        (class("a", "cores = '0'\nl3 = { share = 'half', at = 'top' }"), "my.toml:5: classes.0.l3.at: found `top`"),
        (class("a", "core = '0'\nl3 = 'half'"), "my.toml:4: classes.0.core: unknown key `core`"),
        (
            class("a", "cores = '3-1'\nl3 = 'half'"),
            "my.toml:4: classes.0.cores: found \"3-1\", expected a list of cores",
        ),
        (class("a", "cores = '1,1'\nl3 = 'half'"), "my.toml:4: classes.0.cores: core 1 is named twice"),
        (class("a", "cores = []\nl3 = 'half'"), "my.toml:4: classes.0.cores: it names no core"),
        (class("a", "cores = true\nl3 = 'half'"), "my.toml:4: classes.0.cores: found `true`, expected cores such as"),
        (class("a", "cores = '0'"), "my.toml:2: classes.0: it gets nothing"),
        (class("a", "l3 = 'half'"), "my.toml:2: classes.0: it has no members"),
        (class("a/b", half), "my.toml:3: classes.0.name: found \"a/b\""),
        (class("info", half), "my.toml:3: classes.0.name: `info` means something else"),
        (class("a", half) + &class("a", "cores = '1'\nl3 = '1 way'"), "my.toml:7: classes.1.name: there are two"),
        (class("a", half) + &class("b", half), "my.toml:8: classes.1.cores: core 0 is in class `a` already"),
        (
            class("a", "tasks = [0]\nl3 = 'half'"),
            "my.toml:4: classes.0.tasks.0: found 0, which is the number of no task",
        ),
        (class("a", "cgroups = ['../x']\nl3 = 'half'"), "my.toml:4: classes.0.cgroups.0: found \"../x\""),
        (class("a", "cores = '0'\nbandwidth = '20'"), "my.toml:5: classes.0.bandwidth: found \"20\", expected a limit"),
        ("[others]\nl3 = { share = 'half', exclusive = false }\n".into(), "my.toml:3: others.l3.exclusive: others get"),
        ("classes = {}\n".into(), "my.toml:2: classes: found a table, expected a list"),
        ("[[classes]\n".into(), "my.toml:2: this is not TOML"),
    ] {
        let error = LoadedPolicy::from_text("my", "my.toml", &format!("title = 'x'\n{text}")).unwrap_err().to_string();
        assert!(error.starts_with(told), "{text}\n{error}");
    }
}

/// A level of performance has 8 bits: 255 / 1.27 x 100 MHz on the P-cores, 255 x 100 MHz on the E-cores.
#[test]
fn clocks_beyond_the_levels_of_performance() {
    let hybrid = offer("i7-13800hre");
    let clocked = |core: u32, clock: &str| class("a", &format!("cores = '{core}'\nclock = '{clock}'"));
    refused(&hybrid, &clocked(4, "21 GHz"), "classes.0.clock", false, &["21 GHz", "end at 20078 MHz on core 4"]);
    refused(&hybrid, "[others]\nclock = '0.4 GHz to 26 GHz'\n", "others.clock", false, &["26 GHz", "end at 20078 MHz"]);
}
