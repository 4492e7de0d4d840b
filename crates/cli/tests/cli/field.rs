//! Small inputs from the field that once had a wrong or misleading answer, each with the right one.
//!
//! The trees in `tests/field` were made for these tests after public reports; each test names its report.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{Desk, Ended};

fn input(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/field").join(name)
}

/// A desk with a recorded tree in `tree`, and a policy in `p.toml` with one class `rt`.
fn desk(name: &str, class: &str) -> Desk {
    let desk = Desk::new();
    let unpacked =
        Command::new("tar").arg("xzf").arg(input(&format!("{name}.tar.gz"))).current_dir(desk.path()).status();
    assert!(unpacked.unwrap().success(), "{name}");
    desk.file("p.toml", &format!("title = 'test'\n[[classes]]\nname = 'rt'\n{class}"));
    desk
}

fn run(desk: &Desk, arguments: &[&str]) -> Ended {
    desk.run(&[arguments, &["--root", "tree"]].concat())
}

/// The words of a text with single blanks between them, wherever its lines end.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn doctor(name: &str, more: &[&str]) -> String {
    run(&desk(name, ""), &[&["doctor"], more].concat()).stdout
}

/// The part of the doctor's first list under a heading.
fn listed<'t>(text: &'t str, heading: &str) -> &'t str {
    let from = text.find(&format!("\n{heading}")).unwrap_or_else(|| panic!("no {heading} in {text}"));
    text[from + 1..].split("\n\n").next().unwrap()
}

fn plan(name: &str, class: &str, more: &[&str], status: i32) -> Ended {
    run(&desk(name, class), &[&["plan", "p.toml"], more].concat()).with(status)
}

const TWO_WAYS: &str = "cores = '2,3'\nl3 = '2 ways'\n";

/// raspberrypi/linux#4106.
#[test]
fn all_cores_isolated() {
    let text = doctor("all-cores-isolated", &["--cmdline", "--rt-cores", "0-7"]);
    let line = text.lines().next().unwrap();
    assert!(!line.contains("isolcpus") && !line.contains("nohz_full"), "{line}");
    assert!(words(&text).contains("the kernel keeps its boot core for its own work: leave one out"), "{text}");
}

/// Guests of hwloc's and util-linux's test data.
#[test]
fn an_arm_guest_is_a_virtual_machine() {
    assert!(doctor("arm-guest-fine", &[]).contains("The kernel runs above a hypervisor (QEMU)."));
    let machine = run(&desk("arm-guest-fine", ""), &["machine"]).with(0).stdout;
    assert!(machine.lines().nth(1).unwrap().contains("virtual (QEMU)"), "{machine}");
}

/// Bao 2.0: the list of virtual machines is a pointer. The header has the shape of Bao's `config.h` alone.
#[test]
fn a_configuration_of_bao_compiles() {
    const CONFIG_H: &str = "#include <stdbool.h>\n#include <stddef.h>\n\
        struct vm_config { struct { unsigned long base_addr; size_t size; } image; unsigned long entry;\n\
            unsigned long cpu_affinity; unsigned long colors; };\n\
        extern struct config { struct { bool relocate; unsigned long colors; } hyp; size_t vmlist_size;\n\
            struct vm_config *vmlist; } config;\n";
    let desk = Desk::new();
    let text = desk.run(&["plan", "colour-halves", "--for", "agilex5", "--as", "bao", "--script"]).with(0).stdout;
    desk.file("bao.c", &text);
    desk.file("config.h", CONFIG_H);
    let mut compiler = Command::new("cc");
    let compiled = compiler.args(["-Wall", "-Werror", "-I.", "-c", "bao.c", "-o", "bao.o"]).current_dir(desk.path());
    Ended::of(compiled).with(0);
}

/// ChampSim/ChampSim#176: records of 96 bytes.
#[test]
fn a_trace_of_cloudsuite() {
    let path = input("cloudsuite-records.trace.gz");
    let text = words(&Desk::new().run(&["trace", "--info", path.to_str().unwrap()]).with(0).stdout);
    for expected in ["accesses 320: 200 loads, 120 stores, 0 modifies", "instructions 600"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

/// Groups of koordinator and goresctrl beside ours.
#[test]
fn cores_that_a_plan_takes_from_a_group_are_named() {
    let class = "cores = '2,3'\nl3 = { share = '2 ways', exclusive = false }\n";
    let text = words(&plan("cores-taken-from-a-group", class, &[], 0).stdout);
    assert!(text.contains("cores 2-3 leave the group `video`"), "{text}");
}

/// kernel-parameters.txt, "cpu lists": `N` is the last core.
#[test]
fn a_list_of_cores_that_ends_with_n() {
    assert!(words(&doctor("cpulist-N", &[])).contains("rcu-nocbs taken from cores 2-7"));
    let advice = doctor("cpulist-N", &["--cmdline"]);
    let line = advice.lines().next().unwrap();
    assert!(["isolcpus", "nohz_full", "rcu_nocbs"].iter().all(|key| !line.contains(key)), "{line}");
}

/// intel-cmt-cat#304.
#[test]
fn register_0xca0() {
    let text = words(&Desk::new().run(&["decode", "0xca0", "1"]).with(0).stdout);
    for expected in ["RMID_SNC_CONFIG", "in legacy mode", "IA32_L3_QOS_MASK_16"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

/// intel-cmt-cat#135 and #115.
#[test]
fn a_mask_alone_on_ways_of_devices() {
    let refused = plan("exact-mask-on-device-ways", "cores = '2,3'\nl3 = '0x400'\n", &[], 3).stderr;
    assert!(refused.contains("p.toml:5: classes.0.l3: devices fill way 10 of L3 0"), "{refused}");
}

/// intel-cmt-cat#272: kinds by CPUID where the kernel's folders were not gathered. These efficiency cores have no `cat_l2`.
#[test]
fn a_hybrid_part_is_not_called_one_kind() {
    let machine = words(&run(&desk("hybrid-called-one-kind", ""), &["machine"]).with(0).stdout);
    assert!(
        machine.contains("0-1 P-core CPUID leaf 0x1A") && machine.contains("2-5 E-core CPUID leaf 0x1A"),
        "{machine}"
    );
    let text = doctor("hybrid-called-one-kind", &[]);
    assert!(!text.contains("one kind of core"), "{text}");
    assert!(text.contains("efficiency cores report no L2 masks to the kernel"), "{text}");
}

/// redhat-performance/tuned#719.
#[test]
fn a_graphics_processor_that_sleeps() {
    let text = doctor("igpu-runtime-pm", &[]);
    assert!(text.contains("echo on > /sys/bus/pci/devices/0000:00:02.0/power/control"), "{text}");
}

/// resctrl.rst, `io_alloc`: devices fill ways 0 to 4 of 11.
#[test]
fn ways_of_io_alloc_are_nobodys_alone() {
    let text = words(&plan("io-alloc-ways-alone", TWO_WAYS, &[], 0).stdout);
    assert!(text.contains("rt 2-3 ....##..... 0x60 2 MiB alone"), "{text}");
}

/// systemd/systemd#42013: cpuset partitions of kernels before 6.7.
#[test]
fn an_isolated_partition_of_6_1() {
    let text = doctor("isolated-partition-6.1", &["--rt-cores", "6-7"]);
    assert!(words(listed(&text, "FINE")).contains("isolcpus cores 6-7 isolated by /sys/fs/cgroup/rt.slice"), "{text}");
}

/// intel-cmt-cat#200: errata switch cache allocation off.
#[test]
fn cache_allocation_that_the_kernel_switched_off() {
    let refused = plan("l3cat-off-by-default", TWO_WAYS, &[], 3).stderr;
    for expected in ["`cat_l3` in /proc/cpuinfo", "`rdt=l3cat` on the kernel command line", "bandwidth"] {
        assert!(refused.contains(expected), "{expected}: {refused}");
    }
}

#[test]
fn names_and_architectures_of_others_than_x86() {
    for (name, expected) in
        [("loongarch-name", ["Loongson-3A5000", "loongarch64"]), ("s390-called-x86", ["IBM Z", "s390x"])]
    {
        let text = run(&desk(name, ""), &["machine"]).with(0).stdout;
        let mut lines = text.lines();
        assert!(lines.next().unwrap().starts_with(expected[0]), "{text}");
        assert!(lines.next().unwrap().starts_with(expected[1]), "{text}");
    }
}

/// NVIDIA/NV-Kernels#328: domains of bandwidth that are NUMA nodes.
#[test]
fn a_limit_for_cores_of_no_known_domain() {
    let refused = plan("mb-domain-not-l3-id", "cores = '4,5'\nbandwidth = '30 %'\n", &[], 3).stderr;
    assert!(refused.contains("no MB domain could be found for cores 4-5"), "{refused}");
}

/// resctrl.rst, mba_MBps: the kernel compares MiB/s. 2e9 / 2^20 is 1907.3.
#[test]
fn limits_in_the_kernels_megabytes() {
    let text = plan("mba-mbps-is-mebibytes", "cores = '2,3'\nbandwidth = '2 GB/s'\n", &[], 0).stdout;
    assert!(text.contains("1907 MiB/s") && text.contains("MB:0=1907"), "{text}");
}

/// intel-cmt-cat#289: registers without resctrl.
#[test]
fn a_machine_of_which_only_registers_divide_the_cache() {
    let refused = plan("msr-plan-for-this-machine", "cores = '2'\nl3 = '2 ways'\n", &["--as", "msr"], 3).stderr;
    for expected in ["machine --platform > box.toml", "plan --for box.toml --as msr"] {
        assert!(refused.contains(expected), "{expected}: {refused}");
    }
}

/// Trees of others, which leave the file out.
#[test]
fn a_file_that_was_not_gathered_is_not_fine() {
    let text = doctor("nohz-file-not-gathered", &[]);
    assert!(listed(&text, "NOT SEEN").contains("nohz-full"), "{text}");
}

/// tuned#366: core 7 is the second thread of core 3.
#[test]
fn nosmt_would_take_the_real_time_core() {
    let text = doctor("nosmt-takes-rt-core", &["--cmdline"]);
    let line = text.lines().next().unwrap();
    assert!(line.contains("isolcpus=domain,managed_irq,7") && !line.contains("nosmt"), "{line}");
}

/// ABB SSC600, host tuning.
#[test]
fn values_of_rdt_that_the_kernel_does_not_know() {
    let text = words(&doctor("rdt-values", &[]));
    for expected in ["`l3_cat`, `l3_cdp` are no values of rdt=", "l3cat", "l3cdp"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

/// koordinator-sh/koordinator#1777.
#[test]
fn a_script_writes_where_resctrl_is_mounted() {
    let text = plan("resctrl-mounted-elsewhere", TWO_WAYS, &["--script"], 0).stdout;
    assert!(text.contains("/host-sys-fs/resctrl/rt/schemata") && !text.contains(" /sys/fs/resctrl"), "{text}");
}

/// util-linux, POWER7: kernels before 5.9 have masks and no lists.
#[test]
fn a_cache_that_a_mask_shows_as_shared() {
    let text = words(&run(&desk("shared-cpu-map-only", ""), &["machine"]).with(0).stdout);
    assert!(text.contains("L3 11 MiB 11 16384 64 0-3 sysfs"), "{text}");
}

/// resctrl.rst, sub-NUMA clustering with two nodes: a bit stands for half a way, 512 KiB.
#[test]
fn bits_of_masks_under_sub_numa_clustering() {
    let class = "cores = '2,3'\nl3 = 'at least 2 MiB'\n";
    let text = words(&plan("snc-half-a-way", class, &[], 0).stdout);
    assert!(text.contains("rt 2-3 .......#### 0xf 2 MiB alone"), "{text}");
}
