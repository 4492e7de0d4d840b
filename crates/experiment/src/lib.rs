//! Experiments: files, the case matrix, samples, the run schema, statistics and verdicts.

mod bundled;
pub mod cases;
mod conclude;
mod cores;
pub mod describe;
mod error;
mod explain;
pub mod folder;
mod load;
pub mod measurement;
pub mod mitigation;
mod reference;
pub mod run;
pub mod samples;
pub mod schema;
mod set;
pub mod site;
pub mod statistics;
mod summary;

pub use bundled::{bundled, find_bundled};
pub use conclude::{Conclusion, case_tag, conclude};
pub use cores::{NeighbourCores, TargetCore};
pub use error::{InputError, Origin};
pub use load::Loaded;
pub use set::Set;
