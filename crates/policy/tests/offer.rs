//! What a machine offers, from files written out by hand in the kernel's formats.

use waykeeper_platform::WayControl;
use waykeeper_policy::offer::{BandwidthUnit, Missing, Shared, Texts};
use waykeeper_policy::{Assignment, Form, LoadedPolicy, Mask, Membership, MountSettings, Offer, Refusal, lower, plan};

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
    let loaded = LoadedPolicy::from_text("my", "my.toml", text).unwrap();
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
    let loaded = LoadedPolicy::from_text("my", "my.toml", text).unwrap();
    let planned = |mount: &str| {
        let offer = Offer::of_linux(&server(mount, &intel())).unwrap();
        plan(&loaded, &offer, &Membership::unread(&loaded.policy))
    };
    assert!(planned(PLAIN).unwrap_err().message.contains("`mba_MBps`"));
    let assignment = planned("resctrl /sys/fs/resctrl resctrl rw,relatime,mba_MBps 0 0\n").unwrap();
    assert_eq!(assignment.mount, MountSettings { mbps: true, ..MountSettings::default() });
    assert_eq!(assignment.classes[1].limits[0].value, 1907); // 2e9 / 2^20 = 1907.3: the kernel counts in MiB/s
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
    let loaded = LoadedPolicy::from_text("my", "my.toml", text).unwrap();
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
    let loaded = LoadedPolicy::from_text("my", "my.toml", text).unwrap();
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

/// One class with cores 2 on the server, its share as text, after a change of the server's files.
fn planned(mount: &str, info: &[(&str, &str)], class: &str) -> Result<(Assignment, Offer), Refusal> {
    let mut files = server(mount, info);
    files.0.insert("/proc/cpuinfo".into(), "vendor_id : GenuineIntel\nflags : fpu cat_l3 mba\n".into());
    if !mount.contains(" /sys/fs/resctrl ") {
        let moved = |path: String| path.replace("/sys/fs/resctrl", "/host-sys-fs/resctrl");
        files = Texts(files.0.into_iter().map(|(path, text)| (moved(path), text)).collect());
    }
    let offer = Offer::of_linux(&files).unwrap();
    let text = format!("title = 'x'\n[[classes]]\nname = 'rt'\ncores = '2'\n{class}\n");
    let loaded = LoadedPolicy::from_text("my", "my.toml", &text).unwrap();
    plan(&loaded, &offer, &Membership::unread(&loaded.policy)).map(|assignment| (assignment, offer))
}

/// The server without ways that `shareable_bits` gives to devices, and with these files besides.
fn intel_with<'t>(more: &[(&'t str, &'t str)]) -> Vec<(&'t str, &'t str)> {
    let mut info = intel();
    info.retain(|(path, _)| *path != "info/L3/shareable_bits");
    info.push(("info/L3/shareable_bits", "0\n"));
    info.extend(more);
    info
}

#[test]
fn ways_of_io_alloc_are_nobodys_alone() {
    let on = [("info/L3/io_alloc", "enabled\n"), ("info/L3/io_alloc_cbm", "0=1f;1=3\n")];
    let (assignment, offer) = planned(PLAIN, &intel_with(&on), "l3 = '2 ways'").unwrap();
    // Devices fill ways 0 to 4 of cache 0: the lowest two that are free are 5 and 6.
    assert_eq!(assignment.classes[1].masks[0].mask, Mask(0x60));
    let domains = &offer.cache(3).unwrap().domains;
    assert_eq!((domains[0].devices(), domains[1].devices()), (Mask(0x1f), Mask(0x3)));
    // Its class is one of the 16.
    assert_eq!(offer.cache(3).unwrap().classes, Some(15));
    let off = [("info/L3/io_alloc", "disabled\n"), ("info/L3/io_alloc_cbm", "0=1f;1=3\n")];
    let (assignment, offer) = planned(PLAIN, &intel_with(&off), "l3 = '2 ways'").unwrap();
    assert_eq!((assignment.classes[1].masks[0].mask, offer.cache(3).unwrap().classes), (Mask(0x3), Some(16)));
}

#[test]
fn a_mask_on_ways_of_devices_is_not_given_alone() {
    let refusal = planned(PLAIN, &intel(), "l3 = '0x40000'").unwrap_err();
    assert!(refusal.message.contains("devices fill way 18 of L3 0"), "{}", refusal.message);
    let shared = planned(PLAIN, &intel(), "l3 = { share = '0x40000', exclusive = false }").unwrap().0;
    assert_eq!((shared.classes[1].masks[0].mask, shared.classes[1].masks[0].exclusive), (Mask(0x40000), false));
}

#[test]
fn a_bit_is_half_a_way_with_two_sub_numa_nodes() {
    let event = "mbm_total_bytes";
    let nodes = [0, 1].map(|node| format!("mon_data/mon_L3_00/mon_sub_L3_{node:02}/{event}"));
    let nodes = nodes.each_ref().map(|path| (path.as_str(), "0\n"));
    let mut info = intel();
    info.extend(nodes);
    let (assignment, offer) = planned(PLAIN, &info, "l3 = 'at least 2 MiB'").unwrap();
    // 20 MiB in 20 bits are 1 MiB a bit, and 512 KiB with two nodes: 4 bits. The other cache has no nodes.
    assert_eq!(assignment.classes[1].masks[0].mask.count(), 4);
    let sizes: Vec<u64> = offer.cache(3).unwrap().domains.iter().map(|domain| domain.size_bytes).collect();
    assert_eq!(sizes, [10 << 20, 20 << 20]);
}

/// resctrl.rst, "bit_usage": the letters begin with the highest bit. No group is shown that has the ways of `E` and `P`.
#[test]
fn ways_that_are_in_use_by_what_no_group_shows() {
    let mut info = intel();
    info.push(("info/L3/bit_usage", "0=XXHHSSSSSSSSSSSSPEEE;1=XXSSSSSSSSSSSSSSSSSS\n"));
    let (assignment, offer) = planned(PLAIN, &info, "l3 = '4 ways'").unwrap();
    let domains = &offer.cache(3).unwrap().domains;
    // H is 17 and 16, beside the 19 and 18 of `shareable_bits`; E and P are 3 to 0.
    assert_eq!((domains[0].devices(), domains[0].kept), (Mask(0xf0000), Mask(0xf)));
    assert_eq!((domains[1].devices(), domains[1].kept), (Mask(0xc0000), Mask(0)));
    let mask = |class: usize| assignment.classes[class].masks.iter().find(|mask| mask.domain == 0).unwrap().mask;
    assert_eq!((mask(1), mask(0)), (Mask(0xf0), Mask(0xfff00)));
    for (l3, told) in [
        ("'0x1'", "groups that resctrl has already fill ways 0"),
        ("'0x8'", "groups that resctrl has already fill ways 3"),
        ("{ share = '0xc', exclusive = false }", "groups that resctrl has already have a part of 0xc alone"),
        ("'0x10000'", "devices fill way 16 of L3 0"),
        ("'13 ways'", "12 are free (devices fill 16-19, groups that resctrl has already fill 0-3)"),
    ] {
        let refusal = planned(PLAIN, &info, &format!("l3 = {l3}")).unwrap_err();
        assert!(refusal.message.contains(told), "{l3}: {}", refusal.message);
    }
}

#[test]
fn bit_usage_is_read_with_care() {
    let with = |text: &'static str| {
        let mut info = intel();
        info.push(("info/L3/bit_usage", text));
        Offer::of_linux(&server(PLAIN, &info))
    };
    // A letter of a later kernel: whatever it means, these ways are not simply free.
    let later = with("0=SSSSSSSSSSSSSSSSSSS?;1=00000000000000000000\n").unwrap();
    let kept: Vec<_> = later.cache(3).unwrap().domains.iter().map(|domain| domain.kept).collect();
    assert_eq!(kept, [Mask(1), Mask(0)]);
    // Devices that fill everything say nothing about any way, as `shareable_bits` of MPAM.
    let all = with("0=XXXXXXXXXXXXXXXXXXXX;1=XXXXXXXXXXXXXXXXXXXX\n").unwrap();
    assert_eq!(all.cache(3).unwrap().domains[0].devices(), Mask(0xc0000));
    for text in ["0=SSSS;1=SSSS\n", "0=SSSSSSSSSSSSSSSSSSSS\n", "\n", "0=fffff;1=fffff\n"] {
        let error = with(text).unwrap_err().to_string();
        assert!(error.contains("/sys/fs/resctrl/info/L3/bit_usage holds") && error.contains("20 letters"), "{error}");
    }
}

/// A file system in user space that serves resctrl, as `waykeeper mount` does.
#[test]
fn resctrl_that_is_served_from_user_space() {
    let at = |mounts: &str| {
        let mut files = server(mounts, &intel());
        let of_usual = |(path, text): (&String, &String)| {
            Some((path.replace("/sys/fs/resctrl", "/run/served"), text.clone())).filter(|(new, _)| new != path)
        };
        let copy: Vec<_> = files.0.iter().filter_map(of_usual).collect();
        files.0.extend(copy);
        Offer::of_linux(&files).map(|offer| offer.resctrl.unwrap())
    };
    let served = "waykeeper /run/served fuse.resctrl rw,nosuid,nodev,relatime,user_id=0,group_id=0,cdp 0 0\n";
    let state = at(served).unwrap();
    assert_eq!((state.at.as_str(), state.mounted.cdp), ("/run/served", true));
    // The kernel's own comes first, wherever it is.
    let kernels = "resctrl /host/sys/fs/resctrl resctrl rw 0 0\n";
    let both = at(&format!("{served}{kernels}")).unwrap_err().to_string();
    assert!(both.starts_with("/host/sys/fs/resctrl/"), "{both}");
    assert_eq!(at(&format!("{served}{PLAIN}")).unwrap().at, "/sys/fs/resctrl");
    // Any user can mount one, and a script that root runs would write where that user likes.
    for owner in ["user_id=1000", "user_id=00", "rw"] {
        let error = at(&served.replace("user_id=0", owner)).unwrap_err();
        assert!(matches!(&error, Missing::OfUser { at, .. } if at == "/run/served"), "{error}");
        assert_eq!(at(&format!("{}{PLAIN}", served.replace("user_id=0", owner))).unwrap().at, "/sys/fs/resctrl");
    }
}

#[test]
fn a_limit_without_a_known_domain_is_refused() {
    let mut info = intel();
    info[0] = ("schemata", "    MB:1= 100;2= 100\n    L3:0=fffff;1=fffff\n");
    // 1 is an id of an L3 as well, but 2 is none: the numbers are not those of the L3 caches.
    let refusal = planned(PLAIN, &info, "bandwidth = '30 %'").unwrap_err();
    assert!(refusal.message.contains("no MB domain could be found for cores 2"), "{}", refusal.message);
    assert_eq!(refusal.key, "classes.0.bandwidth");
}

#[test]
fn cores_that_leave_a_group_are_noted() {
    let mut info = intel();
    info.extend([("video/mode", "shareable\n"), ("video/cpus_list", "2-3\n"), ("video/schemata", "L3:0=f;1=f\n")]);
    let (assignment, _) = planned(PLAIN, &info, "l3 = '2 ways'").unwrap();
    let notes = assignment.notes.join("\n");
    assert!(notes.contains("core 2 leaves the group `video`"), "{notes}");
    let (free, _) = planned(PLAIN, &intel(), "l3 = '2 ways'").unwrap();
    assert!(!free.notes.join("\n").contains("leaves the group"));
}

#[test]
fn a_kernel_that_offers_no_ways_names_its_switch() {
    let info: Vec<_> = intel().into_iter().filter(|(path, _)| !path.starts_with("info/L3/")).collect();
    let refusal = planned(PLAIN, &info, "l3 = '2 ways'").unwrap_err();
    for told in ["cat_l3", "rdt=l3cat", "it can divide memory bandwidth"] {
        assert!(refusal.message.contains(told), "{told}: {}", refusal.message);
    }
}

#[test]
fn scripts_write_where_resctrl_is_mounted() {
    let elsewhere = "resctrl /host-sys-fs/resctrl resctrl rw,relatime 0 0\n";
    let (assignment, offer) = planned(elsewhere, &intel(), "l3 = '2 ways'").unwrap();
    let lowered = lower(&assignment, &offer, Form::Resctrl).unwrap();
    let script = lowered.script(&assignment);
    assert!(script.contains("> /host-sys-fs/resctrl/rt/schemata") && !script.contains("/sys/fs/"), "{script}");
    // The usual place counts where there are two.
    let two = format!("resctrl /host-sys-fs/resctrl resctrl rw 0 0\n{PLAIN}");
    let (_, offer) = planned(&two, &intel(), "l3 = '2 ways'").unwrap();
    assert_eq!(offer.resctrl.unwrap().at, "/sys/fs/resctrl");
    // A place that a shell would read as more than a path.
    let mut state = planned(elsewhere, &intel(), "l3 = '2 ways'").unwrap();
    state.1.resctrl.as_mut().unwrap().at = "/a'$(reboot)".into();
    assert!(lower(&state.0, &state.1, Form::Resctrl).unwrap_err().message.contains("no script can name safely"));
}
