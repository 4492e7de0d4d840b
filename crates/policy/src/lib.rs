//! Policies: who gets which share of which resource, resolved for a platform and lowered to exact writes.

mod step;

pub use step::{Mechanism, MountSettings, Step};
