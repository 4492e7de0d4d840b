//! What is printed.

use waykeeper_doctor::{Outcome, Severity, Smis, examine, schema, text};

use crate::tree::{Tree, network_device};

/// A machine as it comes: nothing was done for real time.
fn untuned() -> Tree {
    let mut tree = Tree::tuned();
    tree.put("/proc/version", "Linux version 6.1.0-50-amd64 (b@h) (gcc) #1 SMP PREEMPT_DYNAMIC Debian 6.1.1 (2026)\n")
        .put("/proc/sys/kernel/osrelease", "6.1.0-50-amd64\n")
        .put("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro quiet noht intel.max_cstate=0 irqaffinity=02\n")
        .put("/sys/devices/system/cpu/isolated", "\n")
        .put("/sys/devices/system/cpu/nohz_full", "  (null)\n")
        .put("/sys/devices/system/cpu/cpu4/cpuidle/state2/disable", "0\n")
        .put("/sys/devices/system/cpu/cpu4/cpufreq/scaling_governor", "powersave\n")
        .put("/sys/devices/system/cpu/cpu4/cpufreq/energy_performance_preference", "balance_performance\n")
        .put("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n")
        .put_register(6, 0xd10, 0x3ff)
        .put("/proc/irq/default_smp_affinity", "ff\n")
        .put("/proc/irq/16/effective_affinity_list", "4\n")
        .put("/proc/sys/kernel/nmi_watchdog", "1\n")
        .put("/proc/sys/kernel/soft_watchdog", "1\n")
        .put("/proc/sys/kernel/watchdog_cpumask", "0-7\n")
        .put("/proc/sys/kernel/sched_rt_runtime_us", "950000\n")
        .put("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")
        .put("/proc/swaps", "Filename\tType\n/dev/sda3\tpartition\n")
        .thread(77, "kworker/u16:1", "0-7")
        .put("/sys/devices/virtual/workqueue/cpumask", "ff\n")
        .put("/sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n")
        .put("/sys/bus/pci/devices/0000:00:02.0/vendor", "0x8086\n")
        .put("/sys/bus/pci/devices/0000:03:00.0/link/l1_aspm", "1\n")
        .put_bytes("/sys/bus/pci/devices/0000:03:00.0/config", &network_device(false));
    tree.smis = Smis::NotCounted("/dev/cpu/4/msr is not there (`modprobe msr` loads the driver)".into());
    tree
}

#[test]
fn a_machine_as_it_comes() {
    let tree = untuned();
    let examination = examine(&tree.view());
    assert!(examination.is_serious());
    insta::assert_snapshot!("untuned", text(&examination));
    insta::assert_json_snapshot!("untuned_json", examination);
}

#[test]
fn a_tuned_machine() {
    let tree = Tree::tuned();
    let examination = examine(&tree.view());
    assert!(!examination.is_serious());
    insta::assert_snapshot!("tuned", text(&examination));
}

#[test]
fn every_finding_stands_in_the_text_once() {
    let tree = untuned();
    let examination = examine(&tree.view());
    let printed = text(&examination);
    for finding in &examination.findings {
        let label = if finding.outcome == Outcome::Found {
            format!("  {}: ", finding.id)
        } else {
            format!("  {} ", finding.id)
        };
        assert_eq!(printed.matches(&format!("\n{label}")).count(), 1, "{}: {printed}", finding.id);
    }
    let at = |heading: &str| printed.find(heading).unwrap();
    assert!(at("\nSERIOUS\n") < at("\nWARNINGS\n") && at("\nWARNINGS\n") < at("\nNOT SEEN"));
    assert!(printed.lines().all(|line| line.chars().count() <= 110 || !line.trim().contains(' ')), "{printed}");
    assert_eq!(examination.of(Severity::Serious).count(), 5, "preemption, idle-states, isolcpus, irqs, hybrid-l2");
}

#[test]
fn what_is_wrong_stands_first_in_a_line_each() {
    let examination = examine(&untuned().view());
    let printed = text(&examination);
    let (glance, _) = printed.split_once("\nSERIOUS\n").unwrap();
    let mut found = Vec::new();
    for (severity, mark) in [(Severity::Serious, "!!"), (Severity::Warning, "! "), (Severity::Note, "  ")] {
        found.extend(examination.of(severity).map(|finding| format!("  {mark} {:<22}{}", finding.id, finding.what)));
    }
    // Long lines go on below, indented to the text; in the first line stands at least the name and the first word.
    let begins = |line: &&str| !line.is_empty() && found.iter().any(|full| full.starts_with(*line));
    let lines: Vec<_> = glance.lines().filter(begins).collect();
    assert_eq!(lines.len(), found.len(), "{glance}");
    assert!(lines.iter().zip(&found).all(|(line, full)| full.starts_with(*line) && line.len() > 27), "{glance}");
    assert!(glance.contains("`waykeeper doctor --cmdline --rt-cores 4-5`"), "{glance}");
    assert!(text(&examine(&Tree::tuned().view())).contains("nothing that keeps the real-time cores"), "tuned");
}

#[test]
fn an_examination_follows_its_schema() {
    let schema = serde_json::to_value(schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for tree in [untuned(), Tree::tuned()] {
        let mut value = serde_json::to_value(examine(&tree.view())).unwrap();
        assert!(
            validator.is_valid(&value),
            "{:?}",
            validator.iter_errors(&value).map(|e| e.to_string()).collect::<Vec<_>>()
        );
        value["findings"][0]["outcome"] = "ok".into();
        assert!(!validator.is_valid(&value));
    }
}
