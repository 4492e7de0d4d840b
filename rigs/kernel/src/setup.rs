//! The emulated machines: what QEMU gets, and what the model gets.

use waykeeper_resctrl::{
    AllocatableCache, BandwidthResource, CpuSet, Domain, KernelRelease, MachineCpus, MonitorEvent, MonitorResource,
    MountOptions, QosTechnology, ResctrlMachine, Throttle,
};

/// Sizes of QEMU's caches in bytes.
const L3_BYTES: u32 = 16 << 20;
const L2_BYTES: u32 = 4 << 20;
const AMD_L2_BYTES: u32 = 512 << 10;

/// Sockets with CPUs that are online, cores of each socket, and the number of all CPUs.
const SOCKETS: u32 = 2;
const CORES: u32 = 2;
const POSSIBLE: u32 = 6;

/// An emulated machine.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Its name.
    pub name: &'static str,
    /// QEMU's processor.
    pub processor: &'static str,
    /// What the registers of its cache allocation are to be: see rdt.c.
    registers: &'static str,
}

/// All emulated machines.
pub const SETUPS: [Setup; 10] = [
    // Cache allocation with CDP, monitoring and pseudo-locking, with bits that the hardware shares.
    Setup {
        name: "broadwell",
        processor: "Broadwell,model=79,stepping=1",
        registers: "l3=20/16,rmids=32,cdp=1,shareable=0xc0000",
    },
    // The same with few of everything and no shared bits.
    Setup { name: "narrow", processor: "Broadwell,model=79,stepping=1", registers: "l3=8/4,rmids=8,cdp=1" },
    Setup { name: "server", processor: "Icelake-Server", registers: "l3=11/16,mb=8,rmids=32,cdp=1" },
    Setup { name: "levels", processor: "Icelake-Server", registers: "l3=12/8,l2=8/8,mb=8,rmids=32,cdp=1" },
    // Apollo Lake: pseudo-locking in the L2, no monitoring.
    Setup { name: "goldmont", processor: "Broadwell,model=92,stepping=1", registers: "l2=8/4" },
    Setup { name: "haswell", processor: "Haswell,model=63", registers: "hsw=1" },
    Setup { name: "sparse", processor: "Icelake-Server", registers: "l3=16/15,rmids=64,sparse=1,shareable=0x8001" },
    Setup { name: "monitoring", processor: "Icelake-Server", registers: "rmids=16" },
    Setup { name: "bandwidth", processor: "Icelake-Server", registers: "mb=4" },
    Setup { name: "amd", processor: "EPYC-Rome", registers: "amd=1,l3=16/16,mb=16,smb=8,rmids=32,cdp=1,bmec=1" },
];

impl Setup {
    /// Finds a setup.
    pub fn named(name: &str) -> Option<Setup> {
        SETUPS.into_iter().find(|setup| setup.name == name)
    }

    /// QEMU's options for the processors.
    pub fn qemu_options(&self) -> Vec<String> {
        let topology = format!("{POSSIBLE},sockets={},cores={CORES},threads=1", POSSIBLE / CORES);
        ["-cpu", self.processor, "-smp", &topology].map(String::from).to_vec()
    }

    /// The kernel's options for the processors: the last socket stays offline.
    pub fn kernel_options(&self) -> String {
        format!("maxcpus={}", SOCKETS * CORES)
    }

    /// What QEMU's registers are to be: see rdt.c.
    pub fn registers(&self) -> String {
        let cores = if self.l3_of_cores() { ",cores=1" } else { "" };
        format!("{}{cores}", self.registers)
    }

    /// Without the leaves of AMD's topology the kernels take every core's L3 for one of its own.
    fn l3_of_cores(&self) -> bool {
        self.processor.starts_with("EPYC")
    }

    fn register(&self, name: &str) -> Option<(u32, u32)> {
        let (_, value) = self.registers.split(',').filter_map(|word| word.split_once('=')).find(|(n, _)| *n == name)?;
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).unwrap_or(0),
            None => text.parse().unwrap_or(0),
        };
        let (first, second) = value.split_once('/').unwrap_or((value, "0"));
        Some((number(first), number(second)))
    }

    /// The machine as the model sees it.
    pub fn machine(&self, kernel: KernelRelease) -> ResctrlMachine {
        let value = |name| self.register(name).map_or(0, |(first, _)| first);
        let amd = value("amd") == 1;
        let haswell = value("hsw") == 1;
        let sparse = value("sparse") == 1;
        let l3_domains = if self.l3_of_cores() { cores() } else { sockets() };
        let cache = |domains: Vec<Domain>, (mask_bits, closids): (u32, u32), size_bytes| AllocatableCache {
            domains,
            mask_bits,
            min_bits: if amd { 0 } else { 1 },
            closids,
            shareable: 0,
            sparse: sparse || amd,
            cdp: value("cdp") == 1,
            size_bytes,
            line_bytes: 64,
        };
        let l3 = self.register("l3").map(|size| AllocatableCache {
            shareable: value("shareable"),
            ..cache(l3_domains.clone(), size, L3_BYTES)
        });
        let l3 = match haswell {
            true => Some(AllocatableCache {
                min_bits: 2,
                shareable: 0xc0000,
                ..cache(l3_domains.clone(), (20, 4), L3_BYTES)
            }),
            false => l3,
        };
        let bandwidth = |closids| BandwidthResource {
            domains: l3_domains.clone(),
            closids,
            min: if amd { 0 } else { 10 },
            max: if amd { 2048 } else { 100 },
            granularity: if amd { 1 } else { 10 },
            linear: !amd,
            throttle: (!amd).then_some(Throttle::Max),
        };
        let monitoring = self.register("rmids").map(|(rmids, _)| MonitorResource {
            domains: l3_domains.clone(),
            rmids,
            events: MonitorEvent::ALL.to_vec(),
            scale_bytes: 65536,
            counter_bits: if amd { 44 } else { 24 },
            // Without the leaves of AMD's topology the kernels take the L2 for the last cache (`x86_cache_size`).
            llc_bytes: if amd { AMD_L2_BYTES } else { L3_BYTES },
            configurable: (value("bmec") == 1).then_some(0x7f),
        });
        ResctrlMachine {
            kernel,
            architecture: if amd { QosTechnology::Amd } else { QosTechnology::Intel },
            cpus: MachineCpus { possible: POSSIBLE, parsed: POSSIBLE, online: (0..SOCKETS * CORES).collect() },
            l3,
            l2: self.register("l2").map(|size| cache(cores(), size, L2_BYTES)),
            mb: self.register("mb").map(|(closids, _)| bandwidth(closids)),
            smba: self.register("smb").map(|(closids, _)| bandwidth(closids)),
            monitoring,
            pseudo_lock: ["model=79", "model=92"].iter().any(|model| self.processor.contains(model)),
        }
    }

    /// Mount options worth trying, also those that are refused.
    pub fn mounts(&self) -> Vec<MountOptions> {
        let plain = MountOptions::default();
        let some = [
            plain,
            MountOptions { cdp: true, ..plain },
            MountOptions { cdpl2: true, ..plain },
            MountOptions { mba_mbps: true, ..plain },
            MountOptions { debug: true, ..plain },
            MountOptions { cdp: true, cdpl2: true, ..plain },
            MountOptions { cdp: true, mba_mbps: true, debug: true, ..plain },
        ];
        some.to_vec()
    }
}

fn sockets() -> Vec<Domain> {
    (0..SOCKETS).map(|id| Domain { id, cpus: (id * CORES..(id + 1) * CORES).collect() }).collect()
}

fn cores() -> Vec<Domain> {
    (0..SOCKETS * CORES).map(|id| Domain { id, cpus: CpuSet::from_iter([id]) }).collect()
}
