//! Properties of overrides, of the case matrix, of sweeps and of the collector of samples.

mod collector;
mod matrix;
mod overrides;
mod sweeps;
