//! Shortcuts: what is not simulated in full, and what stands in for it.

pub mod back_invalidations;
pub mod background;
pub mod course;
pub mod estimate;
pub mod fast;
pub mod forward;
pub mod sampled;
pub mod sampling;
pub mod skip;
pub mod together;
pub mod warm_up;
pub mod window_warm_up;
