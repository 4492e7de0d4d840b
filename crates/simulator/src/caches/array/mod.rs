//! The array of a cache or a filter: sets of ways, how a line finds its set, and its way in there.

pub mod rows;
pub mod set_index;
pub mod tags;
