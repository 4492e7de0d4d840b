//! New groups, and how many there can be.

use waykeeper_resctrl::{Errno, KernelRelease, MountOptions, ResctrlMachine, example};

use crate::{Mounted, error, silent};

#[test]
fn there_are_as_many_groups_as_the_smallest_resource_has_classes() {
    let mut fs = Mounted::server();
    // Bandwidth has 8 classes, one of them is the root's.
    for number in 1..8 {
        assert_eq!(fs.mkdir(&format!("g{number}")), Ok(()));
    }
    assert_eq!(fs.mkdir("g8"), error(Errno::ENOSPC, "Out of CLOSIDs\n"));
    // Before 7.x the next failure is added to the text.
    assert_eq!(fs.mkdir("g8"), error(Errno::ENOSPC, "Out of CLOSIDs\nOut of CLOSIDs\n"));
    assert_eq!(fs.rmdir("g3"), Ok(()));
    assert_eq!(fs.mkdir("g8"), Ok(()));
}

#[test]
fn the_newest_kernels_begin_every_operation_with_an_empty_status() {
    let mut fs =
        Mounted::on(ResctrlMachine { kernel: KernelRelease::V7_3, ..example::server() }, MountOptions::default());
    for number in 1..8 {
        assert_eq!(fs.mkdir(&format!("g{number}")), Ok(()));
    }
    for _ in 0..2 {
        assert_eq!(fs.mkdir("g8"), error(Errno::ENOSPC, "Out of CLOSIDs\n"));
    }
}

#[test]
fn names_that_are_taken_or_odd() {
    let mut fs = Mounted::server();
    for name in ["info", "mon_groups", "mon_data", "schemata"] {
        assert_eq!(fs.mkdir(name), silent(Errno::EEXIST));
    }
    assert_eq!(fs.mkdir("a\nb"), silent(Errno::EINVAL));
    assert_eq!(fs.mkdir("info/x"), silent(Errno::EPERM));
    assert_eq!(fs.mkdir("mon_data/x"), silent(Errno::EPERM));
    assert_eq!(fs.mkdir("mon_groups/mon_groups"), silent(Errno::EPERM));
    assert_eq!(fs.mkdir("no/x"), silent(Errno::ENOENT));
    let mut newest =
        Mounted::on(ResctrlMachine { kernel: KernelRelease::V7_3, ..example::server() }, MountOptions::default());
    assert_eq!(newest.mkdir("info/x"), silent(Errno::ENODEV));
    assert_eq!(newest.mkdir("mon_data/x"), silent(Errno::EPERM));
}

#[test]
fn only_groups_can_be_removed() {
    let mut fs = Mounted::server();
    fs.mkdir("g").expect("a free class");
    for path in ["info", "mon_groups", "mon_data", "g/mon_groups", "info/L3"] {
        assert_eq!(fs.rmdir(path), silent(Errno::EPERM), "{path}");
    }
    assert_eq!(fs.rmdir("schemata"), silent(Errno::ENOTDIR));
    assert_eq!(fs.rmdir("g"), Ok(()));
}

#[test]
fn a_machine_that_only_monitors_has_monitoring_groups_alone() {
    let machine = ResctrlMachine { l3: None, mb: None, ..example::server() };
    let mut fs = Mounted::on(machine, MountOptions::default());
    assert_eq!(fs.mkdir("g"), silent(Errno::EPERM));
    assert_eq!(fs.mkdir("mon_groups/m"), Ok(()));
    assert_eq!(fs.read("schemata"), "");
    assert_eq!(fs.read("mode"), "shareable\n");
}

#[test]
fn a_machine_that_only_allocates_has_no_monitoring() {
    let mut fs = Mounted::on(ResctrlMachine { monitoring: None, ..example::server() }, MountOptions::default());
    assert_eq!(fs.mkdir("g"), Ok(()));
    assert_eq!(fs.names("g"), ["cpus", "cpus_list", "mode", "schemata", "size", "tasks"]);
    assert_eq!(fs.mkdir("g/x"), silent(Errno::EPERM));
}
