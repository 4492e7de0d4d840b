//! Searches over what a machine offers: which measure suffices.

pub mod tune;
