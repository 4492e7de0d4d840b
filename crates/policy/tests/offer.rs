//! What a machine offers, from files written out by hand in the kernel's formats.

use waykeeper_platform::WayControl;
use waykeeper_policy::offer::{BandwidthUnit, Missing, Shared, Texts};
use waykeeper_policy::{Form, Loaded, Mask, Membership, MountSettings, Offer, lower, plan};

fn texts(files: &[(&str, &str)]) -> Texts {
    Texts(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
}

/// Two sockets of one core with two threads each, an L3 of 20 MiB in 20 ways on each.
fn server(mount: &str, info: &[(&str, &str)]) -> Texts {
    let mut files = texts(&[
        ("/sys/devices/system/cpu/online", "0-3\n"),
        ("/proc/filesystems", "nodev\tsysfs\nnodev\tresctrl\n\text4\n"),
        ("/proc/mounts", mount),
        ("/sys/fs/resctrl/mode", "shareable\n"),
    ]);
    for cpu in 0..4 {
        let (socket, siblings) = (cpu % 2, if cpu % 2 == 0 { "0,2\n" } else { "1,3\n" });
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
        let mut put = |file: &str, text: String| files.0.insert(format!("{folder}/{file}"), text);
        put("topology/thread_siblings_list", siblings.into());
        for (index, level, size) in [(0, 1, "32K\n"), (1, 2, "1024K\n"), (2, 3, "20M\n")] {
            put(&format!("cache/index{index}/level"), format!("{level}\n"));
            put(&format!("cache/index{index}/type"), "Unified\n".into());
            put(&format!("cache/index{index}/id"), format!("{socket}\n"));
            put(&format!("cache/index{index}/size"), size.into());
            put(&format!("cache/index{index}/ways_of_associativity"), "20\n".into());
            put(&format!("cache/index{index}/shared_cpu_list"), siblings.into());
        }
    }
    files.0.extend(info.iter().map(|(path, text)| (format!("/sys/fs/resctrl/{path}"), (*text).to_owned())));
    files
}

const PLAIN: &str = "sysfs /sys sysfs rw 0 0\nresctrl /sys/fs/resctrl resctrl rw,relatime 0 0\n";

fn intel() -> Vec<(&'static str, &'static str)> {
    vec![
        ("schemata", "    MB:0= 100;1= 100\n    L3:0=fffff;1=fffff\n"),
        ("info/L3/cbm_mask", "fffff\n"),
        ("info/L3/min_cbm_bits", "1\n"),
        ("info/L3/num_closids", "16\n"),
        ("info/L3/shareable_bits", "c0000\n"),
        ("info/MB/min_bandwidth", "10\n"),
        ("info/MB/bandwidth_gran", "10\n"),
        ("info/MB/delay_linear", "1\n"),
        ("info/MB/num_closids", "8\n"),
        ("info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n"),
    ]
}

#[test]
fn a_server_with_groups() {
    let mut info = intel();
    info.extend([
        ("there/mode", "exclusive\n"),
        ("there/schemata", "    MB:0= 100;1= 100\n    L3:0=0000f;1=00003\n"),
        ("beside/mode", "shareable\n"),
        ("beside/schemata", "    MB:0= 100;1= 100\n    L3:0=000f0;1=00ff0\n"),
    ]);
    let mut files = server(PLAIN, &info);
    files.0.insert(
        "/proc/cpuinfo".into(),
        "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\nflags : fpu cdp_l3\n".into(),
    );
    let offer = Offer::of_linux(&files).unwrap();
    let cache = offer.cache(3).unwrap();
    assert_eq!((cache.control, cache.classes, cache.cdp, cache.sparse), (Some(WayControl::Cat), Some(16), true, false));
    let domain = &cache.domains[0];
    assert_eq!((domain.id, &domain.cores[..], domain.bits, domain.size_bytes), (0, &[0, 2][..], 20, 20 << 20));
    assert_eq!((domain.kept, domain.filled, domain.devices()), (Mask(0xf), Mask(0xff), Mask(0xc0000)));
    let bandwidth = offer.bandwidth.as_ref().unwrap();
    assert_eq!(
        (bandwidth.unit, bandwidth.min, bandwidth.step, bandwidth.rates),
        (BandwidthUnit::Percent, 10, 10, true)
    );
    assert_eq!(offer.siblings, [vec![0, 2], vec![1, 3]]);
    assert_eq!(offer.taken_classes(), 2);
    assert!(offer.shared.contains(&Shared::Cache { level: 3, groups: vec![vec![0, 2], vec![1, 3]], filter: false }));

    // The lowest 6 of the free bits 8 to 17 on socket 0: 0x3f << 8. The rest: all but those and the kept 0xf, of which
    // bits 4 to 7 and 14 to 19 are left; the longer run is 14 to 19 (0xfc000).
    let text = "title = 'x'\n[[classes]]\nname = 'rt'\ncores = '2'\nl3 = '6 ways'\nbandwidth = '35 %'\n";
    let loaded = Loaded::from_text("my", "my.toml", text).unwrap();
    let assignment = plan(&loaded, &offer, &Membership::unread(&loaded.policy)).unwrap();
    let masks: Vec<_> =
        assignment.classes.iter().flat_map(|class| &class.masks).map(|mask| (mask.domain, mask.mask)).collect();
    assert_eq!(masks, [(0, Mask(0xfc000)), (0, Mask(0x3f00))]);
    // 35 % rounds down to a step of 10: it is the most that the class may take.
    assert_eq!(assignment.classes[1].limits[0].value, 30);
    let notes = assignment.notes.join("\n");
    assert!(notes.contains("35 % of bandwidth is no step of this machine, and becomes 30 %"), "{notes}");
    assert!(notes.contains("ways 4-7 are left to nobody"), "{notes}");
    let gaps: Vec<_> = assignment.leaves_open.iter().map(|gap| gap.what.as_str()).collect();
    assert!(
        gaps.contains(&"the physical core of 0,2") && gaps.contains(&"devices in ways 18-19 of the L3"),
        "{gaps:?}"
    );
    // Registers are the kernel's while resctrl is mounted.
    assert!(lower(&assignment, &offer, Form::Msr).unwrap_err().message.contains("resctrl is mounted"));
}

#[test]
fn limits_in_megabytes_need_their_mount() {
    let text = "title = 'x'\n[[classes]]\nname = 'rt'\ncores = '2'\nbandwidth = '2 GB/s'\n";
    let loaded = Loaded::from_text("my", "my.toml", text).unwrap();
    let planned = |mount: &str| {
        let offer = Offer::of_linux(&server(mount, &intel())).unwrap();
        plan(&loaded, &offer, &Membership::unread(&loaded.policy))
    };
    assert!(planned(PLAIN).unwrap_err().message.contains("`mba_MBps`"));
    let assignment = planned("resctrl /sys/fs/resctrl resctrl rw,relatime,mba_MBps 0 0\n").unwrap();
    assert_eq!(assignment.mount, MountSettings { mbps: true, ..MountSettings::default() });
    assert_eq!(assignment.classes[1].limits[0].value, 2000);
}

#[test]
fn code_and_data_apart_as_they_are_mounted() {
    let info = [
        ("schemata", "L3DATA:0=fffff;1=fffff\nL3CODE:0=fffff;1=fffff\n"),
        ("info/L3CODE/cbm_mask", "fffff\n"),
        ("info/L3CODE/min_cbm_bits", "1\n"),
        ("info/L3CODE/num_closids", "8\n"),
        ("info/L3CODE/shareable_bits", "0\n"),
        ("info/L3CODE/sparse_masks", "1\n"),
        ("info/L3DATA/cbm_mask", "fffff\n"),
    ];
    let offer = Offer::of_linux(&server("resctrl /sys/fs/resctrl resctrl rw,cdp 0 0\n", &info)).unwrap();
    let cache = offer.cache(3).unwrap();
    assert_eq!((cache.classes, cache.cdp, cache.sparse), (Some(16), true, true));
    // A plain share is written for both.
    let text = "title = 'x'\n[[classes]]\nname = 'rt'\ncores = '0'\nl3 = '2 ways'\n";
    let loaded = Loaded::from_text("my", "my.toml", text).unwrap();
    let assignment = plan(&loaded, &offer, &Membership::unread(&loaded.policy)).unwrap();
    let script = lower(&assignment, &offer, Form::Resctrl).unwrap().script(&assignment);
    for line in
        ["mount -t resctrl -o cdp resctrl", "'L3CODE:0=3' > /sys/fs/resctrl/rt", "'L3DATA:0=3' > /sys/fs/resctrl/rt"]
    {
        assert!(script.contains(line), "{line}: {script}");
    }
}

/// AMD: 2 GB/s are 16 units of 1/8 GB/s; masks may have holes though old kernels have no file that says so.
#[test]
fn units_of_amd() {
    let info = [
        ("schemata", "    MB:0=2048;1=2048\n    L3:0=ffff;1=ffff\n"),
        ("info/L3/cbm_mask", "ffff\n"),
        ("info/L3/min_cbm_bits", "0\n"),
        ("info/L3/num_closids", "16\n"),
        ("info/L3/shareable_bits", "0\n"),
        ("info/MB/min_bandwidth", "0\n"),
        ("info/MB/bandwidth_gran", "1\n"),
        ("info/MB/delay_linear", "0\n"),
        ("info/MB/num_closids", "16\n"),
    ];
    let mut files = server(PLAIN, &info);
    files.0.insert("/proc/cpuinfo".into(), "vendor_id : AuthenticAMD\n".into());
    let offer = Offer::of_linux(&files).unwrap();
    assert!(offer.cache(3).unwrap().sparse);
    let text = "title = 'x'\n[[classes]]\nname = 'rt'\ncores = '1'\nl3 = '0x5'\nbandwidth = '2 GB/s'\n";
    let loaded = Loaded::from_text("my", "my.toml", text).unwrap();
    let assignment = plan(&loaded, &offer, &Membership::unread(&loaded.policy)).unwrap();
    assert_eq!(assignment.classes[1].limits[0].value, 16);
    assert_eq!((assignment.classes[0].masks[0].mask, assignment.classes[1].masks[0].mask), (Mask(0xfffa), Mask(0x5)));
}

#[test]
fn a_machine_says_what_it_lacks() {
    assert_eq!(Offer::of_linux(&texts(&[])), Err(Missing::Cores));
    let online = ("/sys/devices/system/cpu/online", "0\n");
    assert_eq!(Offer::of_linux(&texts(&[online])), Err(Missing::NoResctrl));
    let files = texts(&[online, ("/proc/filesystems", "nodev\tresctrl\n")]);
    assert_eq!(Offer::of_linux(&files), Err(Missing::NotMounted));
    let mut info = intel();
    info[0].1 = "L3:0=fffff;7=fffff\n";
    let odd = Offer::of_linux(&server(PLAIN, &info)).unwrap_err().to_string();
    assert!(odd.contains("/sys/fs/resctrl/schemata") && odd.contains("cache 7 of level 3"), "{odd}");
    info[0].1 = "L3:what\n";
    let odd = Offer::of_linux(&server(PLAIN, &info)).unwrap_err().to_string();
    assert!(odd.contains("holds \"L3:what\""), "{odd}");
}
