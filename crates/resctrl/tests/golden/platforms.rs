//! Architectures other than Intel's.

use waykeeper_resctrl::{
    AllocatableCache, BandwidthResource, Errno, KernelRelease, MonitorResource, MountOptions, QosTechnology, Resctrl,
    ResctrlMachine, example,
};

use crate::{Mounted, error};

fn amd() -> ResctrlMachine {
    let server = example::server();
    let units = BandwidthResource {
        min: 0,
        max: 2048,
        granularity: 1,
        linear: false,
        throttle: None,
        closids: 16,
        ..server.mb.clone().expect("a bandwidth")
    };
    ResctrlMachine {
        kernel: KernelRelease::V7_3,
        architecture: QosTechnology::Amd,
        l3: server.l3.clone().map(|l3| AllocatableCache { min_bits: 0, sparse: true, shareable: 0, ..l3 }),
        mb: Some(units.clone()),
        smba: Some(units),
        monitoring: server.monitoring.clone().map(|it| MonitorResource { configurable: Some(0x7f), ..it }),
        ..server
    }
}

fn mpam() -> ResctrlMachine {
    let server = example::server();
    ResctrlMachine {
        kernel: KernelRelease::V7_3,
        architecture: QosTechnology::Mpam,
        l3: server.l3.clone().map(|l3| AllocatableCache { shareable: 0xfffff, sparse: true, closids: 4, ..l3 }),
        mb: None,
        monitoring: server.monitoring.clone().map(|it| MonitorResource { rmids: 2, ..it }),
        ..server
    }
}

#[test]
fn amd_has_units_of_bandwidth_and_any_mask() {
    let mut fs = Mounted::on(amd(), MountOptions::default());
    assert_eq!(fs.read("schemata"), "  SMBA:0=2048;1=2048\n    MB:0=2048;1=2048\n    L3:0=fffff;1=fffff\n");
    assert_eq!(fs.write("schemata", "MB:0=1\nSMBA:1=0\nL3:0=0;1=5\n"), Ok(()));
    assert_eq!(fs.read("schemata"), "  SMBA:0=2048;1=0\n    MB:0=1;1=2048\n    L3:0=0;1=5\n");
    assert_eq!(fs.refused("schemata", "MB:0=2049\n"), "MB value 2049 out of range [0,2048]\n");
    assert!(!fs.names("info/MB").contains(&"thread_throttle_mode".to_owned()));
    assert_eq!(
        Resctrl::new(amd()).mount(MountOptions { mba_mbps: true, ..MountOptions::default() }),
        Err(Errno::EINVAL)
    );
}

#[test]
fn kernels_before_6_3_do_not_know_slow_memory() {
    let mut fs = Mounted::on(ResctrlMachine { kernel: KernelRelease::V6_1, ..amd() }, MountOptions::default());
    // Values are as wide as a mask of 20 bits.
    assert_eq!(fs.read("schemata"), "    MB:0= 2048;1= 2048\n    L3:0=fffff;1=fffff\n");
}

#[test]
fn amds_events_can_be_configured() {
    let mut fs = Mounted::on(amd(), MountOptions::default());
    let path = "info/L3_MON/mbm_total_bytes_config";
    assert_eq!(
        fs.read("info/L3_MON/mon_features"),
        "llc_occupancy\nmbm_total_bytes\nmbm_total_bytes_config\nmbm_local_bytes\nmbm_local_bytes_config\n"
    );
    assert_eq!(
        (fs.read(path), fs.read("info/L3_MON/mbm_local_bytes_config")),
        ("0=0x7f;1=0x7f\n".into(), "0=0x15;1=0x15\n".into())
    );
    assert_eq!(fs.write(path, "0=0x30;1=3\n"), Ok(()));
    assert_eq!(fs.read(path), "0=0x30;1=0x03\n");
    assert_eq!(fs.refused(path, "0=80\n"), "Invalid event configuration: max valid mask is 0x7f\n");
    assert_eq!(fs.refused(path, "0\n"), "Non-numeric event configuration value\n");
    assert_eq!(fs.refused(path, "x=1\n"), "Missing '=' or non-numeric domain id\n");
    // A domain that is not there: no text, and what stands before it holds.
    assert_eq!(fs.refused(path, "0=1;5=1\n"), "ok\n");
    assert_eq!(fs.read(path), "0=0x01;1=0x03\n");
}

#[test]
fn mpam_shares_everything_with_unknown_masters() {
    let mut fs = Mounted::on(mpam(), MountOptions::default());
    fs.mkdir("g").expect("a free class");
    assert_eq!(fs.refused("g/mode", "exclusive\n"), "Schemata overlaps\n");
    assert_eq!(fs.write("g/schemata", "L3:0=5\n"), Ok(()));
    let cdp = MountOptions { cdp: true, ..MountOptions::default() };
    assert_eq!(Resctrl::new(mpam()).mount(cdp), Err(Errno::EOPNOTSUPP));
}

#[test]
fn mpams_monitoring_identifiers_belong_to_a_class() {
    let mut fs = Mounted::on(mpam(), MountOptions::default());
    fs.mkdir("a").expect("a free class");
    // The root has used PMG 0 of PARTID 0, the group PMG 0 of PARTID 1.
    assert_eq!(fs.mkdir("mon_groups/m"), Ok(()));
    assert_eq!(fs.mkdir("mon_groups/n"), error(Errno::ENOSPC, "Out of RMIDs\n"));
    assert_eq!(fs.mkdir("a/mon_groups/m"), Ok(()));
    assert_eq!(fs.mkdir("a/mon_groups/n"), error(Errno::ENOSPC, "Out of RMIDs\n"));
}

#[test]
fn mpam_takes_the_class_with_the_fewest_dirty_identifiers() {
    let options = MountOptions { debug: true, ..MountOptions::default() };
    let mut fs = Mounted::on(mpam(), options);
    fs.mkdir("a").expect("a free class");
    assert_eq!(fs.read("a/ctrl_hw_id"), "1\n");
    // Its identifier waits in limbo, so the next group is in class 2.
    fs.rmdir("a").expect("a group");
    fs.mkdir("b").expect("a free class");
    assert_eq!(fs.read("b/ctrl_hw_id"), "2\n");
}
