//! Random machines: the model of resctrl with the files beside it, and groups that are there already.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use waykeeper_policy::Step;
use waykeeper_policy::offer::Tree;
use waykeeper_resctrl::{
    AllocatableCache, BandwidthResource, CpuSet, Domain, FileOperation, KernelRelease, MachineCpus, MountOptions,
    QosTechnology, Reply, Resctrl, ResctrlMachine, Task, Throttle,
};

const CORES: u32 = 8;
const ROOT: &str = "/sys/fs/resctrl";

/// A group that is there already, with the masks of its first cache.
#[derive(Debug, Clone)]
pub struct Group {
    pub name: String,
    pub low: u32,
    pub bits: u32,
    pub exclusive: bool,
}

/// A random machine.
#[derive(Debug, Clone)]
pub struct Random {
    pub machine: ResctrlMachine,
    pub mount: MountOptions,
    pub groups: Vec<Group>,
}

fn domains(size: u32) -> Vec<Domain> {
    let of = |id: u32| Domain { id, cpus: (id * size..(id + 1) * size).collect() };
    (0..CORES / size).map(of).collect()
}

fn cache(sizes: &'static [u32], locks: bool) -> impl Strategy<Value = AllocatableCache> {
    let shareable = prop_oneof![3 => Just(0_u32), 1 => (1_u32..4).prop_map(|bits| (1 << bits) - 1)];
    (prop::sample::select(sizes), 2_u32..=20, 1_u32..3, 2_u32..9, shareable, any::<bool>(), any::<bool>()).prop_map(
        move |(size, bits, min, closids, devices, sparse, cdp)| AllocatableCache {
            domains: domains(size),
            mask_bits: bits,
            // Processors with a least number above one are older than those that lock.
            min_bits: if locks { 1 } else { min },
            closids: closids * 2,
            shareable: devices << (bits - devices.count_ones().min(bits)) & ((1 << bits) - 1),
            sparse,
            cdp,
            size_bytes: bits * (128 << 10),
            line_bytes: 64,
        },
    )
}

fn bandwidth() -> impl Strategy<Value = BandwidthResource> {
    (1_u32..5, 2_u32..9).prop_map(|(step, closids)| BandwidthResource {
        domains: domains(8),
        closids,
        min: step * 5,
        max: 100,
        granularity: step * 5,
        linear: true,
        throttle: Some(Throttle::Max),
    })
}

fn group() -> impl Strategy<Value = Group> {
    (0_u32..12, 1_u32..6, any::<bool>()).prop_map(|(low, bits, exclusive)| Group {
        name: String::new(),
        low,
        bits,
        exclusive,
    })
}

/// Any machine.
pub fn machine() -> impl Strategy<Value = Random> {
    let levels = prop_oneof![2 => Just((false, true)), 1 => Just((true, false)), 1 => Just((true, true))];
    let locks = prop::bool::weighted(0.4);
    let groups = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(group(), 1..3)];
    let kernel = prop::sample::select(&KernelRelease::ALL[..]);
    (levels, locks, groups, kernel, any::<bool>()).prop_flat_map(|(levels, locks, groups, kernel, plain)| {
        let l2 = cache(&[1, 2, 4], locks).prop_map(move |cache| levels.0.then_some(cache));
        let l3 = cache(&[4, 8], locks).prop_map(move |cache| levels.1.then_some(cache));
        (l2, l3, prop::option::of(bandwidth()), any::<bool>(), any::<bool>()).prop_map(
            move |(l2, l3, mb, cdp, cdpl2)| {
                let mount = MountOptions {
                    cdp: !plain && cdp && l3.as_ref().is_some_and(|cache| cache.cdp),
                    cdpl2: !plain && cdpl2 && l2.as_ref().is_some_and(|cache| cache.cdp),
                    ..MountOptions::default()
                };
                let named = |(i, group): (usize, &Group)| Group { name: format!("there{i}"), ..group.clone() };
                Random {
                    machine: ResctrlMachine {
                        kernel,
                        architecture: QosTechnology::Intel,
                        cpus: MachineCpus { possible: CORES, parsed: CORES, online: (0..CORES).collect() },
                        l3,
                        l2,
                        mb,
                        smba: None,
                        monitoring: None,
                        pseudo_lock: locks,
                    },
                    mount,
                    groups: groups.iter().enumerate().map(named).collect(),
                }
            },
        )
    })
}

/// The model and the files beside it.
pub struct Model {
    resctrl: RefCell<Resctrl>,
    files: BTreeMap<String, String>,
}

fn list(cpus: &CpuSet) -> String {
    cpus.list() + "\n"
}

fn cache_files(files: &mut BTreeMap<String, String>, level: u32, cache: &AllocatableCache) {
    for domain in &cache.domains {
        for cpu in domain.cpus.iter() {
            let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{}", level - 1);
            let mut put = |file: &str, text: String| files.insert(format!("{folder}/{file}"), text);
            put("level", format!("{level}\n"));
            put("id", format!("{}\n", domain.id));
            put("type", "Unified\n".into());
            put("size", format!("{}K\n", cache.size_bytes >> 10));
            put("ways_of_associativity", format!("{}\n", cache.mask_bits));
            put("shared_cpu_list", list(&domain.cpus));
        }
    }
}

impl Model {
    /// A machine as it is after its groups were made.
    pub fn new(random: &Random) -> Self {
        let machine = &random.machine;
        let mut files = BTreeMap::new();
        let cdp = |name: &str, cache: &Option<AllocatableCache>| match cache.as_ref().is_some_and(|cache| cache.cdp) {
            true => format!(" {name}"),
            false => String::new(),
        };
        let model = if machine.pseudo_lock { 92 } else { 85 };
        let flags = cdp("cdp_l3", &machine.l3) + &cdp("cdp_l2", &machine.l2);
        let cpuinfo =
            format!("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\nflags\t\t: fpu{flags}\n");
        files.insert("/proc/cpuinfo".into(), cpuinfo);
        files.insert("/proc/filesystems".into(), "nodev\tresctrl\n".into());
        files.insert("/sys/devices/system/cpu/online".into(), list(&machine.cpus.online));
        for tid in 1..=4 {
            files.insert(format!("/proc/{tid}/status"), format!("Name:\tx\nTgid:\t{tid}\n"));
            files.insert(format!("/proc/{tid}/task/{tid}/comm"), "x\n".into());
        }
        for cpu in 0..CORES {
            let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index0");
            for (file, text) in [("level", "1\n"), ("type", "Data\n")] {
                files.insert(format!("{folder}/{file}"), text.into());
            }
        }
        // The index of a cache is its level less one here, so both levels are always there.
        let any_l2 = machine.l2.clone().or_else(|| machine.l3.clone());
        any_l2.iter().for_each(|cache| cache_files(&mut files, 2, cache));
        machine.l3.iter().for_each(|cache| cache_files(&mut files, 3, cache));
        let mut resctrl = Resctrl::new(machine.clone());
        (1..=4).for_each(|tid| resctrl.start_task(None, Task::new(tid)));
        resctrl.mount(random.mount).expect("options that the machine has");
        files.insert(
            "/proc/mounts".into(),
            format!("resctrl {ROOT} resctrl rw,relatime{} 0 0\n", resctrl.shown_options()),
        );
        let model = Self { resctrl: RefCell::new(resctrl), files };
        random.groups.iter().for_each(|group| model.make(group, random));
        model
    }

    /// Makes a group; what the kernel refuses of it stays undone.
    fn make(&self, group: &Group, random: &Random) {
        let _ = self.apply(&FileOperation::Mkdir { path: group.name.clone().into_bytes(), mode: 0o755 });
        let (level, cache, cdp) = match (&random.machine.l3, &random.machine.l2) {
            (Some(l3), _) => (3, l3, random.mount.cdp),
            (None, Some(l2)) => (2, l2, random.mount.cdpl2),
            (None, None) => return,
        };
        let full = (1_u32 << cache.mask_bits) - 1;
        let mask = (((1 << group.bits) - 1) << group.low) & full;
        let mask = if mask == 0 { 1 } else { mask };
        let suffixes: &[&str] = if cdp { &["CODE", "DATA"] } else { &[""] };
        for domain in &cache.domains {
            for suffix in suffixes {
                if group.exclusive {
                    let _ =
                        self.write("schemata", &format!("L{level}{suffix}:{}={:x}\n", domain.id, rest(full & !mask)));
                }
                let _ = self
                    .write(&format!("{}/schemata", group.name), &format!("L{level}{suffix}:{}={mask:x}\n", domain.id));
            }
        }
        if group.exclusive {
            let _ = self.write(&format!("{}/mode", group.name), "exclusive\n");
        }
    }

    fn apply(&self, operation: &FileOperation) -> Result<Reply, String> {
        let refused = |refusal: waykeeper_resctrl::OperationError| {
            format!("{}: {}", refusal.errno, String::from_utf8_lossy(&refusal.status).trim_end())
        };
        self.resctrl.borrow_mut().apply(operation).map_err(refused)
    }

    fn write(&self, path: &str, text: &str) -> Result<Reply, String> {
        self.apply(&FileOperation::Write { path: path.into(), data: text.into() })
    }

    /// Carries out a step.
    pub fn carry_out(&self, step: &Step) -> Result<(), String> {
        match step {
            Step::Mounted(settings) => {
                let now = self.resctrl.borrow().mounted().unwrap_or_default();
                let same = (settings.cdp, settings.cdp_l2, settings.mbps) == (now.cdp, now.cdpl2, now.mba_mbps);
                if same { Ok(()) } else { Err(format!("mounted with {now:?}")) }
            }
            Step::MakeGroup { group } => {
                self.apply(&FileOperation::Mkdir { path: group.clone().into_bytes(), mode: 0o755 }).map(|_| ())
            }
            Step::Write { path, text } => self.write(path, text).map(|_| ()),
            Step::Cgroup { group, cgroup } => {
                let Some(found) = waykeeper_policy::find_cgroup(self, cgroup, &[]) else { return Ok(()) };
                let write = |tid: &u32| self.write(&format!("{group}/tasks"), &format!("{tid}\n")).map(|_| ());
                found.threads.iter().try_for_each(write)
            }
            Step::Register { .. } => Err("this is resctrl".into()),
        }
    }
}

/// The longest run of a mask's ones.
fn rest(mask: u32) -> u32 {
    waykeeper_policy::Mask(mask).longest_run().0
}

impl Tree for Model {
    fn text(&self, path: &str) -> Option<String> {
        let Some(inner) = path.strip_prefix(ROOT) else { return self.files.get(path).cloned() };
        match self.apply(&FileOperation::Read { path: inner.trim_start_matches('/').into() }).ok()? {
            Reply::Bytes(bytes) => String::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    fn names(&self, path: &str) -> Vec<String> {
        if let Some(inner) = path.strip_prefix(ROOT) {
            let entries = self.resctrl.borrow().entries(inner.trim_start_matches('/').as_bytes()).unwrap_or_default();
            let directories = entries.into_iter().filter(|entry| entry.directory || !inner.is_empty());
            return directories.filter_map(|entry| String::from_utf8(entry.name).ok()).collect();
        }
        let prefix = format!("{path}/");
        let below = self.files.keys().filter_map(|key| key.strip_prefix(&prefix));
        let mut names: Vec<_> = below.filter_map(|rest| Some(rest.split('/').next()?.to_owned())).collect();
        names.dedup();
        names
    }
}
