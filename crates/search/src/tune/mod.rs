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

pub use dimension::Dimension;
pub use evidence::{Evidence, Seen};
pub use families::{Family, Parties, Rung, families};
pub use ladder::{End, Ladder, Next, Outcome};
pub use need::least_bits;
pub use record::{Candidate, FamilyRecord, SeenRecord, Tuned, schema};
pub use search::{Effort, FRESH, Found, Impossible, Judged, NotMeasured, Place, Progress, Repeat, Rungs, search};
pub use text::text;
pub use tuning::{Event, Request, TuneError, Watcher, candidates, tune};
