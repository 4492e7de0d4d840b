//! Properties of overrides, of the case matrix and of the collector of samples.

mod collector;
mod matrix;
mod overrides;
