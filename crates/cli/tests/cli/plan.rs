//! `plan`: for platforms, for recorded machines, and where it cannot.

use std::process::Command;

use crate::program::{Desk, Ended};

fn plan(arguments: &[&str]) -> Ended {
    Desk::new().run(&[&["plan"], arguments].concat())
}

#[test]
fn the_table_shows_who_fills_what_and_how_it_is_written() {
    let text = plan(&["tcc-halves", "--for", "i7-13800hre"]).with(0).stdout;
    // 6 of 12 ways of 24 MiB are 12 MiB; the highest way stands first.
    let row = |name: &str| {
        let row = text.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {text}"));
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("######......"), "real-time 4-5 ######...... 0xfc0 12 MiB alone");
    assert_eq!(row("......######"), "L3 0 cores 0-13 others 0-3,6-13 ......###### 0x3f 12 MiB shared");
    for part in ["left for the others", "what it cannot stop", "the memory: ", "wrmsr -p 5 0xc8f 0x100000000"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_script_is_one_that_a_shell_reads() {
    for (policy, platform) in [
        ("tcc-halves", "i7-1185gre"),
        ("apollo-lake-half", "apollo-lake-e3950"),
        ("apollo-lake-pseudo-lock", "apollo-lake-e3950"),
    ] {
        let desk = Desk::new();
        let script = desk.run(&["plan", policy, "--for", platform, "--script"]).with(0).stdout;
        assert!(script.starts_with("#!/bin/sh\n"), "{script}");
        let path = desk.file("plan.sh", &script);
        let shell = Command::new("sh").arg("-n").arg(path).output().unwrap();
        assert!(shell.status.success(), "{}", String::from_utf8_lossy(&shell.stderr));
    }
}

#[test]
fn json_has_the_steps() {
    let json = plan(&["apollo-lake-half", "--for", "apollo-lake-e3950", "--json"]).with(0).json();
    assert_eq!(json["steps"][1]["write"]["path"], "schemata");
    assert_eq!(json["steps"][1]["write"]["text"], "L2:1=f0\n");
    assert_eq!(json["assignment"]["classes"][1]["masks"][0]["mask"], "0xf");
    assert!(json["script"].as_str().unwrap().contains("mkdir /sys/fs/resctrl/clos0"));
}

#[test]
fn every_form_of_a_policy_is_to_be_had() {
    let pqos = plan(&["tcc-halves", "--for", "i7-13800hre", "--as", "pqos"]).with(0).stdout;
    assert!(pqos.contains("pqos --iface=msr -e \"llc:0=0x3f;llc:1=0xfc0\""), "{pqos}");
    let other = plan(&["tcc-halves", "--for", "xeon-d-2752ter", "--cores", "real-time=10,11"]).with(0).stdout;
    assert!(other.contains("echo '10-11' > /sys/fs/resctrl/real-time/cpus_list"), "{other}");
    let refused = plan(&["tcc-halves", "--for", "i7-13800hre", "--as", "resctrl"]).with(3).stderr;
    assert!(refused.contains("CPUID does not enumerate") && refused.lines().count() == 1, "{refused}");
}

#[test]
fn mistakes_are_one_paragraph_that_says_where() {
    let desk = Desk::new();
    desk.file("my.toml", "title = 'x'\n[[classes]]\nname = 'a'\ncores = '0'\nl3 = '13 ways'\n");
    desk.file("odd.toml", "title = 'x'\n[[classes]]\nname = 'a'\ncores = '0'\nl4 = 'half'\n");
    for (arguments, status, told) in [
        (&["absent"][..], 2, "absent: no policy of this name is bundled"),
        (&["odd.toml"], 2, "odd.toml:5: classes.0.l4: unknown key `l4`"),
        (&["my.toml", "--for", "absent"], 2, "--for: found `absent`"),
        (
            &["my.toml", "--for", "i7-1185gre"],
            2,
            "my.toml:5: classes.0.l3: 13 ways is more than L3 0 has: 12 MiB, 12 ways",
        ),
        (&["my.toml", "--for", "i7-1185gre", "--cores", "a"], 2, "--cores a: expected CLASS=LIST"),
        (&["my.toml", "--for", "i7-1185gre", "--cores", "b=1"], 2, "--cores b=1: there is no class `b`; there are a"),
        (&["my.toml", "--for", "i7-1185gre", "--cores", "a=9"], 2, "--cores a=9: there is no core 9; "),
        (
            &["my.toml", "--for", "apollo-lake-e3950"],
            3,
            "my.toml:5: classes.0.l3: platform `apollo-lake-e3950` cannot divide an L3",
        ),
        (
            &["apollo-lake-pseudo-lock", "--for", "x7425e"],
            3,
            "policies/apollo-lake-pseudo-lock.toml:6: pseudo_locks.0: ",
        ),
    ] {
        let ended = desk.run(&[&["plan"], arguments].concat()).with(status);
        assert!(ended.stderr.starts_with(&format!("error: {told}")), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    }
}

/// A tree with one L3 of 12 ways for four cores, or without its resctrl.
fn tree(mounted: bool) -> Desk {
    let desk = Desk::new();
    let put = |path: &str, text: &str| {
        let path = desk.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("sys/devices/system/cpu/online", "0-3\n");
    put("proc/filesystems", if mounted { "nodev\tresctrl\n" } else { "nodev\tsysfs\n" });
    put("proc/77/status", "Name:\trt\nTgid:\t77\n");
    put("proc/77/task/77/comm", "rt\n");
    put("proc/77/task/78/comm", "rt\n");
    if mounted {
        put("proc/mounts", "resctrl /sys/fs/resctrl resctrl rw,relatime 0 0\n");
        for cpu in 0..4 {
            for (file, text) in
                [("level", "3"), ("type", "Unified"), ("id", "0"), ("size", "12288K"), ("shared_cpu_list", "0-3")]
            {
                put(&format!("sys/devices/system/cpu/cpu{cpu}/cache/index0/{file}"), text);
            }
        }
        let files = [("schemata", "L3:0=fff\n"), ("mode", "shareable\n"), ("info/L3/cbm_mask", "fff\n")];
        let more = [("info/L3/min_cbm_bits", "1\n"), ("info/L3/num_closids", "4\n"), ("info/L3/shareable_bits", "0\n")];
        for (file, text) in files.iter().chain(&more) {
            put(&format!("sys/fs/resctrl/{file}"), text);
        }
    }
    desk
}

#[test]
fn a_machine_is_planned_for_by_its_own_files() {
    let desk = tree(true);
    let policy = "title = 'x'\n[[classes]]\nname = 'rt'\ncores = [3]\ntasks = [77]\nl3 = '1/3'\n";
    desk.file("my.toml", policy);
    let json = desk.run(&["plan", "my.toml", "--root", ".", "--json"]).with(0).json();
    let steps: Vec<_> =
        json["steps"].as_array().unwrap().iter().filter_map(|step| step["write"]["text"].as_str()).collect();
    // A third of 12 ways is 4: 0xf; 0xff0 stays. Process 77 has two threads.
    assert_eq!(steps, ["L3:0=ff0\n", "L3:0=f\n", "exclusive\n", "3\n", "77\n", "78\n"]);
    desk.file("my.toml", &policy.replace("77", "79"));
    let refused = desk.run(&["plan", "my.toml", "--root", "."]).with(2).stderr;
    assert!(refused.contains("my.toml:5: classes.0.tasks.0: there is no task 79"), "{refused}");
}

#[test]
fn a_machine_without_resctrl_is_told_so() {
    let desk = tree(false);
    let ended = desk.run(&["plan", "apollo-lake-half", "--root", "."]).with(3);
    for part in ["there is no resctrl", "/proc/filesystems", "--for PLATFORM", "i7-13800hre"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    assert!(ended.stdout.is_empty());
}

/// The text alone is what a compiler or a hypervisor takes; the plan around it says who has what.
#[test]
fn forms_for_firmware_and_hypervisors_are_to_be_had() {
    for (policy, platform, form, text) in [
        ("agilex5-isolate-core1", "agilex5", "dsu", "CLUSTERPARTCR_EL1 (S3_0_C15_C4_3) = 0x1e"),
        ("agilex5-isolate-core1", "agilex5", "tfa", "write_waykeeper_clusterbusqos_el1(UINT64_C(0xf0));"),
        ("agilex5-isolate-core1", "agilex5", "uboot", "go ${loadaddr}"),
        ("agilex5-isolate-core1", "agilex5", "cmdline", "isolcpus=domain,managed_irq,1 nohz_full=1"),
        ("cd8180-portions", "cd8180", "mpam", "wk_write32(component + 0x1000, 0x7U);"),
        ("zynq-lockdown", "zynq7000", "pl310", "wk_pl310_lock(0x7fU, 0xffU);"),
        ("tcc-speed-shift", "i7-13800hre", "hwp", "wrmsr -p 4 0x774 0xf0000000002e2e2e"),
        ("colour-halves", "agilex5", "xen", "llc_colors = [\"0-15\"]"),
        ("colour-halves", "agilex5", "bao", ".colors = 0xff,"),
        ("colour-halves", "agilex5", "jailhouse", ".colors = 0xffff,"),
    ] {
        let arguments = [policy, "--for", platform, "--as", form];
        let alone = plan(&[&arguments[..], &["--script"]].concat()).with(0).stdout;
        assert!(alone.contains(text), "{form}: {alone}");
        let whole = plan(&arguments).with(0).stdout;
        assert!(whole.contains(text) && whole.contains("what it cannot stop"), "{form}: {whole}");
        if form != "cmdline" {
            let wrong = plan(&[policy, "--for", platform, "--as", "pqos"]).with(3).stderr;
            assert!(
                wrong.contains("form `pqos` cannot write ") && wrong.contains("; as `") && wrong.lines().count() == 1,
                "{wrong}"
            );
        }
    }
    let json = plan(&["agilex5-isolate-core1", "--for", "agilex5", "--json"]).with(0).json();
    assert_eq!(json["lowered"]["writes"][1]["place"], "S3_0_C15_C4_3");
    assert_eq!(json["assignment"]["controls"]["priorities"][1]["level"], 15);
}
