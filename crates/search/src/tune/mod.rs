//! The smallest share of what a machine offers that was not seen to break a budget.

mod conclude;
mod dimension;
mod evidence;
mod families;
mod ladder;
mod measured;
mod need;
mod record;
mod search;
mod spending;
mod text;
mod tuning;

pub use dimension::TuneOver;
pub use evidence::{CandidateEvidence, RepeatSeen};
pub use families::{Family, Rung, TuneParties, families};
pub use ladder::{LadderEnd, Next, RungLadder, RungOutcome};
pub use need::least_bits;
pub use record::{Candidate, FamilyRecord, SeenRecord, Tuned, schema};
pub use search::{CandidateRepeat, Effort, FRESH, Impossible, Judged, Place, Rungs, SearchFound, TuneProgress, search};
pub use text::text;
pub(crate) use tuning::budgets_of;
pub use tuning::{TuneError, TuneEvent, TuneRequest, TuneWatcher, candidates, tune};
