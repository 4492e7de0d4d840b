//! The worst neighbour that can be found in a time: workloads as data, drawn at random, kept by halving, changed step by step,
//! and confirmed in fresh repeats beside the bundled ones.

mod geometry;
mod hunting;
mod members;
mod mixture;
mod pattern;
mod pool;
mod record;
mod rests_on;
mod stress_ng;
mod text;
mod written;

pub use hunting::{HuntError, HuntEvent, HuntRequest, HuntWatcher, Hunted, Objective, hunt};
/// What no hunt tries.
pub(crate) const NOT_TRIED: &str = "without lines shared with the target and without chosen phases between cores";

pub use geometry::{Geometry, MemoryMap};
pub use mixture::NeighbourMixture;
pub use pattern::{AccessOrder, NeighbourPattern};
pub use pool::{CandidateSource, HuntExtent, MeasureNeighbours, Pool, Scored};
pub use record::{
    Candidate, HuntRecord, LeftOut, MemberAnswer, MemberNeighbour, MemberRanks, MemberSet, ReachedMechanism,
    StressNgRecord, schema,
};
pub use stress_ng::{Stressor, Stressors, stressors};
pub use text::text;
pub use written::{against, as_neighbours};
