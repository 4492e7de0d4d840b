//! A recorded tree: files of `/sys`, `/proc` and `/dev` in a folder.

use std::collections::BTreeMap;
use waykeeper_doctor::{Smis, View};
use waykeeper_linux::{Recording, Root};

/// Files with their content.
#[derive(Clone)]
pub struct Tree {
    files: BTreeMap<String, String>,
    pub smis: Smis,
}

impl Tree {
    /// A machine where everything is as it should be: an i7-13800HRE with PREEMPT_RT, whose cores 4 and 5 are to answer in
    /// time. Only files that checks look at are there.
    #[expect(clippy::too_many_lines, reason = "a list of files")]
    pub fn tuned() -> Self {
        let mut tree =
            Self { files: BTreeMap::new(), smis: Smis::Counted { counts: vec![(4, 0), (5, 0)], seconds: 2.0 } };
        tree.put("/proc/version", "Linux version 6.6.30-rt30 (b@h) (gcc) #1 SMP PREEMPT_RT Mon\n");
        tree.put("/proc/sys/kernel/osrelease", "6.6.30-rt30\n");
        tree.put("/proc/cmdline", TUNED_LINE);
        let cpuinfo = format!(
            "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: 13th Gen Intel(R) Core(TM) i7-13800HRE\nflags\t\t: {FLAGS}\n\n\
             processor\t: 6\nflags\t\t: {FLAGS}\n"
        );
        tree.put("/proc/cpuinfo", &cpuinfo);
        tree.put("/proc/stat", "cpu  1 1 1 1 1 1 1 0 0 0\ncpu4 1 0 1 0 0 0 0 0 0 0\ncpu5 1 0 1 0 0 0 0 0 0 0\n");
        for (path, text) in [
            ("online", "0-7"),
            ("isolated", "4-5"),
            ("nohz_full", "4-5"),
            ("smt/active", "0"),
            ("intel_pstate/no_turbo", "1"),
        ] {
            tree.put(&format!("/sys/devices/system/cpu/{path}"), text);
        }
        tree.put("/sys/devices/cpu_core/cpus", "0-5\n");
        tree.put("/sys/devices/cpu_atom/cpus", "6-7\n");
        tree.put("/sys/devices/system/cpu/cpu6/cache/index2/ways_of_associativity", "16\n");
        tree.put_register(6, 0xd10, 0xffff);
        for core in [4, 5] {
            let cpu = format!("/sys/devices/system/cpu/cpu{core}");
            for (path, text) in [
                ("cpuidle/state0/name", "POLL"),
                ("cpuidle/state0/latency", "0"),
                ("cpuidle/state1/name", "C1_ACPI"),
                ("cpuidle/state1/latency", "1"),
                ("cpuidle/state2/name", "C10"),
                ("cpuidle/state2/latency", "680"),
                ("cpuidle/state2/disable", "1"),
                ("thermal_throttle/core_throttle_count", "0"),
                ("cpufreq/scaling_governor", "performance"),
                ("cpufreq/scaling_min_freq", "800000"),
                ("cpufreq/scaling_max_freq", "4000000"),
                ("cpufreq/energy_performance_preference", "performance"),
            ] {
                tree.put(&format!("{cpu}/{path}"), text);
            }
            tree.put(&format!("{cpu}/topology/thread_siblings_list"), &format!("{core}\n"));
        }
        // 0x77350000 us, about 2000 s: nobody holds it lower. The kernel writes the lowest byte first.
        tree.put_bytes("/dev/cpu_dma_latency", &[0x00, 0x00, 0x35, 0x77]);
        tree.put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
        tree.put("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm\n");
        for (path, text) in [
            ("nmi_watchdog", "0"),
            ("soft_watchdog", "0"),
            ("watchdog_cpumask", "0-3,6-7"),
            ("numa_balancing", "0"),
            ("split_lock_mitigate", "1"),
            ("sched_rt_runtime_us", "-1"),
            ("sched_rt_period_us", "1000000"),
        ] {
            tree.put(&format!("/proc/sys/kernel/{path}"), text);
        }
        tree.put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        tree.put("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
        // 0xcf: cores 0 to 3, 6 and 7.
        tree.put("/proc/irq/default_smp_affinity", "cf\n");
        tree.put("/proc/irq/16/effective_affinity_list", "0\n");
        tree.put("/proc/irq/16/smp_affinity_list", "0-7\n");
        tree.put("/proc/irq/130/smp_affinity_list", "1\n");
        tree.put("/proc/interrupts", "       CPU0 CPU1 CPU2 CPU3 CPU4 CPU5 CPU6 CPU7\n 16: 9 0 0 0 70 5 0 0 IO-APIC 16-fasteoi i801_smbus\n130: 0 8 0 0 0 0 0 0 PCI-MSI 0-edge nvme0q0\n");
        tree.thread(2, "kthreadd", "0-3,6-7");
        tree.thread(40, "ksoftirqd/4", "4");
        tree.put("/proc/900/stat", "900 (bash) S 1 900 900 0 -1 4194304 0 0\n");
        tree.put("/proc/900/status", "Name:\tbash\nCpus_allowed_list:\t0-7\n");
        tree.put("/sys/devices/virtual/workqueue/cpumask", "cf\n");
        tree.put("/sys/module/pcie_aspm/parameters/policy", "default [performance] powersave powersupersave \n");
        tree.put("/sys/bus/pci/devices/0000:03:00.0/class", "0x020000\n");
        tree.put("/sys/bus/pci/devices/0000:03:00.0/vendor", "0x8086\n");
        tree.put("/sys/bus/pci/devices/0000:03:00.0/link/l1_aspm", "0\n");
        tree.put_bytes("/sys/bus/pci/devices/0000:03:00.0/config", &network_device(true));
        tree.put("/sys/firmware/acpi/tables/RTCT", "x");
        tree.put("/sys/power/mem_sleep", "s2idle [deep]\n");
        tree.put("/sys/class/drm/version", "drm\n");
        for (path, text) in [
            ("thermal_zone0/type", "x86_pkg_temp"),
            ("thermal_zone0/temp", "61000"),
            ("thermal_zone0/trip_point_0_type", "passive"),
            ("thermal_zone0/trip_point_0_temp", "100000"),
            ("thermal_zone0/trip_point_1_type", "critical"),
            ("thermal_zone0/trip_point_1_temp", "62000"),
            ("cooling_device0/type", "Processor"),
            ("cooling_device0/cur_state", "0"),
            ("cooling_device1/type", "pwm-fan"),
            ("cooling_device1/cur_state", "3"),
        ] {
            tree.put(&format!("/sys/class/thermal/{path}"), text);
        }
        tree
    }

    pub fn put(&mut self, path: &str, text: &str) -> &mut Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    pub fn put_bytes(&mut self, path: &str, bytes: &[u8]) -> &mut Self {
        self.put(path, std::str::from_utf8(bytes).expect("recordings hold text, so bytes below 0x80 only"))
    }

    /// A register as recorded trees have it.
    pub fn put_register(&mut self, cpu: u32, register: u32, value: u64) -> &mut Self {
        self.put(&format!("/msr/cpu{cpu}"), &format!("{register:#x} {value:#x}\n"))
    }

    /// A thread of the kernel: the flag PF_KTHREAD is 0x200000 = 2097152.
    pub fn thread(&mut self, pid: u32, name: &str, cores: &str) -> &mut Self {
        self.put(&format!("/proc/{pid}/stat"), &format!("{pid} ({name}) S 2 0 0 0 -1 2129984 0 0\n"));
        self.put(&format!("/proc/{pid}/status"), &format!("Name:\t{name}\nCpus_allowed_list:\t{cores}\n"))
    }

    /// A manifest, which says that what can be gathered was.
    pub fn gathered_whole(&mut self) -> &mut Self {
        self.put("manifest.toml", "format = 1\nmade_by = \"a test\"\narchitecture = \"x86_64\"\n")
    }

    /// A partition of cpusets as its control group tells it.
    pub fn partition(&mut self, group: &str, state: &str, cores: &str) -> &mut Self {
        let folder = format!("/sys/fs/cgroup/{group}");
        self.put(&format!("{folder}/cpuset.cpus.partition"), &format!("{state}\n"))
            .put(&format!("{folder}/cpuset.cpus.effective"), &format!("{cores}\n"))
    }

    /// Takes away every file that begins so.
    pub fn without(&mut self, start: &str) -> &mut Self {
        self.files.retain(|path, _| !path.starts_with(start));
        self
    }

    /// Adds words to the command line.
    pub fn booted_with(&mut self, words: &str) -> &mut Self {
        self.replace("/proc/cmdline", "quiet", &format!("quiet {words}"))
    }

    /// Replaces a part of a text.
    #[track_caller]
    pub fn replace(&mut self, path: &str, old: &str, new: &str) -> &mut Self {
        let text = &self.files[path];
        assert!(text.contains(old), "{path} has no `{old}`");
        let text = text.replace(old, new);
        self.put(path, &text)
    }

    /// The files.
    pub fn root(&self) -> Root {
        self.recording().into()
    }

    /// The files, to be changed further.
    pub fn recording(&self) -> Recording {
        let mut recording = Recording::default();
        for (path, text) in &self.files {
            recording.set(path, text.clone());
        }
        recording
    }

    /// The machine, with the real-time cores 4 and 5.
    pub fn view(&self) -> View {
        let view = View::new(self.root(), Some("4-5")).unwrap();
        View { smis: self.smis.clone(), ..view }
    }
}

const TUNED_LINE: &str = "BOOT_IMAGE=/vmlinuz root=/dev/sda2 quiet isolcpus=domain,managed_irq,4-5 nohz_full=4-5 \
                          rcu_nocbs=4-5 irqaffinity=0-3,6-7 intel_idle.max_cstate=0 processor.max_cstate=1\n";
const FLAGS: &str = "fpu tsc msr constant_tsc nonstop_tsc tsc_adjust hwp split_lock_detect";

/// A configuration space of 4 KiB: at 0x100 a capability that leads on to PTM at 0x1a0, which can request (bit 0 of the
/// capability register) and may be enabled (bit 0 of the control register).
pub fn network_device(enabled: bool) -> Vec<u8> {
    let mut config = vec![0_u8; 4096];
    let mut put = |at: usize, word: u32| config[at..at + 4].copy_from_slice(&word.to_le_bytes());
    // Number 1 (error reporting), version 2, the next one at 0x1a0.
    put(0x100, 0x1a0 << 20 | 2 << 16 | 1);
    put(0x1a0, 1 << 16 | 0x1f);
    put(0x1a4, 1);
    put(0x1a8, u32::from(enabled));
    config
}
