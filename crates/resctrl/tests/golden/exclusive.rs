//! Exclusive groups.

use waykeeper_resctrl::{Errno, MountOptions, ResctrlMachine, example};

use crate::{Mounted, error};

/// Two groups beside the root: `a` has bits 0 to 3, the others bits 4 to 17.
fn apart() -> Mounted {
    let mut fs = Mounted::server();
    fs.mkdir("a").expect("a free class");
    fs.mkdir("b").expect("a free class");
    for (group, line) in [("a/", "L3:0=f;1=f\n"), ("b/", "L3:0=3fff0;1=3fff0\n"), ("", "L3:0=3fff0;1=3fff0\n")] {
        fs.write(&format!("{group}schemata"), line).expect("a mask");
    }
    fs
}

#[test]
fn a_group_whose_masks_are_its_own_can_be_exclusive() {
    let mut fs = apart();
    assert_eq!(fs.refused("b/mode", "exclusive\n"), "Schemata overlaps\n");
    assert_eq!(fs.write("a/mode", "exclusive\n"), Ok(()));
    assert_eq!(fs.read("a/mode"), "exclusive\n");
    // Bits 18 and 19 are the hardware's and no one's.
    assert_eq!(fs.read("info/L3/bit_usage"), "0=HHSSSSSSSSSSSSSSEEEE;1=HHSSSSSSSSSSSSSSEEEE\n");
    assert_eq!(fs.refused("b/schemata", "L3:0=18\n"), "Overlaps with exclusive group\n");
    assert_eq!(fs.refused("a/schemata", "L3:0=1f\n"), "Overlaps with other group\n");
    assert_eq!(fs.refused("a/schemata", "L3:0=c0000\n"), "Overlaps with other group\n");
}

#[test]
fn a_new_group_gets_no_exclusive_bits() {
    let mut fs = apart();
    fs.write("a/mode", "exclusive\n").expect("masks apart");
    fs.mkdir("c").expect("a free class");
    assert!(fs.read("c/schemata").ends_with("L3:0=ffff0;1=ffff0\n"));
}

#[test]
fn a_new_group_takes_the_first_run_of_what_is_left() {
    let mut fs = Mounted::server();
    fs.mkdir("a").expect("a free class");
    fs.write("a/schemata", "L3:0=f0;1=f0\n").expect("a mask");
    fs.write("schemata", "L3:0=3;1=3\n").expect("a mask");
    fs.write("a/mode", "exclusive\n").expect("masks apart");
    fs.mkdir("b").expect("a free class");
    // Left are bits 0 to 3 and 8 to 19.
    assert!(fs.read("b/schemata").ends_with("L3:0=0000f;1=0000f\n"));
}

#[test]
fn without_bits_there_is_no_new_group() {
    let l3 = waykeeper_resctrl::AllocatableCache { shareable: 0, ..example::server().l3.expect("a cache") };
    let mut fs = Mounted::on(ResctrlMachine { l3: Some(l3), ..example::server() }, MountOptions::default());
    fs.mkdir("a").expect("a free class");
    fs.write("schemata", "L3:1=1\n").expect("a mask");
    fs.write("schemata", "L3:0=1\n").expect("a mask");
    fs.write("a/schemata", "L3:0=ffffe;1=ffffe\n").expect("a mask");
    fs.write("a/mode", "exclusive\n").expect("masks apart");
    fs.write("mode", "exclusive\n").expect("masks apart");
    assert_eq!(fs.mkdir("b"), error(Errno::ENOSPC, "No space on L3:0\n"));
    assert!(!fs.names("").contains(&"b".to_owned()));
}

#[test]
fn modes_are_named_exactly() {
    let mut fs = Mounted::server();
    assert_eq!(fs.refused("mode", "pseudo-locked\n"), "Unknown or unsupported mode\n");
    assert_eq!(fs.refused("mode", "Exclusive\n"), "Unknown or unsupported mode\n");
    assert_eq!(fs.write("mode", "shareable\n"), Ok(()));
}

#[test]
fn exclusiveness_is_about_caches() {
    let machine = ResctrlMachine { l3: None, ..example::server() };
    let mut fs = Mounted::on(machine, MountOptions::default());
    assert_eq!(fs.refused("mode", "exclusive\n"), "Cannot be exclusive without CAT/CDP\n");
}

#[test]
fn with_cdp_the_peers_bits_count_too() {
    let mut fs = Mounted::on(example::server(), MountOptions { cdp: true, ..MountOptions::default() });
    fs.mkdir("a").expect("a free class");
    fs.write("a/schemata", "L3CODE:0=3;1=3\nL3DATA:0=c;1=c\n").expect("masks");
    fs.write("schemata", "L3CODE:0=ff0;1=ff0\nL3DATA:0=ff8;1=ff0\n").expect("masks");
    // The root's data in domain 0 have bit 3, which is among the group's data.
    assert_eq!(fs.refused("a/mode", "exclusive\n"), "Schemata overlaps\n");
    fs.write("schemata", "L3DATA:0=ff0\n").expect("a mask");
    assert_eq!(fs.write("a/mode", "exclusive\n"), Ok(()));
    assert_eq!(fs.refused("schemata", "L3CODE:0=4\n"), "Overlaps with exclusive group\n");
}
