//! Runs: the samples of the repeats, what follows from them, and the folder that holds both.

mod conclude;
mod exposure;
pub mod folder;
mod kept_file;
mod longer;
pub mod measurement;
mod met;
pub mod off_core;
mod record;
pub mod samples;
pub mod sha256;
mod shape;
mod shard;
pub mod spread;
mod summary;
pub mod unfinished;
mod work;

pub use conclude::{Conclusion, case_tag, conclude};
pub use exposure::{Exposure, least_exposure, work_of};
pub use kept_file::open_regular;
pub use longer::{AN_HOUR_S, LongRunForecast, Longer, NO_EXCURSIONS, longer, longer_of};
pub use met::judge_expectations;
pub use record::*;
pub use shard::{BadShard, Shard, ShardRepeats};
pub use work::{LEAST_NEIGHBOUR_WORK, LessWork, WorkArm, WorkDoubt, stands_given_work};
