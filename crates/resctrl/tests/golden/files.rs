//! Which files there are, their permissions and formats.

use waykeeper_resctrl::{Errno, FileOperation, KernelRelease, MountOptions, Reply, Resctrl, ResctrlMachine, example};

use crate::{Mounted, silent};

#[test]
fn the_root_has_a_groups_files_and_info() {
    let mut fs = Mounted::server();
    let expected = ["cpus", "cpus_list", "info", "mode", "mon_data", "mon_groups", "schemata", "size", "tasks"];
    assert_eq!(fs.names(""), expected);
    assert_eq!(fs.names("info"), ["L3", "L3_MON", "MB", "last_cmd_status"]);
    assert_eq!(fs.names("mon_data"), ["mon_L3_00", "mon_L3_01"]);
    assert_eq!(fs.names("mon_data/mon_L3_01"), ["llc_occupancy", "mbm_local_bytes", "mbm_total_bytes"]);
    let modes = [("", 0o555), ("info/L3", 0o555), ("schemata", 0o644), ("size", 0o444), ("mon_data", 0o555)];
    for (path, mode) in modes {
        assert_eq!(fs.mode(path), mode, "{path}");
    }
}

#[test]
fn a_new_group_gets_the_mode_of_mkdir_without_the_umask() {
    let mut fs = Mounted::server();
    let mkdir = FileOperation::Mkdir { path: b"g".to_vec(), mode: 0o777 };
    fs.0.apply(&mkdir).expect("a free class");
    assert_eq!(fs.mode("g"), 0o755);
    assert_eq!(fs.mode("g/mon_groups"), 0o755);
    fs.mkdir("g/mon_groups/m").expect("a free RMID");
    assert_eq!(fs.names("g/mon_groups/m"), ["cpus", "cpus_list", "mon_data", "tasks"]);
}

#[test]
fn older_kernels_pad_names_and_numbers() {
    let mut fs = Mounted::server();
    // Names are as wide as L3CODE, values as wide as a mask of 20 bits.
    assert_eq!(fs.read("schemata"), "    MB:0=  100;1=  100\n    L3:0=fffff;1=fffff\n");
    // 40 MiB / 20 = 2 MiB a bit.
    assert_eq!(fs.read("size"), "    MB:0=100;1=100\n    L3:0=41943040;1=41943040\n");
}

#[test]
fn newer_kernels_pad_names_alone() {
    let machine = ResctrlMachine { kernel: KernelRelease::V6_18, ..example::server() };
    let mut fs = Mounted::on(machine, MountOptions::default());
    assert_eq!(fs.read("schemata"), "    MB:0=100;1=100\n    L3:0=fffff;1=fffff\n");
}

#[test]
fn with_cdp_data_comes_before_code_and_classes_are_halved() {
    let mut fs = Mounted::on(example::server(), MountOptions { cdp: true, ..MountOptions::default() });
    let expected = "    MB:0=  100;1=  100\nL3DATA:0=fffff;1=fffff\nL3CODE:0=fffff;1=fffff\n";
    assert_eq!(fs.read("schemata"), expected);
    assert_eq!(fs.names("info"), ["L3CODE", "L3DATA", "L3_MON", "MB", "last_cmd_status"]);
    assert_eq!(fs.read("info/L3CODE/num_closids"), "8\n");
    assert_eq!(fs.read("info/MB/num_closids"), "8\n");
}

#[test]
fn info_says_what_the_machine_has() {
    let mut fs = Mounted::server();
    let expected = [
        ("L3/cbm_mask", "fffff\n"),
        ("L3/num_closids", "16\n"),
        ("L3/min_cbm_bits", "1\n"),
        ("L3/shareable_bits", "c0000\n"),
        ("L3/bit_usage", "0=XXSSSSSSSSSSSSSSSSSS;1=XXSSSSSSSSSSSSSSSSSS\n"),
        ("MB/min_bandwidth", "10\n"),
        ("MB/bandwidth_gran", "10\n"),
        ("MB/delay_linear", "1\n"),
        ("MB/thread_throttle_mode", "max\n"),
        ("L3_MON/num_rmids", "32\n"),
        ("L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n"),
        // 40 MiB / 32 = 1310720 = 20 x 65536.
        ("L3_MON/max_threshold_occupancy", "1310720\n"),
        ("last_cmd_status", "ok\n"),
    ];
    for (path, content) in expected {
        assert_eq!(fs.read(&format!("info/{path}")), content, "{path}");
    }
}

#[test]
fn the_debug_option_shows_the_hardwares_identifiers() {
    let options = MountOptions { debug: true, ..MountOptions::default() };
    assert_eq!(Resctrl::new(example::server()).mount(options), Err(Errno::EINVAL));
    let mut fs = Mounted::on(ResctrlMachine { kernel: KernelRelease::V6_12, ..example::server() }, options);
    fs.mkdir("g").expect("a free class");
    assert_eq!((fs.read("g/ctrl_hw_id"), fs.read("g/mon_hw_id")), ("1\n".into(), "1\n".into()));
    assert_eq!(fs.0.shown_options(), ",debug");
}

#[test]
fn the_file_system_can_be_mounted_once() {
    let mut resctrl = Resctrl::new(example::server());
    assert_eq!(resctrl.mount(MountOptions { cdpl2: true, ..MountOptions::default() }), Err(Errno::EINVAL));
    assert_eq!(resctrl.mount(MountOptions::default()), Ok(()));
    assert_eq!(resctrl.mount(MountOptions::default()), Err(Errno::EBUSY));
}

#[test]
fn an_unmount_puts_everything_back() {
    let mut fs = Mounted::server();
    let before = fs.read("schemata");
    fs.mkdir("g").expect("a free class");
    fs.write("schemata", "L3:0=f\n").expect("a mask");
    fs.write("g/cpus_list", "1\n").expect("a CPU");
    fs.0.unmount();
    assert_eq!(fs.0.mount(MountOptions::default()), Ok(()));
    assert_eq!(fs.read("schemata"), before);
    assert_eq!(fs.read("cpus_list"), "0-3\n");
    assert!(!fs.names("").contains(&"g".to_owned()));
}

#[test]
fn root_too_needs_a_permission_bit() {
    let mut fs = Mounted::server();
    assert_eq!(fs.write("size", "1\n"), silent(Errno::EACCES));
    assert_eq!(fs.write("mon_data/mon_L3_00/llc_occupancy", "1\n"), silent(Errno::EACCES));
    assert_eq!(fs.write("schemata", &"x".repeat(4097)), silent(Errno::E2BIG));
    assert_eq!(fs.write("mon_data", "1\n"), silent(Errno::EISDIR));
    assert_eq!(fs.read_error("schemata/x"), Errno::ENOTDIR);
    let unlink = FileOperation::Unlink { path: b"mon_data".to_vec() };
    assert_eq!(fs.0.apply(&unlink).expect_err("a directory").errno, Errno::EISDIR);
}

#[test]
fn names_are_hashed_as_signed_bytes_by_the_oldest_kernels() {
    // As 6.1.0-56-amd64 and 7.3.4 listed a mount without monitoring.
    let order = |kernel| {
        let machine = ResctrlMachine { kernel, monitoring: None, mb: None, ..example::server() };
        let mut fs = Mounted::on(machine, MountOptions::default());
        let mkdir = FileOperation::Mkdir { path: b"\xff\xfe".to_vec(), mode: 0o755 };
        assert_eq!(fs.0.apply(&mkdir), Ok(Reply::Done));
        let names =
            fs.0.entries(b"").expect("a directory").into_iter().map(|entry| entry.name.escape_ascii().to_string());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(order(KernelRelease::V6_1), "cpus_list mode schemata info tasks size \\xff\\xfe cpus");
    assert_eq!(order(KernelRelease::V6_12), "cpus_list mode schemata \\xff\\xfe info tasks size cpus");
}

#[test]
fn a_mount_of_what_is_mounted_clears_the_status_before_7() {
    for (kernel, status) in
        [(KernelRelease::V6_18, "ok\n"), (KernelRelease::V7_3, "Unknown or unsupported resource name 'X'\n")]
    {
        let mut fs = Mounted::on(ResctrlMachine { kernel, ..example::server() }, MountOptions::default());
        assert_eq!(fs.refused("schemata", "X:0=1\n"), "Unknown or unsupported resource name 'X'\n");
        assert_eq!(fs.0.mount(MountOptions::default()), Err(Errno::EBUSY));
        assert_eq!(String::from_utf8(fs.0.status()).as_deref(), Ok(status));
    }
}

#[test]
fn new_groups_and_cpus_clear_the_status_since_6_18_and_reading_since_7() {
    let old = "Unknown or unsupported resource name 'X'\n";
    for (kernel, after_mkdir, after_read) in
        [(KernelRelease::V6_12, old, old), (KernelRelease::V6_18, "ok\n", old), (KernelRelease::V7_3, "ok\n", "ok\n")]
    {
        let mut fs = Mounted::on(ResctrlMachine { kernel, ..example::server() }, MountOptions::default());
        fs.refused("schemata", "X:0=1\n");
        assert_eq!(fs.mkdir("a"), Ok(()));
        assert_eq!(fs.read("info/last_cmd_status"), after_mkdir);
        fs.refused("schemata", "X:0=1\n");
        fs.read("a/cpus");
        assert_eq!(fs.read("info/last_cmd_status"), after_read);
    }
}
