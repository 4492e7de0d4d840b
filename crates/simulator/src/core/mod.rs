//! A core: its programs, its front end, and the misses that it has outstanding.

pub mod devices;
pub mod front;
pub mod latencies;
pub mod mshrs;
pub mod placement;
pub mod port;
pub mod program;
pub mod shared_mshrs;
pub mod tick;
pub mod window;
pub mod world;
