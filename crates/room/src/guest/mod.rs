//! Waykeeper itself inside a room: its loops and probes run as simulated tasks.

mod bench;
mod client;
mod prober;

pub use bench::RoomBench;
pub use client::client;
pub use prober::RoomProber;
