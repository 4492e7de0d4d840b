//! Bandwidth in percent and in MB/s.

use waykeeper_resctrl::{BandwidthResource, KernelRelease, MountOptions, ResctrlMachine, example};

use crate::Mounted;

const MBPS: MountOptions = MountOptions { cdp: false, cdpl2: false, mba_mbps: true, debug: false };

#[test]
fn percentages_are_rounded_up_to_the_granularity() {
    let mut fs = Mounted::server();
    // 33 lies between 30 and 40.
    assert_eq!(fs.write("schemata", "MB:0=33\n"), Ok(()));
    assert_eq!(fs.read("schemata"), "    MB:0=   40;1=  100\n    L3:0=fffff;1=fffff\n");
    assert_eq!(fs.read("size"), "    MB:0=40;1=100\n    L3:0=41943040;1=41943040\n");
}

#[test]
fn what_is_no_percentage_is_refused() {
    let mut fs = Mounted::server();
    for (line, text) in [
        ("MB:0=9\n", "MB value 9 out of range [10,100]\n"),
        ("MB:0=4096\n", "MB value 4096 out of range [10,100]\n"),
        ("MB:0=0x20\n", "Invalid MB value 0x20\n"),
        ("MB:0=4294967296\n", "Invalid MB value 4294967296\n"),
        ("MB:0=50;0=50\n", "Duplicate domain 0\n"),
    ] {
        assert_eq!(fs.refused("schemata", line), text, "{line}");
    }
}

#[test]
fn a_scale_that_is_not_linear_is_not_supported() {
    let mb = BandwidthResource { linear: false, ..example::server().mb.expect("a bandwidth") };
    let mut fs = Mounted::on(ResctrlMachine { mb: Some(mb), ..example::server() }, MountOptions::default());
    assert_eq!(fs.refused("schemata", "MB:0=50\n"), "No support for non-linear MB domains\n");
}

#[test]
fn in_megabytes_any_number_is_taken_at_once() {
    let mut fs = Mounted::on(example::server(), MBPS);
    assert_eq!(fs.read("schemata"), "    MB:0=4294967295;1=4294967295\n    L3:0=fffff;1=fffff\n");
    // The second line is wrong, the first one holds all the same.
    assert_eq!(fs.refused("schemata", "MB:0=200;0=300\nL3:0=0\n"), "Mask out of range\n");
    assert_eq!(fs.read("schemata"), "    MB:0=  300;1=4294967295\n    L3:0=fffff;1=fffff\n");
    assert_eq!(fs.0.shown_options(), ",mba_MBps");
}

#[test]
fn the_software_controllers_event_can_be_chosen_on_newer_kernels() {
    let mut fs = Mounted::on(ResctrlMachine { kernel: KernelRelease::V6_18, ..example::server() }, MBPS);
    assert_eq!(fs.read("mba_MBps_event"), "mbm_local_bytes\n");
    assert_eq!(fs.write("mba_MBps_event", "mbm_total_bytes\n"), Ok(()));
    assert_eq!(fs.read("mba_MBps_event"), "mbm_total_bytes\n");
    assert_eq!(fs.refused("mba_MBps_event", "llc_occupancy\n"), "Unsupported event id 'llc_occupancy'\n");
    assert!(!Mounted::on(example::server(), MBPS).names("").contains(&"mba_MBps_event".to_owned()));
}
