//! The machine as resctrl sees it: plain data, no rules.

use crate::{CpuSet, KernelRelease};

/// Whose rules for masks, bandwidth and identifiers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QosTechnology {
    /// Intel RDT: bandwidth in percent.
    Intel,
    /// AMD QoS: bandwidth in units of 1/8 GB/s, masks may be empty and may have holes.
    Amd,
    /// Arm MPAM: RMIDs (PMGs) belong to a CLOSID (PARTID).
    Mpam,
}

/// The CPUs of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineCpus {
    /// nr_cpu_ids: how many CPU numbers there can be; the width of a printed mask, in bits.
    pub possible: u32,
    /// How many bits the parser of masks takes: as `possible`, or NR_CPUS where the kernel keeps masks on the stack.
    pub parsed: u32,
    /// The CPUs that are online.
    pub online: CpuSet,
}

/// One instance of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// The id in `schemata`: the cache's id.
    pub id: u32,
    /// The CPUs that share it.
    pub cpus: CpuSet,
}

/// A cache that can be allocated (CAT, MPAM cache portions).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocatableCache {
    /// Its instances, ascending by id.
    pub domains: Vec<Domain>,
    /// Bits in a mask, at most 32.
    pub mask_bits: u32,
    /// The least number of consecutive bits in a mask.
    pub min_bits: u32,
    /// How many classes the hardware has.
    pub closids: u32,
    /// Bits that other agents use too.
    pub shareable: u32,
    /// Whether masks with holes are allowed.
    pub sparse: bool,
    /// Whether code and data can have masks of their own (CDP).
    pub cdp: bool,
    /// Size of one instance in bytes.
    pub size_bytes: u32,
    /// Size of a line in bytes, 0 when it is not known.
    pub line_bytes: u32,
}

/// How threads that share a core are throttled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Throttle {
    /// The core takes the stronger of its threads' settings.
    Max,
    /// Every thread has its own.
    PerThread,
}

/// A bandwidth that can be allocated (MBA, SMBA).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandwidthResource {
    /// Its instances, ascending by id.
    pub domains: Vec<Domain>,
    /// How many classes the hardware has.
    pub closids: u32,
    /// The least value: percent, or AMD's units.
    pub min: u32,
    /// The greatest value, which is also the value of new groups.
    pub max: u32,
    /// Values are rounded up to multiples of this.
    pub granularity: u32,
    /// Whether the hardware's scale is linear.
    pub linear: bool,
    /// How threads of one core are throttled; absent where the architecture does not say (AMD).
    pub throttle: Option<Throttle>,
}

/// An event that is counted for every RMID and L3 domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MonitorEvent {
    /// Bytes of the cache that are occupied.
    LlcOccupancy,
    /// Bytes to and from all memory.
    MbmTotal,
    /// Bytes to and from the memory of this node.
    MbmLocal,
}

impl MonitorEvent {
    /// All events in the order of `mon_features`.
    pub const ALL: [MonitorEvent; 3] = [MonitorEvent::LlcOccupancy, MonitorEvent::MbmTotal, MonitorEvent::MbmLocal];

    /// The name of its file.
    pub fn name(self) -> &'static str {
        match self {
            MonitorEvent::LlcOccupancy => "llc_occupancy",
            MonitorEvent::MbmTotal => "mbm_total_bytes",
            MonitorEvent::MbmLocal => "mbm_local_bytes",
        }
    }

    /// Whether it counts bytes that passed, not bytes that are there.
    pub fn is_bandwidth(self) -> bool {
        self != MonitorEvent::LlcOccupancy
    }
}

/// What can be monitored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorResource {
    /// The L3 instances that count, ascending by id.
    pub domains: Vec<Domain>,
    /// How many RMIDs there are; for MPAM: PMGs of every PARTID.
    pub rmids: u32,
    /// The events that are counted, in the order of [`MonitorEvent::ALL`].
    pub events: Vec<MonitorEvent>,
    /// Bytes for one count of the hardware.
    pub scale_bytes: u32,
    /// Bits of a bandwidth counter.
    pub counter_bits: u32,
    /// Size of the last-level cache in bytes, the limit of `max_threshold_occupancy`.
    pub llc_bytes: u32,
    /// The transactions that bandwidth events can be set to (AMD BMEC), if they can.
    pub configurable: Option<u32>,
}

/// A machine as resctrl sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResctrlMachine {
    /// The kernel that runs.
    pub kernel: KernelRelease,
    /// Whose rules hold.
    pub architecture: QosTechnology,
    /// The CPUs.
    pub cpus: MachineCpus,
    /// Allocation of the level 3 cache.
    pub l3: Option<AllocatableCache>,
    /// Allocation of the level 2 caches.
    pub l2: Option<AllocatableCache>,
    /// Allocation of memory bandwidth.
    pub mb: Option<BandwidthResource>,
    /// Allocation of the bandwidth of slow memory (AMD); kernels before 6.3 do not know it.
    pub smba: Option<BandwidthResource>,
    /// Monitoring of the level 3 cache and of memory bandwidth.
    pub monitoring: Option<MonitorResource>,
    /// Whether the kernel knows how to stop this processor's prefetchers, which pseudo-locking needs.
    pub pseudo_lock: bool,
}

impl ResctrlMachine {
    /// Whether the events' configuration can be read and written on this kernel.
    pub(crate) fn configurable_events(&self) -> Option<u32> {
        let monitoring = self.monitoring.as_ref()?;
        monitoring.configurable.filter(|_| self.kernel.has_slow_memory())
    }

    /// Whether an event is counted.
    pub(crate) fn counts(&self, event: MonitorEvent) -> bool {
        self.monitoring.as_ref().is_some_and(|monitoring| monitoring.events.contains(&event))
    }
}
