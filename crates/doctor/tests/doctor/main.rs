//! The doctor on recorded trees.

mod advice;
mod both_ways;
mod cores;
mod fixtures;
mod printed;
mod properties;
mod taken;
mod tree;
