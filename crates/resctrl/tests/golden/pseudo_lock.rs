//! Pseudo-locked regions.

use waykeeper_resctrl::{Errno, LockedRegion, MountOptions, ResctrlMachine, ResourceId, Task, example};

use crate::{Mounted, error};

/// A machine that can, with a group `p` that has nothing in it, and bits 0 to 7 free in domain 0.
fn ready() -> Mounted {
    let machine = ResctrlMachine { pseudo_lock: true, ..example::server() };
    let mut fs = Mounted::on(machine, MountOptions::default());
    fs.mkdir("p").expect("a free class");
    fs.write("schemata", "L3:0=3ff00\n").expect("a mask");
    fs
}

fn locksetup() -> Mounted {
    let mut fs = ready();
    fs.write("p/mode", "pseudo-locksetup\n").expect("an empty group");
    fs
}

#[test]
fn a_group_must_be_empty_and_the_machine_able() {
    let mut unable = Mounted::server();
    unable.mkdir("p").expect("a free class");
    let mode = "pseudo-locksetup\n";
    assert_eq!(unable.refused("mode", mode), "Cannot pseudo-lock default group\n");
    assert_eq!(unable.refused("p/mode", mode), "Pseudo-locking not supported\n");
    let mut fs = ready();
    fs.0.start_task(None, Task::new(10));
    fs.mkdir("p/mon_groups/m").expect("a free RMID");
    fs.write("p/tasks", "10\n").expect("a task");
    fs.write("p/cpus_list", "1\n").expect("a CPU");
    assert_eq!(fs.refused("p/mode", mode), "Monitoring in progress\n");
    fs.rmdir("p/mon_groups/m").expect("a group");
    assert_eq!(fs.refused("p/mode", mode), "Tasks assigned to resource group\n");
    fs.write("tasks", "10\n").expect("a task");
    assert_eq!(fs.refused("p/mode", mode), "CPUs assigned to resource group\n");
    fs.write("p/cpus_list", "\n").expect("no CPU");
    assert_eq!(fs.write("p/mode", mode), Ok(()));
}

#[test]
fn cdp_and_pseudo_locking_exclude_each_other() {
    let machine = ResctrlMachine { pseudo_lock: true, ..example::server() };
    let mut fs = Mounted::on(machine, MountOptions { cdp: true, ..MountOptions::default() });
    fs.mkdir("p").expect("a free class");
    assert_eq!(fs.refused("p/mode", "pseudo-locksetup\n"), "CDP enabled\n");
}

#[test]
fn during_setup_there_is_nothing_to_see() {
    let mut fs = locksetup();
    assert_eq!(fs.read("p/schemata"), "MB:uninitialized\nL3:uninitialized\n");
    assert_eq!(fs.read("p/size"), "    MB:0=0;1=0\n    L3:0=0;1=0\n");
    for path in ["p/tasks", "p/cpus", "p/cpus_list", "p/mon_groups"] {
        assert_eq!(fs.mode(path), 0, "{path}");
    }
    assert_eq!(fs.read_error("p/tasks"), Errno::EACCES);
    assert_eq!(fs.mkdir("p/mon_groups/m"), error(Errno::EINVAL, "Pseudo-locking in progress\n"));
    assert_eq!(fs.refused("p/schemata", "MB:0=50\n"), "Cannot pseudo-lock MBA resource\n");
    assert_eq!(fs.refused("p/schemata", "L3:0=1ff\n"), "Overlaps with other group\n");
}

#[test]
fn setup_can_be_left_again() {
    let mut fs = locksetup();
    assert_eq!(fs.write("p/mode", "shareable\n"), Ok(()));
    assert_eq!((fs.mode("p/tasks"), fs.mode("p/mon_groups")), (0o644, 0o755));
    assert_eq!(fs.read("p/schemata"), "    MB:0=  100;1=  100\n    L3:0=fffff;1=fffff\n");
}

#[test]
fn leaving_setup_is_not_checked_against_exclusive_groups() {
    let mut fs = locksetup();
    fs.write("schemata", "L3:1=3ff00\n").expect("a mask");
    assert_eq!(fs.write("mode", "exclusive\n"), Ok(()));
    // The group still has all bits from its beginning, the root's among them.
    assert_eq!(fs.write("p/mode", "shareable\n"), Ok(()));
    assert_eq!(fs.read("p/schemata"), "    MB:0=  100;1=  100\n    L3:0=fffff;1=fffff\n");
    assert_eq!(fs.read("mode"), "exclusive\n");
}

#[test]
fn one_mask_locks_a_region() {
    let mut fs = locksetup();
    assert_eq!(fs.write("p/schemata", "L3:0=3\n"), Ok(()));
    assert_eq!(fs.read("p/mode"), "pseudo-locked\n");
    assert_eq!(fs.read("p/schemata"), "L3:0=3\n");
    // Two bits of 2 MiB.
    assert_eq!(fs.read("p/size"), "    L3:0=4194304\n");
    assert_eq!((fs.mode("p/cpus"), fs.read("p/cpus_list")), (0o444, "0-1\n".into()));
    assert_eq!(fs.refused("p/schemata", "L3:0=3\n"), "Resource group is pseudo-locked\n");
    assert_eq!(fs.refused("p/mode", "shareable\n"), "Cannot change pseudo-locked group\n");
    assert_eq!(fs.refused("schemata", "L3:0=3ff02\n"), "The mask 3ff02 has non-consecutive 1-bits\n");
    assert_eq!(fs.refused("schemata", "L3:0=ffffe\n"), "CBM overlaps with pseudo-locked region\n");
    assert_eq!(fs.read("info/L3/bit_usage"), "0=HHSSSSSSSSSS000000PP;1=XXSSSSSSSSSSSSSSSSSS\n");
    let region = LockedRegion { name: b"p".to_vec(), resource: ResourceId::L3, domain: 0, mask: 3, bytes: 4 << 20 };
    assert_eq!(fs.0.locked_regions(), [region]);
    assert_eq!(fs.rmdir("p"), Ok(()));
    assert_eq!(fs.0.locked_regions(), []);
    assert_eq!(fs.write("schemata", "L3:0=fffff\n"), Ok(()));
}

#[test]
fn a_locked_region_gives_its_class_back() {
    let mut fs = locksetup();
    fs.write("p/schemata", "L3:0=3\n").expect("a free region");
    // Bandwidth has 8 classes; the root has one.
    for number in 1..8 {
        assert_eq!(fs.mkdir(&format!("g{number}")), Ok(()));
    }
    // The new groups leave the region alone.
    assert!(fs.read("g1/schemata").ends_with("L3:0=ffffc;1=fffff\n"));
}

#[test]
fn a_region_has_at_most_4_mib_and_a_cache_one_region() {
    let mut fs = locksetup();
    // Three bits of 2 MiB.
    let failure = fs.write("p/schemata", "L3:0=7\n");
    assert_eq!(failure, error(Errno::E2BIG, "Requested region exceeds maximum size\n"));
    assert_eq!(fs.read("p/mode"), "pseudo-locksetup\n");
    fs.write("p/schemata", "L3:0=1\n").expect("a free region");
    fs.mkdir("q").expect("a free class");
    fs.write("q/mode", "pseudo-locksetup\n").expect("an empty group");
    assert_eq!(fs.refused("q/schemata", "L3:0=2\n"), "Pseudo-locked region in hierarchy\n");
}

#[test]
fn unmounting_ends_regions() {
    let mut fs = locksetup();
    fs.write("p/schemata", "L3:0=3\n").expect("a free region");
    fs.0.unmount();
    fs.0.mount(MountOptions::default()).expect("nothing is mounted");
    assert_eq!(fs.0.locked_regions(), []);
}
