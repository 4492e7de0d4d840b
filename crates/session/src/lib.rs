//! An experiment from its plan to the record of its run, for every command that measures cases.
//!
//! [`Session::plan`] finds the place and its cases; [`Session::start`] begins the run, kept in a folder or nowhere;
//! [`Started::run`] measures and concludes. [`Resumption`] goes on with a run that was interrupted, and [`merge`] makes one run of
//! its shards. Nothing here prints: who
//! wants to follow a run is an [`Observer`].

mod budgets;
mod error;
mod folder;
mod keeping;
mod machine;
mod merge;
mod notes;
mod observer;
mod place;
mod provenance;
mod resume;
mod settings;
mod single;
mod start;

pub use budgets::{asked_budgets, own_budgets};
pub use error::SessionError;
pub use folder::RunFolder;
pub use merge::merge;
pub use observer::{Note, Observer, Unobserved};
pub use place::{is_room, named_platform};
pub use resume::Resumption;
pub use settings::Options;
pub use single::SingleRepeats;
pub use start::{Concluded, Keep, Kept, Session, Started};
pub use waykeeper_executor::{FigureOfRepeat, Progress};
