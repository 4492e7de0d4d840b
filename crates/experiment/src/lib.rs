//! Experiments: files, and the matrix of cases that a file comes to at a site.

mod bundled;
pub mod cases;
mod check;
mod cores;
pub mod describe;
mod error;
pub mod excursions;
pub mod expectation;
mod explain;
mod files;
pub mod layout;
mod load;
pub mod mitigation;
mod offers;
mod place;
pub mod point;
pub mod published;
mod reference;
mod replace;
pub mod sampled;
pub mod schema;
mod sentinel;
mod set;
pub mod site;
pub mod sweep;

pub use bundled::{bundled, find_bundled};
pub use cores::{NeighbourCores, TargetCore};
pub use error::{InputError, Origin};
pub use excursions::PILOT;
pub use files::{NamedFile, is_policy_file};
pub use load::{Loaded, Variant};
pub use replace::OptionOverrides;
pub use set::Set;
