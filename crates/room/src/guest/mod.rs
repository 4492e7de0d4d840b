//! Waykeeper itself inside a room: its loops and probes run as simulated tasks.

mod bench;
mod prober;

pub use bench::RoomBench;
pub use prober::RoomProber;
