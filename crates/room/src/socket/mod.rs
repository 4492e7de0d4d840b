//! The room's socket: one JSON object a line, asked and answered in turn.
//!
//! It reports what simulated workloads did, and starts and ends them. Masks and flaws it never reports: whoever wants to know
//! whether a mask works has to measure.

pub mod client;
pub mod protocol;
mod server;

pub use server::Listening;
pub(crate) use server::answer;
