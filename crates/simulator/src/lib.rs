//! The simulator: a platform's cores, caches, filters and memory with timing, driven by workloads as data.
//!
//! ```
//! use waykeeper_platform::{Platform, find_bundled};
//! use waykeeper_simulator::{Engine, Program, Role, Samples};
//! use waykeeper_workload::{Pattern, TickBody};
//!
//! struct Longest(u64);
//! impl Samples for Longest {
//!     fn record(&mut self, ticks: u64, _count: u64, _at_ps: u64) {
//!         self.0 = self.0.max(ticks);
//!     }
//! }
//!
//! let platform = Platform::from_toml(find_bundled("agilex5").unwrap().text, "platforms/agilex5.toml")?;
//! let target = Program { core: 1, pattern: Pattern::Tick { body: TickBody::Nothing }, role: Role::Target };
//! let mut engine = Engine::new(&platform, &[target], &[], 1)?;
//! let mut longest = Longest(0);
//! engine.advance(1_000_000_000, &mut longest);
//! assert!(longest.0 as f64 * engine.tick_ns() > 57.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Time is whole picoseconds. An engine has no threads and no hidden state: the same platform, programs, mitigations and
//! seed give the same samples on any machine.

pub mod access;
mod bits;
mod build;
pub mod cache;
mod class_ways;
mod code;
mod controls;
pub mod counters;
mod devices;
mod engine;
mod estimate;
pub mod explain;
mod fast;
pub mod filter;
mod front;
pub mod hierarchy;
pub mod label;
mod latencies;
mod live;
pub mod losses;
mod memories;
pub mod memory;
mod misses;
pub mod mode;
mod monitored;
mod placement;
mod port;
pub mod private;
mod program;
mod programs;
mod refused;
mod regions;
pub mod replacement;
mod rows;
mod running;
mod samples;
mod sampling;
pub mod set_index;
mod settings;
mod skip;
mod skipped;
mod start;
pub mod station;
pub mod tags;
mod taken;
mod tick;
mod touched;
mod under_way;
mod wakes;
mod window;

pub use controls::TARGET_CLASS;
pub use counters::{ClassTraffic, CoreCounters, Counters, FrontCounters, MemoryCounters, Misses, SharedCounters};
pub use engine::Engine;
pub use estimate::{Estimate, Window};
pub use memories::MemoryId;
pub use monitored::Monitored;
pub use programs::{Program, Role};
pub use refused::{Refused, can_run};
pub use regions::RegionId;
pub use samples::Samples;
pub use sampling::Sampling;
