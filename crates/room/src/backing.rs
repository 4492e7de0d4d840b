//! What stands behind the files: something that runs workloads, obeys controls and counts.

use waykeeper_platform::CoreId;
use waykeeper_workload::Pattern;

/// A workload on a core.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// Where it runs.
    pub core: CoreId,
    /// What it does.
    pub pattern: Pattern,
    /// Whether its latency is recorded.
    pub watched: bool,
    /// Where its buffer is.
    pub buffer: BufferMemory,
    /// Only so many samples are kept, the first ones.
    pub samples: Option<u64>,
}

/// Where the buffer of a workload is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BufferMemory {
    /// In memory of its own, which ends with it.
    #[default]
    Own,
    /// In a locked region.
    Region(u64),
    /// In memory that was given out before, where caches may still hold lines of it.
    Memory(u64),
}

/// A register that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlChange {
    /// What a core runs belongs from now on to this class, and is counted for this monitor.
    Assign {
        /// The core.
        core: CoreId,
        /// CLOSID or PARTID.
        class: u32,
        /// The number of a monitor, below [`Backing::monitors`].
        monitor: u8,
    },
    /// The masks of a class in the cache of a level that a core uses, one bit a way group.
    Ways {
        /// 2 or 3.
        level: u8,
        /// One of the cache's cores.
        core: CoreId,
        /// CLOSID or PARTID.
        class: u32,
        /// For data, and for everything without CDP.
        data: u32,
        /// For instructions.
        code: u32,
    },
    /// The bandwidth of a class beyond the last cache that a core uses.
    Bandwidth {
        /// One of the cache's cores.
        core: CoreId,
        /// CLOSID.
        class: u32,
        /// Percent that is left of the full bandwidth.
        percent: u32,
    },
}

/// What a monitor counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MonitorCounts {
    /// Bytes that are in the cache now.
    pub occupancy_bytes: u64,
    /// Bytes to and from all memory.
    pub total_bytes: u64,
    /// Bytes to and from the memory of this node.
    pub local_bytes: u64,
}

/// What a core did since it was built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CoreCounts {
    /// Accesses.
    pub accesses: u64,
    /// Those that read memory.
    pub memory_reads: u64,
    /// Those among them that are part of samples.
    pub sample_reads: u64,
}

/// Takes samples.
pub trait SampleSink {
    /// A sample of the watched work on a core: ticks of the counter, and how many of them were the same.
    fn record(&mut self, core: CoreId, ticks: u64, count: u64);
}

/// Runs workloads and obeys controls. Time is simulated picoseconds.
pub trait Backing: Send {
    /// Runs until this time.
    fn advance(&mut self, until_ps: u64, sink: &mut dyn SampleSink);
    /// The present time.
    fn now_ps(&self) -> u64;
    /// Nanoseconds of a tick.
    fn tick_ns(&self) -> f64;
    /// Begins a workload on an idle core.
    ///
    /// # Errors
    /// Why it cannot run there.
    fn start(&mut self, work: &Work) -> Result<(), String>;
    /// Ends what runs on a core. What it left in caches stays.
    ///
    /// # Errors
    /// When nothing runs there.
    fn stop(&mut self, core: CoreId) -> Result<(), String>;
    /// Changes a register.
    ///
    /// # Errors
    /// What cannot be simulated.
    fn set(&mut self, control: ControlChange) -> Result<(), String>;
    /// Loads a region into ways of the cache that a core uses, and keeps it there.
    ///
    /// # Errors
    /// Where there is no room.
    fn lock(&mut self, level: u8, core: CoreId, ways: u32) -> Result<u64, String>;
    /// Returns the ways of a region.
    ///
    /// # Errors
    /// When there is none of that number.
    fn unlock(&mut self, region: u64) -> Result<(), String>;
    /// Allocates memory that outlives the workloads that use it, as a workload on that core would get it.
    ///
    /// # Errors
    /// When there is not so much left.
    fn give(&mut self, core: CoreId, bytes: u64) -> Result<u64, String>;
    /// Takes such memory back.
    ///
    /// # Errors
    /// When there is none of that number.
    fn take_back(&mut self, memory: u64) -> Result<(), String>;
    /// What a monitor counted in the last-level cache that a core uses.
    fn monitored(&self, level: u8, core: CoreId, monitor: u8) -> MonitorCounts;
    /// What a core did.
    fn counts(&self, core: CoreId) -> CoreCounts;
    /// How many monitors can be distinguished.
    fn monitors(&self) -> u8;
}
