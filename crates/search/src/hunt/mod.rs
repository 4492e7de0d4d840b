//! The worst neighbour that can be found in a time: workloads as data, drawn at random, kept by halving, changed step by step,
//! and confirmed in fresh repeats beside the bundled ones.

mod foreseen;
mod geometry;
mod hunting;
mod members;
mod mixture;
mod opened;
mod pattern;
mod pool;
mod prepared;
mod record;
mod rests_on;
mod stress_ng;
mod text;
mod written;

pub use hunting::{HuntError, HuntEvent, HuntRequest, HuntWatcher, Hunted, Objective, hunt};
/// What a hunt does not try, beside a target with this period, where offsets to it were chosen, and whose buffer neighbours may have accessed.
pub(crate) fn not_tried(target_period_ns: Option<u64>, shared_lines: bool) -> String {
    let phases = match target_period_ns {
        Some(_) => "with chosen offsets to the target's passes for bursts alone",
        None => {
            "without chosen offsets to the target's passes, which are at no chosen times (`period` and `offset` of the target set them)"
        }
    };
    if shared_lines { phases.into() } else { format!("without lines shared with the target and {phases}") }
}

pub use foreseen::HuntForeseen;
pub use geometry::{Geometry, MemoryMap};
pub use mixture::NeighbourMixture;
pub use pattern::{AccessOrder, NeighbourPattern};
pub use pool::{CandidateSource, HuntExtent, MeasureNeighbours, Pool, RepeatScore, Scored};
pub use record::{
    Candidate, HuntRecord, LeftOut, MemberAnswer, MemberNeighbour, MemberRanks, MemberSet, ReachedMechanism,
    StressNgRecord, schema,
};
pub use stress_ng::{Stressor, Stressors, stressors};
pub use text::text;
pub use written::{against, as_neighbours};
