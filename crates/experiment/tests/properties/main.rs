//! Properties of overrides, of the case matrix and of sweeps.

mod matrix;
mod overrides;
mod sweeps;
