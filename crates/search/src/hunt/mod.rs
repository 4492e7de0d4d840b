//! The worst neighbour that can be found in a time: workloads as data, drawn at random, kept by halving, changed step by step,
//! and confirmed in fresh repeats beside the bundled ones.

mod hunting;
mod pattern;
mod pool;
mod record;
mod rests_on;
mod stress_ng;
mod text;

pub use hunting::{HuntError, HuntEvent, HuntRequest, HuntWatcher, Hunted, Objective, hunt};
pub use pattern::{AccessOrder, Geometry, NeighbourPattern};
pub use pool::{CandidateSource, HuntExtent, MeasureNeighbours, Pool, Scored};
pub use record::{Candidate, HuntRecord, LeftOut, ReachedMechanism, StressNgRecord, schema};
pub use stress_ng::{Stressor, Stressors, stressors};
pub use text::text;
