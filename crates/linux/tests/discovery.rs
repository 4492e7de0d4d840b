//! Machines as `/sys` tells them, from recorded trees: what is discovered, and what a tree that says little leaves out.

use std::io::Write;
use std::path::Path;

use tempfile::TempDir;
use waykeeper_linux::{Discovered, KeptTime, Root, build_option, discover, facts, kept_for_ordinary_tasks};
use waykeeper_platform::{Basis, CacheGeometry, CoreId};

/// A tree with the files that a test writes into it.
struct Tree(TempDir);

/// A cache as a core's `index` folder tells it: level, type, size, ways, sharing cores.
type Index<'a> = (u8, &'a str, &'a str, u64, &'a str);

impl Tree {
    fn new(online: &str) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.cpu("online", online);
        tree
    }

    fn file(&self, path: &str, text: &str) {
        self.bytes(path, format!("{text}\n").as_bytes());
    }

    fn bytes(&self, path: &str, bytes: &[u8]) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn cpu(&self, path: &str, text: &str) {
        self.file(&format!("sys/devices/system/cpu/{path}"), text);
    }

    fn core(&self, core: CoreId, siblings: &str, caches: &[Index]) {
        self.cpu(&format!("cpu{core}/topology/thread_siblings_list"), siblings);
        for (index, (level, kind, size, ways, shared)) in caches.iter().enumerate() {
            let file = |name: &str, text: &str| self.cpu(&format!("cpu{core}/cache/index{index}/{name}"), text);
            file("level", &level.to_string());
            file("type", kind);
            file("size", size);
            file("ways_of_associativity", &ways.to_string());
            file("coherency_line_size", "64");
            file("shared_cpu_list", shared);
        }
    }

    fn root(&self) -> Root {
        Root::at(self.0.path())
    }

    fn discover(&self) -> Discovered {
        discover(&self.root()).unwrap()
    }
}

/// The data and unified caches of a core: level, KiB, ways, number of cores that share it.
fn caches(found: &Discovered, core: CoreId) -> Vec<(u8, u64, u64, usize)> {
    let caches = found.platform.caches(core);
    caches.iter().map(|c: &CacheGeometry| (c.level, c.size_bytes >> 10, c.ways, c.shared_by.len())).collect()
}

/// Two performance cores with two hyperthreads each (0 to 3), a cluster of four efficient cores (4 to 7), one L3: the
/// files of a Core i5-1240P, cut down.
fn hybrid() -> Tree {
    let tree = Tree::new("0-7");
    for core in 0..4 {
        let pair = if core < 2 { "0-1" } else { "2-3" };
        let caches = [
            (1, "Data", "48K", 12, pair),
            (1, "Instruction", "32K", 8, pair),
            (2, "Unified", "1280K", 10, pair),
            (3, "Unified", "12288K", 12, "0-7"),
        ];
        tree.core(core, pair, &caches);
    }
    for core in 4..8 {
        let own = core.to_string();
        let caches = [
            (1, "Data", "32K", 8, own.as_str()),
            (1, "Instruction", "64K", 8, own.as_str()),
            (2, "Unified", "2048K", 16, "4-7"),
            (3, "Unified", "12288K", 12, "0-7"),
        ];
        tree.core(core, &own, &caches);
    }
    tree
}

#[test]
fn a_hybrid_machine_has_two_kinds_of_cores() {
    let found = hybrid().discover();
    assert_eq!(found.platform.name, "host");
    assert_eq!(found.platform.core_ids(), [0, 1, 2, 3, 4, 5, 6, 7]);
    let kinds: Vec<_> = found.platform.cores.iter().map(|kind| kind.ids.clone()).collect();
    assert_eq!(kinds, [vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
}

#[test]
fn hyperthreads_share_what_is_private_to_their_core() {
    let found = hybrid().discover();
    // The L2 of a performance core is private although two hyperthreads see it.
    let [l1, l2, l3] = caches(&found, 2)[..] else { panic!("{:?}", caches(&found, 2)) };
    assert_eq!([(l1.0, l1.1, l1.2), (l2.0, l2.1, l2.2)], [(1, 48, 12), (2, 1280, 10)]);
    assert_eq!(l3, (3, 12288, 12, 8));
    assert_eq!(found.siblings[&2], [3]);
    assert_eq!(found.siblings[&3], [2]);
    assert_eq!(found.siblings[&5], [0; 0]);
}

#[test]
fn a_second_level_of_a_cluster_is_shared() {
    let found = hybrid().discover();
    let efficient = caches(&found, 6);
    assert_eq!(efficient[1..], [(2, 2048, 16, 4), (3, 12288, 12, 8)]);
    assert_eq!((efficient[0].0, efficient[0].1), (1, 32));
    // One cache each, however many cores tell of it.
    let shared: Vec<_> = found.platform.shared_caches.iter().map(|cache| (cache.level, cache.cores.clone())).collect();
    assert_eq!(shared, [(2, vec![4, 5, 6, 7]), (3, (0..8).collect())]);
}

#[test]
fn instruction_caches_are_no_data_caches() {
    let found = hybrid().discover();
    let kind = &found.platform.cores[1];
    assert_eq!(kind.l1i.as_ref().unwrap().size_kib.value, 64);
    assert_eq!(kind.l1d.as_ref().unwrap().size_kib.value, 32);
}

#[test]
fn every_figure_says_that_it_comes_from_the_system() {
    let parameters = hybrid().discover().platform.parameters();
    assert!(!parameters.is_empty());
    assert!(
        parameters.iter().all(|row| row.is.to_string() == "documented" && row.note.contains("/sys/")),
        "{parameters:?}"
    );
}

#[test]
fn a_machine_without_a_third_level_has_none() {
    let tree = Tree::new("0-1");
    for core in 0..2 {
        let own = core.to_string();
        tree.core(
            core,
            &own,
            &[(1, "Data", "32K", 4, &own), (1, "Instruction", "32K", 2, &own), (2, "Unified", "512K", 16, "0-1")],
        );
    }
    let found = tree.discover();
    assert_eq!(caches(&found, 0), [(1, 32, 4, 1), (2, 512, 16, 2)]);
    assert_eq!(found.platform.shared_caches.len(), 1);
}

#[test]
fn caches_without_sizes_are_left_out() {
    // Arm firmware that describes levels and sharing, but neither size nor ways.
    let tree = Tree::new("0-3");
    tree.file("proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 108.00\nHardware\t: BCM2711");
    for core in 0..4 {
        for (index, (level, kind)) in [(1, "Data"), (1, "Instruction"), (2, "Unified")].iter().enumerate() {
            let folder = format!("cpu{core}/cache/index{index}");
            tree.cpu(&format!("{folder}/level"), &level.to_string());
            tree.cpu(&format!("{folder}/type"), kind);
            tree.cpu(&format!("{folder}/shared_cpu_list"), "0-3");
        }
    }
    let found = tree.discover();
    assert_eq!(found.platform.core_ids(), [0, 1, 2, 3]);
    assert_eq!(caches(&found, 0), []);
    assert_eq!(found.platform.cores[0].kind, "BCM2711");
    assert_eq!(found.platform.line_bytes.value, 64);
}

#[test]
fn one_cache_that_says_too_little_does_not_hide_the_others() {
    let tree = Tree::new("0");
    tree.core(0, "0", &[(1, "Data", "32K", 8, "0"), (2, "Unified", "256K", 0, "0"), (3, "Unified", "8192K", 16, "0")]);
    assert_eq!(caches(&tree.discover(), 0), [(1, 32, 8, 1), (3, 8192, 16, 1)]);
}

#[test]
fn no_cache_folders_at_all() {
    let tree = Tree::new("0-1");
    assert_eq!(caches(&tree.discover(), 1), []);
}

#[test]
fn cores_that_are_offline_are_not_there() {
    let tree = Tree::new("0,2-3");
    tree.cpu("offline", "1");
    for core in [0, 2, 3] {
        tree.core(core, &core.to_string(), &[(3, "Unified", "4096K", 16, "0,2-3")]);
    }
    let found = tree.discover();
    assert_eq!(found.platform.core_ids(), [0, 2, 3]);
    assert_eq!(caches(&found, 3), [(3, 4096, 16, 3)]);
}

#[test]
fn isolated_cores_are_told() {
    let tree = Tree::new("0-7");
    assert_eq!(tree.discover().isolated, [0; 0]);
    tree.cpu("isolated", "");
    assert_eq!(tree.discover().isolated, [0; 0]);
    tree.cpu("isolated", "2-3,6");
    assert_eq!(tree.discover().isolated, [2, 3, 6]);
}

#[test]
fn a_tree_without_cores_is_refused_with_its_file() {
    let nothing = tempfile::tempdir().unwrap();
    let refused = |path: &Path| discover(&Root::at(path)).unwrap_err().to_string();
    assert_eq!(
        refused(nothing.path()),
        "/sys/devices/system/cpu/online cannot be read, so the cores of this machine are unknown"
    );
    for online in ["", "all", "3-1"] {
        let text = refused(Tree::new(online).0.path());
        assert!(text.contains("is not a list of cores"), "`{online}`: {text}");
    }
}

#[test]
fn this_machine_can_be_discovered() {
    let found = discover(&Root::default()).unwrap();
    assert!(!found.platform.core_ids().is_empty());
    for core in found.platform.core_ids() {
        let levels: Vec<_> = caches(&found, core).iter().map(|cache| cache.0).collect();
        assert!(levels.is_sorted(), "inner caches come first: {levels:?}");
    }
}

#[test]
fn what_is_kept_for_ordinary_tasks_depends_on_the_kernel() {
    let tree = Tree::new("0-3");
    let kept = |core| kept_for_ordinary_tasks(&tree.root(), core);
    let hidden = |core, why: &str| matches!(&kept(core).0[..], [KeptTime::NotSeen(found)] if found.contains(why));
    let throttled = KeptTime::Throttling { runtime_us: 950_000, period_us: 1_000_000 };
    tree.file("proc/sys/kernel/sched_rt_runtime_us", "950000");
    assert!(hidden(3, "the kernel's version is not shown"), "{:?}", kept(3));
    // The release stands in two files.
    tree.file("proc/version", "Linux version 6.11.0-rt7 (builder@host) #1");
    assert!(hidden(3, "sched_rt_period_us is not there"), "{:?}", kept(3));
    tree.file("proc/sys/kernel/sched_rt_period_us", "1000000");
    let read = [("runtime", "950000"), ("period", "1000000")]
        .map(|(name, text)| (format!("/proc/sys/kernel/sched_rt_{name}_us"), text.to_owned()));
    assert_eq!(kept(3), (vec![throttled.clone()], read.to_vec()));
    for off in ["-1", "1000000"] {
        tree.file("proc/sys/kernel/sched_rt_runtime_us", off);
        assert_eq!(kept(3).0, [], "{off}");
    }
    tree.file("proc/sys/kernel/sched_rt_runtime_us", "much");
    assert!(hidden(3, "`much`"), "{:?}", kept(3));

    // A later kernel has the old file too, and does not obey it unless it has groups of real-time tasks.
    tree.file("proc/sys/kernel/sched_rt_runtime_us", "950000");
    tree.file("proc/sys/kernel/osrelease", "6.12.0-rt1");
    tree.file("boot/config-6.12.0-rt1", "CONFIG_PREEMPT_RT=y\n# CONFIG_RT_GROUP_SCHED is not set\n");
    assert!(hidden(3, "debugfs"), "{:?}", kept(3));
    let file = |core| format!("sys/kernel/debug/sched/fair_server/cpu{core}/runtime");
    tree.file(&file(2), "0");
    tree.file(&file(3), "50000000");
    assert_eq!(kept(2).0, []);
    assert!(hidden(3, "cpu3/period is not there"), "{:?}", kept(3));
    tree.file("sys/kernel/debug/sched/fair_server/cpu3/period", "1000000000");
    let fair = KeptTime::FairServer { runtime_ns: 50_000_000, period_ns: 1_000_000_000, file: format!("/{}", file(3)) };
    assert_eq!(kept(3).0, std::slice::from_ref(&fair));
    tree.file("proc/sys/kernel/osrelease", "6.11.9");
    assert_eq!(kept(3).0, std::slice::from_ref(&throttled));
    tree.file("proc/sys/kernel/osrelease", "6.12.9");
    assert!(hidden(2, "neither /proc/config.gz nor /boot/config-6.12.9"), "{:?}", kept(2));
    tree.file("boot/config-6.12.9", "CONFIG_RT_GROUP_SCHED=y\nCONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y\n");
    assert_eq!(kept(3).0, [fair, throttled.clone()]);
    assert_eq!(kept(2).0, [throttled]);
    tree.file("proc/sys/kernel/sched_rt_runtime_us", "-1");
    assert_eq!(kept(2).0, []);
}

#[test]
fn options_of_the_build_come_from_the_kernel_or_its_distribution() {
    let tree = Tree::new("0-3");
    let option = |name| build_option(&tree.root(), name);
    tree.file("proc/sys/kernel/osrelease", "6.12.9");
    assert!(option("CONFIG_A").unwrap_err().contains("/boot/config-6.12.9"));
    tree.file("boot/config-6.12.9", "CONFIG_A=y\nCONFIG_M=m\n# CONFIG_B is not set\nCONFIG_ABC=\"y\"\nCONFIG_N=n\n");
    let seen = ["CONFIG_A", "CONFIG_M", "CONFIG_B", "CONFIG_AB", "CONFIG_N"].map(|name| option(name).unwrap());
    assert_eq!(seen, [true, true, false, false, false]);
    // The running kernel knows better than a file of its name.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(b"# CONFIG_A is not set\nCONFIG_B=y\n").unwrap();
    tree.bytes("proc/config.gz", &gzip.finish().unwrap());
    assert_eq!(["CONFIG_A", "CONFIG_B"].map(|name| option(name).unwrap()), [false, true]);
}

#[test]
fn facts_are_those_of_the_files() {
    let tree = Tree::new("0-3");
    let version = "Linux version 6.12.5-rt7 (builder@host) (gcc 14.2) #1 SMP PREEMPT_RT Mon Dec 16 10:00:00 UTC 2024";
    tree.file("proc/version", version);
    tree.file("proc/cmdline", "quiet isolcpus=3");
    tree.file("proc/cpuinfo", "model name\t: A Processor\nflags\t\t: fpu hypervisor tsc");
    tree.file("proc/sys/kernel/sched_rt_runtime_us", "950000");
    tree.file("proc/sys/kernel/sched_rt_period_us", "1000000");
    tree.file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    tree.file("sys/class/dmi/id/sys_vendor", "QEMU");
    tree.cpu("isolated", "3");
    tree.cpu("nohz_full", "(null)");
    tree.cpu("smt/control", "notsupported");
    tree.cpu("cpu3/cpufreq/scaling_governor", "performance");
    let facts = facts(&tree.root(), 3);
    assert_eq!(facts.preemption.as_deref(), Some("PREEMPT_RT"));
    assert_eq!(facts.processor.as_deref(), Some("A Processor"));
    // Neither the builder's name nor the compiler belongs into a run.
    assert_eq!(facts.kernel.as_deref(), Some("6.12.5-rt7 #1 SMP PREEMPT_RT Mon Dec 16 10:00:00 UTC 2024"));
    assert_eq!(facts.command_line.as_deref(), Some("quiet isolcpus=3"));
    assert_eq!(facts.realtime_throttling.as_deref(), Some("950000/1000000"));
    assert_eq!(facts.transparent_hugepages.as_deref(), Some("madvise"));
    assert_eq!(facts.hypervisor.as_deref(), Some("QEMU"));
    assert_eq!(facts.isolated.as_deref(), Some("3"));
    assert_eq!(facts.nohz_full, None);
    assert_eq!(facts.smt.as_deref(), Some("notsupported"));
    assert_eq!(facts.governor.as_deref(), Some("performance"));
    assert_eq!(facts.clocksource, None);
}

#[test]
fn lines_are_those_of_the_core_where_the_kernel_shows_no_caches() {
    let of = |cpuinfo: &str| {
        let tree = Tree::new("0-1");
        tree.file("proc/cpuinfo", cpuinfo);
        let line = discover(&tree.root()).unwrap().platform.line_bytes;
        (line.value, line.is, line.source)
    };
    let arm = |part: &str| {
        format!(
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 7\nCPU variant\t: 0x3\nCPU part\t: {part}\nCPU revision\t: 0"
        )
    };
    // Cortex-A9 and Cortex-A7: 32 and 64 bytes by Arm's manuals.
    let manual = Some("Arm, technical reference manual of the core (MIDR)".to_owned());
    assert_eq!(of(&arm("0xc09")), (32, Basis::Documented, manual.clone()));
    assert_eq!(of(&arm("0xc07")), (64, Basis::Documented, manual));
    assert_eq!(of("processor\t: 0\nvendor_id\t: nobody"), (64, Basis::Assumed, None));
    assert_eq!(of(&arm("0xfff")), (64, Basis::Assumed, None));
}
