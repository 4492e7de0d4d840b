//! Allocation: which lines a shared cache takes, and into which ways.

pub mod class_ways;
pub mod code;
pub mod no_allocate_mode;
pub mod rule;
