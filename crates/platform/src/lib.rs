//! Platforms as data: what a machine consists of, in numbers that say where they come from.
//!
//! A platform file is TOML (`platforms/*.toml`; any other path works too). Every physical parameter is a
//! [`Param`]: a value, one of the four words of [`Basis`], and its source.

mod bundled;
pub mod catalogue;
mod check;
mod core_list;
mod describe;
pub mod explain;
mod front;
mod geometry;
mod index;
pub mod knob;
mod load;
pub mod locate;
mod memory;
mod missing;
mod mitigation;
mod param;
mod part;
pub mod read;
mod rows;
mod shared;
mod text_file;
mod way_control;

pub use bundled::{bundled, find_bundled};
pub use core_list::{format_cpulist, parse_boot_cpulist, parse_cpulist, parse_cpumask};
pub use describe::{
    Architecture, CoreId, CoreKind, Counter, Cpuid, Execution, Flaws, Inclusion, Platform, PrivateCache, Replacement,
    TickLoop,
};
pub use front::{
    Event, PrefetcherDescription, PrefetcherKind, TlbDescription, TlbSide, TranslationDescription, WriteStreaming,
};
pub use geometry::CacheGeometry;
pub use index::Index;
pub use load::PlatformError;
pub use memory::{
    CheckBits, CommandOrder, Drain, Ecc, Interconnect, MemoryCache, MemoryDescription, OnChipRam, Placement,
    PriorityReach, ReadAfterWrite, RefreshKind, SchedulerDescription,
};
pub use mitigation::{
    Bandwidth, Clocks, Colouring, Lock, Locked, MemoryCacheAllocation, Mitigation, Priority, Settings, WayGroups,
};
pub use param::{Basis, Param, ParameterRow};
pub use part::memory_parts;
pub use shared::{
    Allocation, BandwidthControl, BandwidthScheme, EntryTaken, Monitoring, NoAllocateModeDescription, SharedCache,
    SnoopFilterDescription,
};
pub use text_file::read_text;
pub use way_control::WayControl;
