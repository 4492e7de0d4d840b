//! The worst neighbour that can be found in a time: workloads as data, drawn at random, kept by halving, changed step by step,
//! and confirmed in fresh repeats beside the bundled ones.

mod hunting;
mod pattern;
mod pool;
mod record;
mod text;

pub use hunting::{Event, HuntError, Hunted, Objective, Request, Watcher, hunt};
pub use pattern::{Geometry, Order, Pattern};
pub use pool::{Extent, Measure, NotMeasured, Pool, Scored, Source};
pub use record::{Candidate, HuntRecord, schema};
pub use text::text;
