//! What is seen of a simulation: counts, samples, labels, and why lines went and samples took so long.

pub mod back_invalidated;
pub mod counters;
pub mod explain;
pub mod label;
pub mod losses;
pub mod read_path;
pub mod samples;
pub mod skipped;
