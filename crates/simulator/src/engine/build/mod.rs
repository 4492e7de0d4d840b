//! From a platform's data to the parts of an engine.

mod front;
mod groups;
mod hierarchy;
mod memory;
mod misses;
mod missing;
mod port;

pub use front::{front, tables};
pub use groups::{sets, way_groups};
pub use hierarchy::hierarchy;
pub use memory::{chosen_memory, memory};
pub use misses::{limits, misses};
pub use missing::nothing_is_missing;
pub use port::{latencies, port, window};

use waykeeper_platform::{CoreKind, Counter, Platform};

use crate::refused::Refused;
use crate::time::Ps;

/// The time between two values of a counter.
pub fn tick(counter: &Counter) -> Ps {
    Ps::from_ns(counter.tick_ns.value).max(Ps::new(1))
}

/// Nanoseconds between two values of a counter as it is simulated: whole picoseconds, which need not be what the platform says.
pub fn counter_tick_ns(counter: &Counter) -> f64 {
    tick(counter).get() as f64 / 1e3
}

/// The value of a parameter that a simulation needs.
pub fn need<'a, T>(parameter: &'a Option<T>, key: &str) -> Result<&'a T, Refused> {
    parameter.as_ref().ok_or_else(|| Refused::new(key, "the platform does not give it; a simulation needs it"))
}

/// A core's kind and its place in the file.
pub fn kind_of(platform: &Platform, core: u32) -> Result<(usize, &CoreKind), Refused> {
    platform.cores.iter().enumerate().find(|(_, kind)| kind.ids.contains(&core)).ok_or_else(|| {
        Refused::new("cores", format!("core {core} does not exist; the cores are {:?}", platform.core_ids()))
    })
}
