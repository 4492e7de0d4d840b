//! What Linux says about a machine, and what it lets a program do on it.
//!
//! Everything that is read from `/sys` and `/proc` goes through a [`Root`], so that a recorded tree can stand in for the
//! running machine.

mod architecture;
pub mod beneath;
mod build_options;
pub mod cgroup;
pub mod colour;
pub mod core_state;
pub mod cpuid;
pub mod cycle_access;
mod discover;
pub mod ethtool;
pub mod events;
mod facts;
#[cfg(feature = "fixtures")]
pub mod fixtures;
mod hypervisor;
mod kept_time;
pub mod latency;
pub mod machine;
pub mod memory;
pub mod mounts;
pub mod partitions;
pub mod perf;
pub mod ptp;
pub mod qdisc;
pub mod recording;
pub mod registers;
mod root;
pub mod schedule;
pub mod sharing;
pub mod signal;
pub mod task;
pub mod thread;

pub use architecture::architecture;
pub use build_options::build_option;
pub use discover::{Discovered, FIFO, HUGE_PAGES, NotDiscovered, discover, online, threads};
pub use facts::{Facts, facts, kernel_release, kernel_version};
pub use hypervisor::{Below, below};
pub use kept_time::{KeptTime, kept_for_ordinary_tasks};
pub use recording::{RecordedTreeError, Recording};
pub use root::{Root, boot_id};
pub use waykeeper_platform::{format_cpulist, parse_boot_cpulist, parse_cpulist, parse_cpumask};
