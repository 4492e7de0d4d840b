//! Every check, driven both ways, and into the dark.

use std::collections::BTreeSet;

use waykeeper_doctor::{CHECKS, Finding, Outcome, Severity, Smis, examine};

use crate::tree::{Tree, network_device};

type Change = fn(&mut Tree);

/// What one check is put through, from a machine on which it finds nothing.
struct Row {
    id: &'static str,
    /// What makes it find something, how grave that is, and words of what it says.
    found: &'static [(Change, Severity, &'static str)],
    /// What hides the matter from it, and words of the reason.
    hidden: &'static [(Change, &'static str)],
    /// Other things that it finds nothing about.
    fine: &'static [Change],
}

const GUEST: Change = |tree| {
    tree.replace("/proc/cpuinfo", "fpu", "fpu hypervisor").put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
};

const ARM: Change = |tree| {
    tree.put("/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\n");
};

const ARM_BOARD: Change = |tree| {
    ARM(tree);
    tree.put("manifest.toml", "format = 1\nmade_by = \"test\"\narchitecture = \"aarch64\"\n")
        .put("/sys/firmware/devicetree/base/model", "Radxa ROCK 5B")
        .put("/sys/firmware/devicetree/base/psci/compatible", "arm,psci-1.0\0arm,psci-0.2");
};

use Severity::{Note, Serious, Warning};

const GRAPHICS: &str = "/sys/bus/pci/devices/0000:00:02.0";
const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const DEVICE: &str = "/sys/bus/pci/devices/0000:03:00.0";

const ROWS: &[Row] = &[
    Row {
        id: "preemption",
        found: &[
            (
                |tree| {
                    tree.replace("/proc/version", "PREEMPT_RT", "PREEMPT");
                },
                Warning,
                "model is `full`",
            ),
            (
                |tree| {
                    tree.replace("/proc/version", " PREEMPT_RT", "");
                },
                Serious,
                "none or voluntary",
            ),
            (
                |tree| {
                    tree.replace("/proc/version", "PREEMPT_RT", "PREEMPT_DYNAMIC").booted_with("preempt=voluntary");
                },
                Serious,
                "model is `voluntary`",
            ),
            (
                |tree| {
                    tree.replace("/proc/version", "PREEMPT_RT", "PREEMPT_DYNAMIC")
                        .put("/sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n");
                },
                Warning,
                "model is `full`",
            ),
            (
                |tree| {
                    tree.replace("/proc/version", "PREEMPT_RT", "PREEMPT_DYNAMIC");
                },
                Serious,
                "is not shown",
            ),
        ],
        hidden: &[(
            |tree| {
                tree.without("/proc/version");
            },
            "/proc/version was not recorded",
        )],
        fine: &[|tree| {
            tree.without("/proc/version").put("/sys/kernel/realtime", "1");
        }],
    },
    Row {
        id: "virtual-machine",
        found: &[
            (GUEST, Warning, "hypervisor (QEMU)"),
            // On Arm nothing but DMI tells.
            (
                |tree| {
                    ARM(tree);
                    tree.put("/sys/class/dmi/id/product_name", "KVM Virtual Machine\n");
                },
                Warning,
                "hypervisor (KVM Virtual Machine)",
            ),
            (
                |tree| {
                    tree.put("/proc/cpuinfo", "vendor_id\t: IBM/S390\n");
                    tree.put("/proc/sysinfo", "LPAR Number:          3\nVM00 Control Program: z/VM    6.4.0\n");
                },
                Warning,
                "hypervisor (z/VM 6.4.0)",
            ),
            (
                |tree| {
                    GUEST(tree);
                    tree.replace("/proc/stat", "cpu5 1 0 1 0 0 0 0 0", "cpu5 1 0 1 0 0 0 0 7");
                },
                Serious,
                "has taken time",
            ),
        ],
        hidden: &[
            (
                |tree| {
                    tree.without("/proc/cpuinfo");
                },
                "/proc/cpuinfo was not recorded",
            ),
            (ARM, "no flag for a hypervisor"),
            (
                |tree| {
                    tree.put("/proc/cpuinfo", "vendor_id\t: IBM/S390\n");
                },
                "no flag for a hypervisor",
            ),
            (
                |tree| {
                    tree.put("/proc/cpuinfo", "CPU Family\t: Loongson-64bit\n");
                },
                "no flag for a hypervisor",
            ),
            (
                |tree| {
                    tree.put("/proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
                },
                "shows no flags",
            ),
        ],
        fine: &[],
    },
    Row {
        id: "smi",
        found: &[(
            |tree| tree.smis = Smis::Counted { counts: vec![(4, 3), (5, 2)], seconds: 2.0 },
            Serious,
            "3 times in 2 s",
        )],
        hidden: &[(|tree| tree.smis = Smis::NotCounted("a recorded tree stands still".into()), "stands still")],
        fine: &[ARM],
    },
    Row {
        id: "secure-firmware",
        // What EL3 takes is counted nowhere: on Arm it is never fine.
        found: &[(
            |tree| {
                ARM_BOARD(tree);
                tree.put("/sys/firmware/acpi/tables/SDEI", "x");
            },
            Note,
            "SDEI",
        )],
        hidden: &[(ARM, "whether this is one is not known"), (ARM_BOARD, "this machine has PSCI")],
        fine: &[|tree| {
            tree.put("/proc/cpuinfo", "processor\t: 0\nhart\t: 0\nisa\t: rv64imafdc\n");
        }],
    },
    Row {
        id: "idle-states",
        found: &[
            // The deep state is no longer disabled: 680 us.
            (
                |tree| {
                    tree.put("/sys/devices/system/cpu/cpu5/cpuidle/state2/disable", "0");
                },
                Serious,
                "C10, which takes 680 us",
            ),
            (
                |tree| {
                    tree.put("/sys/devices/system/cpu/cpu4/cpuidle/state1/latency", "10");
                },
                Warning,
                "takes 10 us",
            ),
        ],
        hidden: &[
            (
                |tree| {
                    tree.without("/sys/devices/system/cpu/cpu4/cpuidle")
                        .without("/sys/devices/system/cpu/cpu5/cpuidle");
                },
                "shows no states",
            ),
            (GUEST, "virtual machine"),
        ],
        fine: &[
            // Allowed by the driver, but a program holds the limit at 20 us: 0x14.
            |tree| {
                tree.put("/sys/devices/system/cpu/cpu5/cpuidle/state2/disable", "0")
                    .put_bytes("/dev/cpu_dma_latency", &[0x14, 0, 0, 0]);
            },
            |tree| {
                tree.put("/sys/devices/system/cpu/cpu5/cpuidle/state2/disable", "0")
                    .put("/sys/devices/system/cpu/cpu5/power/pm_qos_resume_latency_us", "n/a");
            },
            |tree| {
                GUEST(tree);
                tree.without("/sys/devices/system/cpu/cpu4/cpuidle").booted_with("idle=poll");
            },
            |tree| {
                for core in [4, 5] {
                    tree.without(&format!("/sys/devices/system/cpu/cpu{core}/cpuidle"));
                }
                tree.put("/sys/devices/system/cpu/cpuidle/current_driver", "none");
            },
        ],
    },
    Row {
        id: "isolcpus",
        found: &[
            (
                |tree| {
                    tree.put("/sys/devices/system/cpu/isolated", "4\n");
                },
                Serious,
                "on core 5.",
            ),
            (
                |tree| {
                    tree.put("/sys/devices/system/cpu/isolated", "\n");
                },
                Serious,
                "on cores 4-5.",
            ),
            (
                |tree| {
                    tree.put("/sys/devices/system/cpu/isolated", "")
                        .partition("a.slice", "isolated invalid (Cpu list in cpuset.cpus not exclusive)", "4")
                        .partition("b.slice", "root", "4-5")
                        .partition("c.slice", "isolated", "5");
                },
                Serious,
                "on core 4.",
            ),
        ],
        hidden: &[(
            |tree| {
                tree.without("/sys/devices/system/cpu/isolated");
            },
            "isolated was not recorded",
        )],
        fine: &[
            |tree| {
                tree.put("/sys/devices/system/cpu/isolated", "4").put("/sys/fs/cgroup/cpuset.cpus.isolated", "5");
            },
            |tree| {
                // Before 6.7 each partition tells for itself alone.
                tree.put("/sys/devices/system/cpu/isolated", "").partition("rt.slice", "isolated", "4-5");
            },
        ],
    },
    Row {
        id: "irqs",
        found: &[
            // 70 + 5 interrupts of number 16 came to cores 4 and 5; only 4 is named by the affinity.
            (
                |tree| {
                    tree.put("/proc/irq/16/effective_affinity_list", "4");
                },
                Serious,
                "1 of 2 interrupts",
            ),
            (
                |tree| {
                    tree.put("/proc/irq/130/smp_affinity_list", "0-7");
                },
                Warning,
                "1 of 2 interrupts",
            ),
        ],
        hidden: &[
            (
                |tree| {
                    tree.without("/proc/irq");
                },
                "lists no interrupts",
            ),
            (
                |tree| {
                    tree.without("/proc/irq/16").put("/proc/irq/16/x", "").put("/proc/irq/130/smp_affinity_list", "");
                },
                "no affinity",
            ),
        ],
        fine: &[
            // Timers and counters behind Arm's interrupt controller: each core has its own, and cannot give it away.
            |tree| {
                tree.put("/proc/irq/11/smp_affinity_list", "0-7\n").put("/proc/irq/23/smp_affinity_list", "0-7\n");
                let table = "       CPU0 CPU1 CPU2 CPU3 CPU4 CPU5 CPU6 CPU7\n 11: 1 1 1 1 9 9 1 1 GICv3 27 Level arch_timer\n\
                             \x20 23: 0 0 0 0 3 0 0 0 GIC-0 23 Level arm-pmu\n";
                tree.replace("/proc/interrupts", "       CPU0 CPU1 CPU2 CPU3 CPU4 CPU5 CPU6 CPU7\n", table);
            },
        ],
    },
    Row {
        id: "smt",
        found: &[
            (
                |tree| {
                    tree.put("/sys/devices/system/cpu/cpu4/topology/thread_siblings_list", "3-4");
                },
                Serious,
                "with CPU 3",
            ),
            (
                |tree| {
                    tree.put("/sys/devices/system/cpu/cpu4/topology/thread_siblings_list", "4-5");
                },
                Serious,
                "with CPU 5",
            ),
        ],
        hidden: &[
            (
                |tree| {
                    tree.without("/sys/devices/system/cpu/cpu5/topology");
                },
                "thread_siblings_list was not recorded",
            ),
            (GUEST, "virtual machine"),
        ],
        // CPU 9 is not online.
        fine: &[|tree| {
            tree.put("/sys/devices/system/cpu/cpu4/topology/thread_siblings_list", "4,9");
        }],
    },
    Row {
        id: "hybrid-l2",
        found: &[
            // 0x3ff has 10 bits.
            (
                |tree| {
                    tree.put_register(6, 0xd10, 0x3ff).replace("/proc/cpuinfo", "fpu", "fpu cat_l2");
                },
                Serious,
                "10 of the 16 ways",
            ),
            (
                |tree| {
                    tree.without("/msr/cpu6").put("/sys/fs/resctrl/info/L2/cbm_mask", "3ff");
                    tree.replace("/proc/cpuinfo", "fpu", "fpu cat_l2");
                },
                Serious,
                "10 of the 16 ways",
            ),
        ],
        hidden: &[
            (
                |tree| {
                    tree.without("/msr/cpu6").replace("/proc/cpuinfo", "fpu", "fpu cat_l2");
                },
                "L2 masks",
            ),
            (
                |tree| {
                    tree.without("/sys/devices/system/cpu/cpu6");
                },
                "ways_of_associativity was not recorded",
            ),
            // Cores 6 and 7 are of no kind that anything tells.
            (
                |tree| {
                    tree.without("/sys/devices/cpu_atom");
                },
                "the kind of the others",
            ),
            (
                |tree| {
                    tree.without("/sys/devices/cpu_");
                },
                "shows the kinds",
            ),
            // Leaf 0x1A: 0x40 a P-core, 0x20 an E-core, whose L2 nothing reports.
            (
                |tree| {
                    tree.without("/sys/devices/cpu_").without("/sys/devices/system/cpu/cpu6");
                    let leaf = |kind| format!("0x0000001a 0x00: eax=0x{kind}000001 ebx=0x0 ecx=0x0 edx=0x0\n");
                    (0..6).for_each(|core| {
                        tree.put(&format!("/cpuid/cpu{core}"), &leaf(40));
                    });
                    tree.put("/cpuid/cpu6", &leaf(20)).put("/cpuid/cpu7", &leaf(20));
                },
                "cpu6/cache/index2/ways_of_associativity was not recorded",
            ),
        ],
        fine: &[
            |tree| {
                tree.without("/msr/cpu6");
            },
            // The E-cores are offline.
            |tree| {
                tree.without("/sys/devices/cpu_atom").put_register(6, 0xd10, 0x3ff);
                tree.put("/sys/devices/system/cpu/online", "0-5");
            },
            // One kind of core has one folder of counters.
            |tree| {
                tree.without("/sys/devices/cpu_").put("/sys/devices/cpu/type", "4");
            },
            // CPUID leaf 7, EDX bit 15: not a hybrid part.
            |tree| {
                tree.without("/sys/devices/cpu_")
                    .put("/cpuid/cpu0", "0x00000007 0x00: eax=0x0 ebx=0x0 ecx=0x0 edx=0x0\n");
            },
        ],
    },
    Row {
        id: "clocksource",
        found: &[
            (
                |tree| {
                    tree.put(CLOCK, "hpet");
                },
                Serious,
                "hpet",
            ),
            (
                |tree| {
                    tree.put(CLOCK, "kvm-clock");
                },
                Warning,
                "kvm-clock",
            ),
        ],
        hidden: &[(
            |tree| {
                tree.without(CLOCK);
            },
            "current_clocksource was not recorded",
        )],
        fine: &[|tree| {
            tree.put(CLOCK, "arch_sys_counter").put("/proc/cpuinfo", "CPU implementer\t: 0x41\n");
        }],
    },
    Row {
        id: "tsc",
        found: &[
            (
                |tree| {
                    tree.replace("/proc/cpuinfo", "nonstop_tsc ", "");
                },
                Serious,
                "not constant",
            ),
            (
                |tree| {
                    tree.replace("/proc/cpuinfo", "tsc_adjust ", "");
                },
                Note,
                "twice a second",
            ),
        ],
        hidden: &[(
            |tree| {
                tree.replace("/proc/cpuinfo", "flags", "feelings");
            },
            "no flags",
        )],
        fine: &[
            |tree| {
                tree.replace("/proc/cpuinfo", "tsc_adjust ", "").booted_with("tsc=reliable");
            },
            |tree| {
                tree.put("/proc/cpuinfo", "CPU implementer\t: 0x41\n");
            },
        ],
    },
    Row {
        id: "nohz-full",
        found: &[
            (
                |tree| {
                    tree.put("/sys/devices/system/cpu/nohz_full", "  (null)\n");
                },
                Warning,
                "on cores 4-5.",
            ),
            (
                |tree| {
                    tree.put("/sys/devices/system/cpu/nohz_full", "5");
                },
                Warning,
                "on core 4.",
            ),
            (
                |tree| {
                    tree.gathered_whole().without("/sys/devices/system/cpu/nohz_full");
                },
                Warning,
                "ignores nohz_full=4-5",
            ),
        ],
        hidden: &[
            (
                |tree| {
                    tree.without("/sys/devices/system/cpu/nohz_full").without("/sys/devices/system/cpu/isolated");
                },
                "nohz_full was not recorded",
            ),
            // A tree that others gathered may lack the file of a kernel that has it.
            (
                |tree| {
                    tree.without("/sys/devices/system/cpu/nohz_full");
                },
                "nohz_full was not recorded",
            ),
        ],
        fine: &[],
    },
    Row {
        id: "rcu-nocbs",
        found: &[
            (
                |tree| {
                    tree.replace("/proc/cmdline", "rcu_nocbs=4-5", "rcu_nocbs=4").replace(
                        "/proc/cmdline",
                        "nohz_full=4-5",
                        "",
                    );
                    tree.put("/sys/devices/system/cpu/nohz_full", "(null)");
                },
                Warning,
                "on core 5.",
            ),
            (
                |tree| {
                    tree.put("/proc/cmdline", "quiet rcu_nocbs").put("/sys/devices/system/cpu/nohz_full", "(null)");
                },
                Warning,
                "on cores 4-5.",
            ),
        ],
        hidden: &[(
            |tree| {
                tree.without("/proc/cmdline");
            },
            "/proc/cmdline was not recorded",
        )],
        fine: &[
            |tree| {
                tree.put("/proc/cmdline", "nohz_full=4-5");
            },
            |tree| {
                tree.put("/proc/cmdline", "rcu_nocbs=all").put("/sys/devices/system/cpu/nohz_full", "(null)");
            },
            // N is the last of the cores 0 to 7; 1 of every 2 from 4 on and 5 are 4 to 6.
            |tree| {
                tree.put("/proc/cmdline", "rcu_nocbs=4-N").put("/sys/devices/system/cpu/nohz_full", "(null)");
            },
            |tree| {
                tree.put("/proc/cmdline", "rcu_nocbs=4-7:1/2,5").put("/sys/devices/system/cpu/nohz_full", "(null)");
            },
            // A kernel may have a default of its own.
            |tree| {
                tree.put("/proc/cmdline", "quiet");
            },
        ],
    },
    Row {
        id: "irq-affinity",
        // 0x10: core 4.
        found: &[(
            |tree| {
                tree.put("/proc/irq/default_smp_affinity", "1f");
            },
            Warning,
            "go to core 4.",
        )],
        hidden: &[
            (
                |tree| {
                    tree.without("/proc/irq/default_smp_affinity");
                },
                "default_smp_affinity was not recorded",
            ),
            (
                |tree| {
                    tree.put("/proc/irq/default_smp_affinity", "all");
                },
                "no mask",
            ),
        ],
        fine: &[],
    },
    Row {
        id: "kernel-threads",
        found: &[
            (
                |tree| {
                    tree.thread(77, "kworker/u16:1", "0-7");
                },
                Warning,
                "1 of 3 threads of the kernel may use",
            ),
            (
                |tree| {
                    tree.put("/sys/devices/virtual/workqueue/cpumask", "ff");
                },
                Warning,
                "Unbound workqueues may use",
            ),
        ],
        hidden: &[
            (
                |tree| {
                    tree.without("/proc/2/").without("/proc/40/");
                },
                "no threads of the kernel",
            ),
            (
                |tree| {
                    tree.without("/sys/devices/virtual/workqueue");
                },
                "workqueue/cpumask was not recorded",
            ),
            (
                |tree| {
                    tree.without("/proc/2/status");
                },
                "/proc/2/status shows no cores of kthreadd",
            ),
        ],
        fine: &[|tree| {
            tree.thread(41, "migration/5", "5");
        }],
    },
    Row {
        id: "kernel-parameters",
        found: &[
            (
                |tree| {
                    tree.booted_with("noht intel.max_cstate=0");
                },
                Warning,
                "`noht`, `intel.max_cstate=0` have",
            ),
            (
                |tree| {
                    tree.booted_with("rdt=Imba");
                },
                Warning,
                "`rdt=Imba` has",
            ),
            (
                |tree| {
                    tree.booted_with("rdt=cmt,l3_cat,!l3_cdp");
                },
                Warning,
                "`rdt=cmt,l3_cat,!l3_cdp` has",
            ),
            (
                |tree| {
                    tree.replace("/proc/cmdline", "isolcpus=domain,managed_irq,4-5", "isolcpus=all");
                },
                Warning,
                "`isolcpus=all` has",
            ),
            (
                |tree| {
                    tree.replace("/proc/cmdline", "irqaffinity=0-3,6-7", "irqaffinity=02");
                },
                Warning,
                "`irqaffinity=02`",
            ),
        ],
        hidden: &[(
            |tree| {
                tree.without("/proc/cmdline");
            },
            "/proc/cmdline was not recorded",
        )],
        // What comes after `--` is init's.
        fine: &[|tree| {
            tree.booted_with("rdt=!mba mmio_stale_data=full -- noht");
        }],
    },
    Row {
        id: "nmi-watchdog",
        found: &[(
            |tree| {
                tree.put("/proc/sys/kernel/nmi_watchdog", "1");
            },
            Warning,
            "is on",
        )],
        hidden: &[(
            |tree| {
                tree.without("/proc/sys/kernel/nmi_watchdog");
            },
            "nmi_watchdog was not recorded",
        )],
        fine: &[],
    },
    Row {
        id: "soft-watchdog",
        found: &[(
            |tree| {
                tree.put("/proc/sys/kernel/soft_watchdog", "1").put("/proc/sys/kernel/watchdog_cpumask", "0-4");
            },
            Note,
            "runs on core 4.",
        )],
        hidden: &[
            (
                |tree| {
                    tree.without("/proc/sys/kernel/soft_watchdog");
                },
                "soft_watchdog was not recorded",
            ),
            (
                |tree| {
                    tree.put("/proc/sys/kernel/soft_watchdog", "1").without("/proc/sys/kernel/watchdog_cpumask");
                },
                "watchdog_cpumask was not recorded",
            ),
        ],
        fine: &[|tree| {
            tree.put("/proc/sys/kernel/soft_watchdog", "1");
        }],
    },
    Row {
        id: "governor",
        found: &[(
            |tree| {
                tree.put("/sys/devices/system/cpu/cpu5/cpufreq/scaling_governor", "powersave");
            },
            Warning,
            "core 5 is powersave",
        )],
        hidden: &[
            (
                |tree| {
                    tree.without("/sys/devices/system/cpu/cpu4/cpufreq/scaling_governor");
                },
                "scaling_governor was not recorded",
            ),
            (
                |tree| {
                    GUEST(tree);
                    tree.without("/sys/devices/system/cpu/cpu4/cpufreq");
                },
                "virtual machine",
            ),
        ],
        // 4 GHz is the least and the most.
        fine: &[|tree| {
            tree.put("/sys/devices/system/cpu/cpu5/cpufreq/scaling_governor", "powersave")
                .put("/sys/devices/system/cpu/cpu5/cpufreq/scaling_min_freq", "4000000");
        }],
    },
    Row {
        id: "energy-preference",
        found: &[(
            |tree| {
                tree.put("/sys/devices/system/cpu/cpu5/cpufreq/energy_performance_preference", "balance_performance");
            },
            Warning,
            "prefer `balance_performance`",
        )],
        hidden: &[
            (
                |tree| {
                    tree.without("/sys/devices/system/cpu/cpu4/cpufreq/energy");
                },
                "energy_performance_preference was not recorded",
            ),
            (
                |tree| {
                    GUEST(tree);
                    tree.without("/sys/devices/system/cpu/cpu4/cpufreq");
                },
                "virtual machine",
            ),
        ],
        fine: &[
            |tree| {
                tree.put("/sys/devices/system/cpu/cpu5/cpufreq/energy_performance_preference", "0");
            },
            |tree| {
                tree.without("/sys/devices/system/cpu/cpu4/cpufreq/energy")
                    .put("/sys/devices/system/cpu/cpu4/cpufreq/scaling_driver", "acpi-cpufreq");
            },
        ],
    },
    Row {
        id: "thermal",
        found: &[
            (
                |tree| {
                    tree.put("/sys/class/thermal/cooling_device0/cur_state", "2");
                },
                Serious,
                "lowered now",
            ),
            (
                |tree| {
                    // A board with big and little cores.
                    tree.put("/sys/class/thermal/cooling_device1/type", "cpufreq-cpu4");
                },
                Serious,
                "lowered now",
            ),
            (
                |tree| {
                    tree.put("/sys/devices/system/cpu/cpu5/thermal_throttle/core_throttle_count", "12");
                },
                Warning,
                "since boot",
            ),
            (
                |tree| {
                    tree.put("/sys/class/thermal/thermal_zone0/temp", "91000");
                },
                Warning,
                "within 10 degrees",
            ),
        ],
        hidden: &[
            (
                |tree| {
                    tree.without("/sys/class/thermal/thermal_zone0");
                },
                "no zone with a temperature",
            ),
            (
                |tree| {
                    tree.without("/sys/devices/system/cpu/cpu5/thermal_throttle");
                },
                "core_throttle_count",
            ),
            (
                |tree| {
                    GUEST(tree);
                    tree.without("/sys/class/thermal/").without("/sys/devices/system/cpu/cpu4/thermal_throttle");
                },
                "heat is the host's affair",
            ),
        ],
        fine: &[
            |tree| {
                tree.put("/sys/class/thermal/thermal_zone0/temp", "90000");
            },
            |tree| {
                // Below zero, and a trip point that is not set.
                tree.put("/sys/class/thermal/thermal_zone0/temp", "-20000")
                    .put("/sys/class/thermal/thermal_zone0/trip_point_2_type", "passive")
                    .put("/sys/class/thermal/thermal_zone0/trip_point_2_temp", "-274000");
            },
            |tree| {
                // Another core's affair.
                tree.put("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "7");
            },
        ],
    },
    Row {
        id: "turbo",
        found: &[
            (
                |tree| {
                    tree.put("/sys/devices/system/cpu/intel_pstate/no_turbo", "0");
                },
                Note,
                "on",
            ),
            (
                |tree| {
                    tree.without("/sys/devices/system/cpu/intel_pstate")
                        .put("/sys/devices/system/cpu/cpufreq/boost", "1");
                },
                Note,
                "on",
            ),
        ],
        hidden: &[
            (
                |tree| {
                    tree.without("/sys/devices/system/cpu/intel_pstate");
                },
                "neither",
            ),
            (
                |tree| {
                    GUEST(tree);
                    tree.without("/sys/devices/system/cpu/intel_pstate");
                },
                "virtual machine",
            ),
        ],
        fine: &[|tree| {
            tree.without("/sys/devices/system/cpu/intel_pstate").put("/sys/devices/system/cpu/cpufreq/boost", "0");
        }],
    },
    Row {
        id: "transparent-hugepages",
        found: &[(
            |tree| {
                tree.put("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never");
            },
            Warning,
            "huge pages",
        )],
        hidden: &[(
            |tree| {
                tree.without("/sys/kernel/mm");
            },
            "enabled was not recorded",
        )],
        fine: &[
            |tree| {
                tree.put("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
            },
            |tree| {
                tree.gathered_whole().without("/sys/kernel/mm");
            },
        ],
    },
    Row {
        id: "numa-balancing",
        found: &[(
            |tree| {
                tree.put("/proc/sys/kernel/numa_balancing", "1");
            },
            Warning,
            "moves pages",
        )],
        hidden: &[(
            |tree| {
                tree.without("/proc/sys/kernel/numa_balancing");
            },
            "numa_balancing was not recorded",
        )],
        fine: &[|tree| {
            tree.gathered_whole().without("/proc/sys/kernel/numa_balancing");
        }],
    },
    Row {
        id: "swap",
        found: &[(
            |tree| {
                tree.put("/proc/swaps", "Filename\tType\n/dev/sda3\tpartition\n");
            },
            Warning,
            "swapped out",
        )],
        hidden: &[(
            |tree| {
                tree.without("/proc/swaps");
            },
            "/proc/swaps was not recorded",
        )],
        fine: &[],
    },
    Row {
        id: "split-lock",
        found: &[
            (
                |tree| {
                    tree.booted_with("split_lock_detect=off");
                },
                Warning,
                "as often as it likes",
            ),
            (
                |tree| {
                    tree.put("/proc/sys/kernel/split_lock_mitigate", "0");
                },
                Warning,
                "warned once",
            ),
            (
                |tree| {
                    tree.replace("/proc/cpuinfo", " split_lock_detect", "");
                },
                Note,
                "does not tell",
            ),
        ],
        hidden: &[
            (
                |tree| {
                    GUEST(tree);
                    tree.replace("/proc/cpuinfo", " split_lock_detect", "");
                },
                "virtual machine",
            ),
            (
                |tree| {
                    tree.without("/proc/cpuinfo");
                },
                "/proc/cpuinfo was not recorded",
            ),
            (
                |tree| {
                    tree.without("/proc/sys/kernel/split_lock_mitigate");
                },
                "split_lock_mitigate was not recorded",
            ),
        ],
        fine: &[|tree| {
            tree.replace("/proc/cpuinfo", "split_lock_detect", "bus_lock_detect")
                .gathered_whole()
                .without("/proc/sys/kernel/split_lock_mitigate");
        }],
    },
    Row {
        id: "rt-throttling",
        found: &[
            (
                |tree| {
                    tree.put("/proc/sys/kernel/sched_rt_runtime_us", "950000");
                },
                Warning,
                "950000 of every 1000000 us",
            ),
            (
                |tree| {
                    tree.put("/proc/sys/kernel/osrelease", "6.12.9");
                    for (core, runtime) in [(4, "0"), (5, "50000000")] {
                        let folder = format!("/sys/kernel/debug/sched/fair_server/cpu{core}");
                        tree.put(&format!("{folder}/runtime"), runtime).put(&format!("{folder}/period"), "1000000000");
                    }
                },
                Warning,
                "50000000 of every 1000000000 ns of core 5",
            ),
            (
                |tree| {
                    tree.put("/proc/sys/kernel/osrelease", "6.12.9")
                        .put("/boot/config-6.12.9", "CONFIG_RT_GROUP_SCHED=y\n")
                        .put("/proc/sys/kernel/sched_rt_runtime_us", "950000");
                },
                Warning,
                "950000 of every 1000000 us",
            ),
        ],
        hidden: &[
            (
                |tree| {
                    tree.without("/proc/sys/kernel/sched_rt");
                },
                "sched_rt_runtime_us was not recorded",
            ),
            (
                |tree| {
                    tree.put("/proc/sys/kernel/osrelease", "6.12.9");
                },
                "debugfs",
            ),
            (
                |tree| {
                    tree.put("/proc/sys/kernel/osrelease", "6.12.9")
                        .put("/proc/sys/kernel/sched_rt_runtime_us", "950000");
                    for core in [4, 5] {
                        tree.put(&format!("/sys/kernel/debug/sched/fair_server/cpu{core}/runtime"), "0");
                    }
                },
                "CONFIG_RT_GROUP_SCHED",
            ),
        ],
        fine: &[|tree| {
            tree.put("/proc/sys/kernel/sched_rt_runtime_us", "1000000");
        }],
    },
    Row {
        id: "gpu-cache",
        found: &[
            (
                |tree| {
                    tree.put("/sys/bus/pci/devices/0000:00:02.0/class", "0x030000")
                        .put("/sys/bus/pci/devices/0000:00:02.0/vendor", "0x8086");
                },
                Warning,
                "no file shows how much",
            ),
            (
                |tree| {
                    tree.put("/sys/bus/pci/devices/0000:00:02.0/class", "0x030000")
                        .put("/sys/bus/pci/devices/0000:00:02.0/vendor", "0x8086");
                    tree.put("/sys/fs/resctrl/info/L3/shareable_bits", "c00");
                },
                Warning,
                "the ways c00",
            ),
        ],
        hidden: &[(
            |tree| {
                tree.without("/sys/bus/pci");
            },
            "names no devices",
        )],
        // A card in a slot fills no cache of the cores'.
        fine: &[|tree| {
            tree.put("/sys/bus/pci/devices/0000:01:00.0/class", "0x030000")
                .put("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de");
        }],
    },
    Row {
        id: "aspm",
        found: &[
            (
                |tree| {
                    tree.put(&format!("{DEVICE}/link/l1_aspm"), "1");
                },
                Warning,
                "links that are on: 1",
            ),
            (
                |tree| {
                    tree.put("/sys/module/pcie_aspm/parameters/policy", "default performance [powersave]");
                },
                Warning,
                "to sleep",
            ),
        ],
        hidden: &[
            (
                |tree| {
                    tree.without("/sys/module/pcie_aspm");
                },
                "policy was not recorded",
            ),
            (
                |tree| {
                    tree.without(&format!("{DEVICE}/link"))
                        .put("/sys/module/pcie_aspm/parameters/policy", "[default] performance");
                },
                "firmware",
            ),
        ],
        fine: &[|tree| {
            tree.put("/sys/module/pcie_aspm/parameters/policy", "[default] performance");
        }],
    },
    Row {
        id: "gpu-power",
        found: &[(
            |tree| {
                tree.put(&format!("{GRAPHICS}/power/control"), "auto\n")
                    .put(&format!("{GRAPHICS}/class"), "0x030000\n");
            },
            Warning,
            "sleeps when it is idle",
        )],
        hidden: &[
            (
                |tree| {
                    tree.put(&format!("{GRAPHICS}/class"), "0x030000\n");
                },
                "power/control was not recorded",
            ),
            (
                |tree| {
                    tree.put(&format!("{GRAPHICS}/power/control"), "auto\n");
                },
                "class was not recorded",
            ),
            (
                |tree| {
                    tree.without("/sys/bus/pci");
                },
                "names no devices",
            ),
        ],
        fine: &[|tree| {
            tree.put(&format!("{GRAPHICS}/power/control"), "on\n").put(&format!("{GRAPHICS}/class"), "0x030000\n");
        }],
    },
    Row {
        id: "ptm",
        found: &[(
            |tree| {
                tree.put_bytes(&format!("{DEVICE}/config"), &network_device(false));
            },
            Note,
            "off on 1 of the network devices",
        )],
        hidden: &[
            // Without root the kernel gives 64 bytes.
            (
                |tree| {
                    tree.put_bytes(&format!("{DEVICE}/config"), &network_device(false)[..64]);
                },
                "by root only",
            ),
            (
                |tree| {
                    tree.without("/sys/bus/pci");
                },
                "names no devices",
            ),
        ],
        fine: &[
            |tree| {
                tree.put_bytes(&format!("{DEVICE}/config"), &[0; 4096]);
            },
            // A device of PCI before Express has 256 bytes, also for root.
            |tree| {
                tree.put_bytes(&format!("{DEVICE}/config"), &[0; 256]);
            },
            |tree| {
                tree.put_bytes(&format!("{DEVICE}/config"), &circle());
            },
        ],
    },
    Row {
        id: "tcc-firmware",
        found: &[
            (
                |tree| {
                    tree.without("/sys/firmware/acpi/tables/RTCT").put("/sys/firmware/acpi/tables/DSDT", "x");
                },
                Note,
                "does not tell of TCC",
            ),
            (
                |tree| {
                    tree.put("/sys/power/mem_sleep", "[s2idle]");
                },
                Warning,
                "not all that shows",
            ),
            (
                |tree| {
                    tree.put("/sys/class/drm/card0/power/rc6_enable", "1");
                },
                Warning,
                "not all that shows",
            ),
        ],
        hidden: &[
            (
                |tree| {
                    tree.without("/sys/firmware");
                },
                "lists no tables",
            ),
            (GUEST, "virtual machine"),
        ],
        fine: &[
            |tree| {
                tree.put("/sys/class/drm/card0/gt/gt0/rc6_enable", "0");
            },
            |tree| {
                tree.without("/sys/firmware").replace("/proc/cpuinfo", "GenuineIntel", "AuthenticAMD");
            },
        ],
    },
];

/// A list of capabilities that leads back to its beginning.
fn circle() -> Vec<u8> {
    let mut config = vec![0; 4096];
    config[0x100..0x104].copy_from_slice(&(0x100_u32 << 20 | 1 << 16 | 1).to_le_bytes());
    config
}

/// The tree of every row.
pub fn trees() -> Vec<(String, Tree)> {
    let changed = |id: &str, change: Change| {
        let mut tree = Tree::tuned();
        change(&mut tree);
        (id.to_owned(), tree)
    };
    let of_row = |row: &'static Row| {
        let found = row.found.iter().map(|(change, ..)| *change);
        let changes = found.chain(row.hidden.iter().map(|(change, _)| *change)).chain(row.fine.iter().copied());
        changes.map(|change| changed(row.id, change)).collect::<Vec<_>>()
    };
    ROWS.iter().flat_map(of_row).collect()
}

fn run(change: Change, id: &str) -> Finding {
    let mut tree = Tree::tuned();
    change(&mut tree);
    let examination = examine(&tree.view());
    examination.findings.into_iter().find(|finding| finding.id == id).unwrap()
}

#[test]
fn every_check_is_driven_both_ways_and_into_the_dark() {
    let ids: BTreeSet<&str> = CHECKS.iter().map(|check| check.id).collect();
    let rows: BTreeSet<&str> = ROWS.iter().map(|row| row.id).collect();
    assert_eq!((rows, ROWS.len()), (ids, CHECKS.len()));
    for row in ROWS {
        assert!(!row.found.is_empty() && !row.hidden.is_empty(), "{}", row.id);
    }
}

#[test]
fn nothing_is_found_on_the_tuned_machine() {
    let tree = Tree::tuned();
    for finding in examine(&tree.view()).findings {
        assert_eq!(finding.outcome, Outcome::Fine, "{finding:#?}");
        assert!(finding.severity.is_none() && finding.fixes.is_empty() && !finding.what.is_empty());
    }
}

#[test]
fn what_is_wrong_is_found() {
    for row in ROWS {
        for (number, (change, severity, words)) in row.found.iter().enumerate() {
            let finding = run(*change, row.id);
            assert_eq!(
                (finding.outcome, finding.severity),
                (Outcome::Found, Some(*severity)),
                "{number}: {finding:#?}"
            );
            assert!(finding.what.contains(words), "{number}: {finding:#?}");
            assert!(!finding.seen.is_empty() && !finding.fixes.is_empty(), "{number}: {finding:#?}");
        }
    }
}

#[test]
fn what_cannot_be_seen_is_never_fine() {
    for row in ROWS {
        for (number, (change, words)) in row.hidden.iter().enumerate() {
            let finding = run(*change, row.id);
            assert_eq!((finding.outcome, finding.severity), (Outcome::NotSeen, None), "{number}: {finding:#?}");
            assert!(finding.what.contains(words), "{number}: {finding:#?}");
        }
    }
}

#[test]
fn what_is_right_is_fine() {
    for row in ROWS {
        for (number, change) in row.fine.iter().enumerate() {
            let finding = run(*change, row.id);
            assert_eq!(finding.outcome, Outcome::Fine, "{number}: {finding:#?}");
        }
    }
}

#[test]
fn nothing_is_fine_on_a_machine_that_shows_nothing_but_its_cores() {
    let mut tree = Tree::tuned();
    tree.without("/").put("/sys/devices/system/cpu/online", "0-7");
    tree.smis = Smis::NotCounted("no register".into());
    for finding in examine(&tree.view()).findings {
        assert_eq!(finding.outcome, Outcome::NotSeen, "{finding:#?}");
    }
}
