//! Kernel parameters: those that help, and those that no kernel knows.

pub mod advice;
pub(crate) mod names;
pub mod unknown;
