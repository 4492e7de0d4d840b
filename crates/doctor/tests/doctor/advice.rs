//! Kernel parameters that a machine lacks.

use waykeeper_doctor::parameters::unknown::{UNKNOWN, unknown};
use waykeeper_doctor::{Advice, CommandLine, Fix, Outcome, View, advice_text, advise, examine};

use crate::tree::Tree;

fn advice(change: impl Fn(&mut Tree)) -> Advice {
    let mut tree = Tree::tuned();
    change(&mut tree);
    advise(&tree.view())
}

fn added(advice: &Advice) -> Vec<&str> {
    advice.add.iter().map(|parameter| parameter.parameter.as_str()).collect()
}

#[test]
fn a_bare_command_line_lacks_everything() {
    let advice = advice(|tree| {
        tree.put("/proc/cmdline", "root=/dev/sda2 quiet\n")
            .put("/proc/version", "Linux version 6.1.0 () #1 SMP PREEMPT_DYNAMIC Debian\n")
            .put("/proc/sys/kernel/numa_balancing", "1")
            .put("/sys/devices/system/cpu/smt/active", "1");
    });
    insta::assert_snapshot!("bare", advice_text(&advice));
    assert_eq!(advice.line.split(' ').collect::<Vec<_>>(), added(&advice));
    assert_eq!(CommandLine::parse(&advice.line).words.len(), advice.add.len(), "the line is ready to paste");
}

#[test]
fn what_is_there_is_not_added_again() {
    let advice = advice(|tree| {
        tree.booted_with("nmi_watchdog=0 nosoftlockup transparent_hugepage=madvise pcie_aspm.policy=performance");
    });
    assert_eq!(added(&advice), [""; 0]);
    assert!(advice.line.is_empty() && advice.remove.is_empty());
    assert_eq!(
        advice.there,
        [
            "isolcpus=domain,managed_irq,4-5",
            "nohz_full=4-5",
            "rcu_nocbs=4-5",
            "irqaffinity=0-3,6-7",
            "intel_idle.max_cstate=0",
            "processor.max_cstate=1",
            "nmi_watchdog=0",
            "nosoftlockup",
            "transparent_hugepage=madvise",
            "pcie_aspm.policy=performance",
        ]
    );
}

#[test]
fn cores_that_are_set_apart_stay_so() {
    let with = |old: &str, new: &str| {
        let advice = advice(|tree| {
            tree.replace("/proc/cmdline", old, new);
        });
        let name = new.split('=').next().unwrap();
        advice.add.into_iter().find(|parameter| parameter.parameter.starts_with(name))
    };
    let isolated = |value: &str| with("isolcpus=domain,managed_irq,4-5", &format!("isolcpus={value}"));
    // More cores and more flags are as good.
    assert_eq!(isolated("nohz,domain,managed_irq,3-5"), None);
    // The flags are missing; core 2 is somebody's.
    let found = isolated("2,4,5").unwrap();
    assert_eq!(found.parameter, "isolcpus=domain,managed_irq,2,4-5");
    assert_eq!(found.replaces.as_deref(), Some("isolcpus=2,4,5"));
    assert_eq!(with("nohz_full=4-5", "nohz_full=4").unwrap().parameter, "nohz_full=4-5");
    // Fewer cores take the interrupts; a real-time one must not.
    assert_eq!(with("irqaffinity=0-3,6-7", "irqaffinity=0"), None);
    assert_eq!(with("irqaffinity=0-3,6-7", "irqaffinity=0,4").unwrap().parameter, "irqaffinity=0-3,6-7");
    assert_eq!(with("irqaffinity=0-3,6-7", "irqaffinity=02").unwrap().replaces.as_deref(), Some("irqaffinity=02"));
}

#[test]
fn what_does_nothing_is_to_go() {
    let advice = advice(|tree| {
        tree.booted_with("noht idle=poll");
    });
    assert_eq!(advice.remove.len(), 1);
    assert_eq!(advice.remove[0].parameter, "noht");
}

/// By kernel/rcu/tree_nocb.h and kernel/sched/isolation.c: `rcu_nocbs` takes all cores where it cannot read its list, the others none;
/// an unknown flag alone is skipped; of lists that contradict each other the first counts; a blank ends a list.
#[test]
fn lists_of_cores_are_read_as_the_kernel_reads_them() {
    let finding = |old: &str, new: &str, id: &str| {
        let mut tree = Tree::tuned();
        tree.replace("/proc/cmdline", old, new);
        examine(&tree.view()).findings.into_iter().find(|finding| finding.id == id).unwrap()
    };
    let takes_all = |id| finding("rcu_nocbs=4-5", "rcu_nocbs=4-99", id);
    assert_eq!(takes_all("rcu-nocbs").outcome, Outcome::Fine);
    let unread = takes_all("kernel-parameters");
    assert!(unread.seen[0].value.contains("takes all cores in its place"), "{unread:?}");
    let skipped = |new: &str| {
        let mut tree = Tree::tuned();
        tree.replace("/proc/cmdline", "isolcpus=domain,managed_irq,4-5", new);
        let advice = advise(&tree.view());
        assert!(!advice.remove.iter().any(|gone| gone.parameter.starts_with("isolcpus")), "{advice:?}");
        advice.add.into_iter().find(|added| added.parameter.starts_with("isolcpus")).unwrap()
    };
    let added = skipped("isolcpus=domain,foo,managed_irq,4-5");
    assert_eq!(added.parameter, "isolcpus=domain,managed_irq,4-5");
    assert_eq!(added.replaces.as_deref(), Some("isolcpus=domain,foo,managed_irq,4-5"));
    for (new, says) in [
        ("isolcpus=4 isolcpus=domain,managed_irq,5", "takes the cores of the first alone"),
        ("isolcpus=domain, 4-5", "it names no core"),
        ("isolcpus = 4-5", "no blank before or behind"),
    ] {
        let found = finding("isolcpus=domain,managed_irq,4-5", new, "kernel-parameters");
        assert!(found.seen.iter().any(|seen| seen.value.contains(says)), "{new}: {found:?}");
    }
    // Flags may stand apart, for the same cores.
    let both =
        finding("isolcpus=domain,managed_irq,4-5", "isolcpus=domain,4-5 isolcpus=managed_irq,4-5", "kernel-parameters");
    assert_eq!(both.outcome, Outcome::Fine, "{both:?}");
}

#[test]
fn what_this_machine_has_no_use_for_is_left_out_with_the_reason() {
    let arm = advice(|tree| {
        tree.put("/proc/cpuinfo", "CPU implementer\t: 0x41\n").put("/proc/cmdline", "quiet");
    });
    let left_out = |name: &str| arm.left_out.iter().find(|parameter| parameter.parameter.starts_with(name)).unwrap();
    for name in ["processor.max_cstate", "clocksource=tsc", "tsc=reliable"] {
        assert_eq!(left_out(name).reason, "for x86 processors", "{name}");
    }
    assert!(added(&arm).contains(&"cpuidle.off=1"));
    let old = advice(|tree| {
        tree.gathered_whole().put("/proc/cmdline", "quiet").without("/sys/devices/system/cpu/nohz_full");
    });
    assert!(!old.line.contains("nohz_full") && old.line.contains("rcu_nocbs=4-5"));
}

/// Every parameter of the lists in chapters 3 and 4 of Intel's guide, with whether the kernels 6.1 to 7.3 take it as it
/// stands: looked up in the tables of their images, and for i915 and igb in the modules of 6.1.
const GUIDE: [(&str, bool); 38] = [
    ("clocksource=tsc", true),
    ("tsc=reliable", true),
    ("nmi_watchdog=0", true),
    ("nosoftlockup", true),
    ("nowatchdog", true),
    ("idle=poll", true),
    ("isolcpus=4-5", true),
    ("rcu_nocbs=4-5", true),
    ("nohz_full=4-5", true),
    ("irqaffinity=0", true),
    ("irqaffinity=02", false),
    ("processor.max_cstate=0", true),
    ("intel.max_cstate=0", false),
    ("processor_idle.max_cstate=0", false),
    ("intel_idle.max_cstate=0", true),
    ("intel_pstate=disable", true),
    ("noht", false),
    ("rcupdate.rcu_cpu_stall_requests=1", false),
    ("rcupdate.rcu_cpu_stall_suppress=1", true),
    ("rcu_nocb_poll", true),
    ("hpet=disable", true),
    ("hpets=disable", false),
    ("numa_balancing=disable", true),
    ("efi=runtime", true),
    ("iommu=pt", true),
    ("hugepages=1024", true),
    ("mce=off", true),
    ("i915.enable_rc6=0", false),
    ("i915.enable_dc=0", true),
    ("i915.disable_power_well=0", true),
    ("i915.enable_guc=7", true),
    ("i915.force_probe=*", true),
    ("igb.blacklist=no", false),
    ("art=virtual", false),
    ("art=virtallow", false),
    ("rdt=Imba", false),
    ("rdt=!mba", true),
    ("nopicid", false),
];

#[test]
fn every_parameter_of_the_guide_is_judged() {
    for (parameter, works) in GUIDE {
        let line = CommandLine::parse(parameter);
        assert_eq!(unknown(&line.words[0]).is_none(), works, "{parameter}");
    }
    // The last two rows are not in that list: a value of its own, and a patch of distributions.
    for row in UNKNOWN.iter().filter(|row| !["mmio_stale_data", "kthread_cpus"].contains(&row.name)) {
        assert!(GUIDE.iter().any(|(parameter, works)| !works && parameter.starts_with(row.name)), "{}", row.name);
    }
}

#[test]
fn what_is_advised_is_known_to_the_kernel_and_quiets_the_check() {
    let mut tree = Tree::tuned();
    tree.put("/proc/cmdline", "quiet noht irqaffinity=02");
    let advice = advise(&tree.view());
    tree.put("/proc/cmdline", &format!("quiet {}", advice.line));
    let examination = examine(&tree.view());
    for id in ["kernel-parameters", "rcu-nocbs"] {
        let finding = examination.findings.iter().find(|finding| finding.id == id).unwrap();
        assert!(finding.severity.is_none(), "{finding:#?}");
    }
    assert_eq!(advise(&tree.view()).line, "");
}

/// A machine with two threads a core, N and N + 4.
fn threaded(tree: &mut Tree) {
    tree.put("/sys/devices/system/cpu/smt/active", "1");
    for core in 0..8 {
        let file = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
        tree.put(&file, &format!("{},{}", core % 4, core % 4 + 4));
    }
}

#[test]
fn nosmt_never_takes_a_real_time_core_offline() {
    let mut tree = Tree::tuned();
    threaded(&mut tree);
    // Cores 4 and 5 are the second threads of 0 and 1.
    let second = advise(&tree.view());
    assert!(!second.line.contains("nosmt"), "{}", second.line);
    assert!(second.left_out.iter().any(|left| left.parameter == "nosmt" && left.reason.contains("offline")));
    let smt = examine(&tree.view()).findings.into_iter().find(|finding| finding.id == "smt").unwrap();
    assert!(!smt.fixes.contains(&Fix::Parameter("nosmt".into())), "{smt:#?}");
    assert!(smt.fixes.contains(&Fix::Command("echo 0 > /sys/devices/system/cpu/cpu1/online".into())), "{smt:#?}");
    // The boot core stays online.
    assert!(!smt.fixes.contains(&Fix::Command("echo 0 > /sys/devices/system/cpu/cpu0/online".into())), "{smt:#?}");
    let first = advise(&View::new(tree.root(), Some("3")).unwrap());
    assert!(first.line.contains("nosmt"), "{}", first.line);
    // Whether there are second threads is not known: nothing says that there are none.
    tree.without("/sys/devices/system/cpu/smt").without("/sys/devices/system/cpu/cpu4/topology");
    let unseen = advise(&tree.view());
    assert!(unseen.left_out.iter().any(|left| left.parameter == "nosmt" && left.reason.contains("not shown")));
}

#[test]
fn the_kernel_keeps_its_boot_core() {
    let mut tree = Tree::tuned();
    tree.put("/proc/cmdline", "quiet").put("/sys/devices/system/cpu/nohz_full", "(null)");
    tree.put("/sys/devices/system/cpu/isolated", "");
    let all = View::new(tree.root(), Some("0-7")).unwrap();
    let advice = advise(&all);
    assert!(!advice.line.contains("isolcpus") && !advice.line.contains("nohz_full"), "{}", advice.line);
    assert!(
        advice.left_out.iter().any(|left| left.parameter.starts_with("isolcpus") && left.reason.contains("boot core"))
    );
    for finding in examine(&all).findings {
        let isolates = |fix: &Fix| matches!(fix, Fix::Parameter(words) if words.contains("isolcpus") || words.contains("nohz_full"));
        assert!(!finding.fixes.iter().any(isolates), "{finding:#?}");
    }
    // On Arm core 0 alone is refused; on x86 it is not.
    assert!(advise(&View::new(tree.root(), Some("0")).unwrap()).line.contains("isolcpus=domain,managed_irq,0"));
    tree.put("/proc/cpuinfo", "CPU implementer\t: 0x41\n");
    assert!(!advise(&View::new(tree.root(), Some("0")).unwrap()).line.contains("isolcpus"));
    assert!(advise(&View::new(tree.root(), Some("1")).unwrap()).line.contains("isolcpus"));
}

#[test]
fn lists_that_the_kernel_expands_are_there_already() {
    let advice = advice(|tree| {
        let words = "quiet isolcpus=nohz,domain,managed_irq,4-N nohz_full=0-7:2/4,5 rcu_nocbs=all irqaffinity=0-3";
        tree.put("/proc/cmdline", words);
    });
    assert!(advice.there.iter().any(|word| word == "isolcpus=nohz,domain,managed_irq,4-N"), "{advice:#?}");
    assert!(advice.there.iter().any(|word| word == "rcu_nocbs=all"), "{advice:#?}");
    // 0-7:2/4 is 0, 1, 4 and 5.
    assert!(advice.there.iter().any(|word| word.starts_with("nohz_full=")), "{advice:#?}");
}

#[test]
fn values_that_the_kernel_passes_over_are_named_with_what_was_meant() {
    let mut tree = Tree::tuned();
    tree.booted_with("rdt=cmt,l3_cat,l3_cdp");
    let examination = examine(&tree.view());
    let finding = examination.findings.iter().find(|finding| finding.id == "kernel-parameters").unwrap();
    assert!(finding.seen[0].value.contains("`l3_cat`, `l3_cdp` are no values of rdt="), "{finding:#?}");
    let instead = "rdt=cmt,l3cat,l3cdp   (in the place of rdt=cmt,l3_cat,l3_cdp)";
    assert_eq!(finding.fixes, [Fix::Parameter(instead.into())]);
}

#[test]
fn a_partition_of_cpusets_is_isolation_enough() {
    let advice = advice(|tree| {
        tree.put("/proc/cmdline", "quiet").put("/sys/devices/system/cpu/isolated", "");
        tree.partition("rt.slice", "isolated", "4-5");
    });
    assert!(!advice.line.contains("isolcpus"), "{}", advice.line);
}
