//! RMIDs, the limbo in which freed ones wait, and counters.

use waykeeper_resctrl::{
    Errno, KernelRelease, MonitorEvent, MonitorResource, MountOptions, Reading, ResctrlMachine, example,
};

use crate::{Mounted, error};

/// Four RMIDs, one of them the root's; a threshold of 10 MiB, which is 160 counts.
fn few(kernel: KernelRelease) -> Mounted {
    let monitoring = MonitorResource { rmids: 4, ..example::server().monitoring.expect("monitoring") };
    let machine = ResctrlMachine { kernel, monitoring: Some(monitoring), ..example::server() };
    Mounted::on(machine, MountOptions::default())
}

#[test]
fn rmids_run_out() {
    let mut fs = few(KernelRelease::V7_3);
    for path in ["mon_groups/m1", "mon_groups/m2", "mon_groups/m3"] {
        assert_eq!(fs.mkdir(path), Ok(()));
    }
    assert_eq!(fs.mkdir("g"), error(Errno::ENOSPC, "Out of RMIDs\n"));
    assert_eq!(fs.mkdir("mon_groups/m4"), error(Errno::ENOSPC, "Out of RMIDs\n"));
}

#[test]
fn a_freed_rmid_waits_until_its_lines_are_gone() {
    let mut fs = few(KernelRelease::V7_3);
    for path in ["mon_groups/m1", "mon_groups/m2", "mon_groups/m3"] {
        assert_eq!(fs.mkdir(path), Ok(()));
    }
    fs.0.set_counter(1, 0, 2, MonitorEvent::LlcOccupancy, Reading::Value(160));
    fs.rmdir("mon_groups/m2").expect("a group");
    assert_eq!(fs.mkdir("mon_groups/m2"), error(Errno::EBUSY, "Out of RMIDs\n"));
    // 160 counts are the threshold, and that is not below it.
    fs.0.check_limbo();
    assert_eq!(fs.mkdir("mon_groups/m2"), error(Errno::EBUSY, "Out of RMIDs\n"));
    fs.0.set_counter(1, 0, 2, MonitorEvent::LlcOccupancy, Reading::Value(159));
    fs.0.check_limbo();
    assert_eq!(fs.mkdir("mon_groups/m2"), Ok(()));
}

#[test]
fn older_kernels_look_at_the_own_domain_before() {
    let one = |kernel| {
        let mut monitoring = example::server().monitoring.expect("monitoring");
        monitoring.rmids = 2;
        monitoring.domains.truncate(1);
        Mounted::on(
            ResctrlMachine { kernel, monitoring: Some(monitoring), ..example::server() },
            MountOptions::default(),
        )
    };
    for (kernel, again) in
        [(KernelRelease::V6_1, Ok(())), (KernelRelease::V6_12, error(Errno::EBUSY, "Out of RMIDs\n"))]
    {
        let mut fs = one(kernel);
        fs.mkdir("mon_groups/m").expect("a free RMID");
        fs.rmdir("mon_groups/m").expect("a group");
        assert_eq!(fs.mkdir("mon_groups/m"), again, "{kernel:?}");
    }
}

#[test]
fn the_threshold_is_rounded_down_to_whole_counts() {
    let mut fs = few(KernelRelease::V7_3);
    let path = "info/L3_MON/max_threshold_occupancy";
    assert_eq!(fs.read(path), "10485760\n");
    assert_eq!(fs.write(path, "0x1ffff\n"), Ok(()));
    assert_eq!(fs.read(path), "65536\n");
    // 40 MiB are 41943040 bytes.
    let text = "max_threshold_occupancy: Exceeds limit (before adjustment) of 41943040 bytes\n";
    assert_eq!(fs.refused(path, "41943041\n"), text);
    let too_large = fs.write(path, "4294967296\n");
    assert_eq!(too_large, error(Errno::ERANGE, "max_threshold_occupancy: Invalid input\n"));
}

#[test]
fn a_control_groups_counters_include_its_monitoring_groups() {
    let mut fs = few(KernelRelease::V7_3);
    let file = |group: &str, event: MonitorEvent| format!("{group}mon_data/mon_L3_00/{}", event.name());
    fs.mkdir("mon_groups/m").expect("a free RMID");
    fs.0.set_counter(0, 0, 0, MonitorEvent::LlcOccupancy, Reading::Value(2));
    fs.0.set_counter(0, 0, 1, MonitorEvent::LlcOccupancy, Reading::Value(3));
    assert_eq!(fs.read(&file("", MonitorEvent::LlcOccupancy)), format!("{}\n", 5 * 65536));
    assert_eq!(fs.read(&file("mon_groups/m/", MonitorEvent::LlcOccupancy)), format!("{}\n", 3 * 65536));
    // One part that can be read is enough.
    fs.0.set_counter(0, 0, 1, MonitorEvent::LlcOccupancy, Reading::Unavailable);
    assert_eq!(fs.read(&file("", MonitorEvent::LlcOccupancy)), format!("{}\n", 2 * 65536));
    assert_eq!(fs.read(&file("mon_groups/m/", MonitorEvent::LlcOccupancy)), "Unavailable\n");
    fs.0.set_counter(0, 0, 1, MonitorEvent::LlcOccupancy, Reading::Error);
    assert_eq!(fs.read(&file("mon_groups/m/", MonitorEvent::LlcOccupancy)), "Error\n");
}

#[test]
fn bandwidth_is_counted_from_the_groups_beginning_and_survives_a_wrap() {
    let mut fs = few(KernelRelease::V7_3);
    let file = "mon_groups/m/mon_data/mon_L3_01/mbm_total_bytes";
    fs.0.set_counter(1, 0, 1, MonitorEvent::MbmTotal, Reading::Value((1 << 24) - 10));
    fs.mkdir("mon_groups/m").expect("a free RMID");
    assert_eq!(fs.read(file), "0\n");
    // The counter has 24 bits: 10 counts to its end and 5 more.
    fs.0.set_counter(1, 0, 1, MonitorEvent::MbmTotal, Reading::Value(5));
    assert_eq!(fs.read(file), format!("{}\n", 15 * 65536));
}
