//! Masks in `schemata`: every check with its text.

use waykeeper_resctrl::{AllocatableCache, Errno, KernelRelease, MountOptions, ResctrlMachine, example};

use crate::{Mounted, error};

#[test]
fn every_mistake_has_its_text() {
    let mut fs = Mounted::server();
    let texts = [
        ("L3\n", "Missing ':'\n"),
        ("\n", "Missing ':'\n"),
        ("L3:\n", "Missing 'L3' value\n"),
        ("L2:0=f\n", "Unknown or unsupported resource name 'L2'\n"),
        ("l3:0=f\n", "Unknown or unsupported resource name 'l3'\n"),
        ("L3:f\n", "Missing '=' or non-numeric domain\n"),
        ("L3: 0=f\n", "Missing '=' or non-numeric domain\n"),
        ("L3:0=f;0=f\n", "Duplicate domain 0\n"),
        ("L3:0=g\n", "Non-hex character in the mask g\n"),
        ("L3:0=0\n", "Mask out of range\n"),
        ("L3:0=100000\n", "Mask out of range\n"),
        ("L3:0=5\n", "The mask 5 has non-consecutive 1-bits\n"),
        // No domain has the id 7: the kernel says nothing.
        ("L3:7=f\n", "ok\n"),
    ];
    for (line, text) in texts {
        assert_eq!(fs.refused("schemata", line), text, "{line}");
    }
    // The status stays as it was when the newline is missing.
    fs.refused("schemata", "x\n");
    assert_eq!(fs.refused("schemata", "L3:0=f"), "Missing ':'\n");
    assert_eq!(fs.read("schemata"), "    MB:0=  100;1=  100\n    L3:0=fffff;1=fffff\n");
}

#[test]
fn names_and_values_are_trimmed() {
    let mut fs = Mounted::server();
    assert_eq!(fs.write("schemata", " L3 :0= 0xF ;1=+3;\n"), Ok(()));
    assert_eq!(fs.read("schemata"), "    MB:0=  100;1=  100\n    L3:0=0000f;1=00003\n");
    assert_eq!(fs.read("info/last_cmd_status"), "ok\n");
}

#[test]
fn a_wrong_line_leaves_all_masks_as_they_were() {
    let mut fs = Mounted::server();
    assert_eq!(fs.refused("schemata", "L3:0=f\nMB:0=50\nL3:1=0\n"), "Mask out of range\n");
    assert_eq!(fs.read("schemata"), "    MB:0=  100;1=  100\n    L3:0=fffff;1=fffff\n");
}

#[test]
fn only_the_first_run_of_ones_counts_for_the_least_number_of_bits() {
    let cache = AllocatableCache { min_bits: 2, cdp: false, ..example::server().l3.expect("a cache") };
    let mut fs =
        Mounted::on(ResctrlMachine { l3: Some(cache), mb: None, ..example::server() }, MountOptions::default());
    assert_eq!(fs.refused("schemata", "L3:0=1\n"), "Need at least 2 bits in the mask\n");
    // 6.1 pads masks to the width that CPUID told; here it told none.
    assert_eq!(fs.write("schemata", "L3:0=300\n"), Ok(()));
    assert_eq!(fs.read("schemata").lines().next(), Some("L3:0=300;1=fffff"));
    let sparse = AllocatableCache { min_bits: 2, sparse: true, ..example::server().l3.expect("a cache") };
    let machine = ResctrlMachine { kernel: KernelRelease::V6_18, l3: Some(sparse), ..example::server() };
    let mut fs = Mounted::on(machine, MountOptions::default());
    assert_eq!(fs.refused("schemata", "L3:0=d\n"), "Need at least 2 bits in the mask\n");
    assert_eq!(fs.write("schemata", "L3:0=b\n"), Ok(()));
}

#[test]
fn holes_are_asked_for_since_6_7() {
    let sparse = AllocatableCache { sparse: true, ..example::server().l3.expect("a cache") };
    let old = ResctrlMachine { l3: Some(sparse), ..example::server() };
    let new = ResctrlMachine { kernel: KernelRelease::V6_12, ..old.clone() };
    let mut fs = Mounted::on(old, MountOptions::default());
    assert_eq!(fs.refused("schemata", "L3:0=5\n"), "The mask 5 has non-consecutive 1-bits\n");
    let mut fs = Mounted::on(new, MountOptions::default());
    assert_eq!(fs.write("schemata", "L3:0=5\n"), Ok(()));
    assert_eq!(fs.read("info/L3/sparse_masks"), "1\n");
}

#[test]
fn the_newest_kernels_say_so_when_the_newline_is_missing() {
    let mut fs =
        Mounted::on(ResctrlMachine { kernel: KernelRelease::V7_3, ..example::server() }, MountOptions::default());
    assert_eq!(fs.write("schemata", "L3:0=f"), error(Errno::EINVAL, "schemata: Invalid input\n"));
    assert_eq!(fs.write("mode", ""), error(Errno::EINVAL, "mode: Invalid input\n"));
    // Reading a group's file clears the status.
    fs.read("schemata");
    assert_eq!(fs.read("info/last_cmd_status"), "ok\n");
}

#[test]
fn the_status_holds_511_bytes() {
    let mut fs = Mounted::server();
    let name = "x".repeat(600);
    let expected = format!("Unknown or unsupported resource name '{}", "x".repeat(511 - 38));
    assert_eq!(fs.refused("schemata", &format!("{name}:0=f\n")), expected);
    let mut fs =
        Mounted::on(ResctrlMachine { kernel: KernelRelease::V7_3, ..example::server() }, MountOptions::default());
    assert_eq!(fs.refused("schemata", &format!("{name}:0=f\n")), expected + "[truncated]\n");
}

#[test]
fn with_cdp_each_of_code_and_data_is_written_alone() {
    let mut fs = Mounted::on(example::server(), MountOptions { cdp: true, ..MountOptions::default() });
    assert_eq!(fs.write("schemata", "L3CODE:0=f\n"), Ok(()));
    assert!(fs.read("schemata").ends_with("L3DATA:0=fffff;1=fffff\nL3CODE:0=0000f;1=fffff\n"));
    assert_eq!(fs.refused("schemata", "L3:0=f\n"), "Unknown or unsupported resource name 'L3'\n");
}
