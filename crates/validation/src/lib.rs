//! Compares simulated figures with published ones.
//!
//! The platform files' assumed parameters are free choices. An *ensemble* of parameter sets is drawn from their ranges; the
//! sets that agree with the fitted figures are kept, and what they predict for the others is given as an interval. What
//! each parameter matters is shown by setting it to the ends of its range. `cargo xtask validate` writes the result into
//! `docs/validation.md`, with the digests of the files that it was made from.

pub mod document;
pub mod ensemble;
pub mod figures;
pub mod knob;
mod listed;
pub mod made_from;
pub mod plan;
pub mod runner;
pub mod spread;
mod tails;
