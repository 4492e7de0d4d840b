//! The simulator: a platform's cores, caches, filters and memory with timing, driven by workloads as data.
//!
//! ```
//! use waykeeper_platform::{Platform, find_bundled};
//! use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
//! use waykeeper_workload::{Pattern, TickBody};
//!
//! struct Longest(u64);
//! impl SampleReceiver for Longest {
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

mod bits;
mod core;
mod engine;
pub mod observe;
mod refused;
mod shortcuts;

// What only this crate's own tests look at.
macro_rules! internals {
    ($($module:ident)*) => {$(
        #[cfg(feature = "internals")]
        pub mod $module;
        #[cfg(not(feature = "internals"))]
        mod $module;
    )*};
}
internals! { caches line memory time }

pub use caches::cache::{Cache, Evicted};
pub use caches::flags::{DIRTY, Flags};
pub use engine::Engine;
pub use engine::build::counter_tick_ns;
pub use engine::controls::TARGET_CLASS;
pub use engine::memories::MemoryId;
pub use engine::monitored::Monitored;
pub use engine::programs::{Program, Role, can_run};
pub use engine::regions::RegionId;
pub use line::Line;
pub use observe::counters::{
    ClassTraffic, CoreCounters, Counters, FrontCounters, MemoryCounters, Misses, SharedCounters,
};
pub use observe::samples::SampleReceiver;
pub use refused::Refused;
pub use shortcuts::estimate::{Estimate, Window};
pub use shortcuts::sampling::PassSampling;
pub use shortcuts::warm_up::Warmed;
