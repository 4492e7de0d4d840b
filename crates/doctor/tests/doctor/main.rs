//! The doctor on recorded trees.

mod advice;
mod both_ways;
mod cores;
mod fixtures;
mod interface;
mod printed;
mod properties;
mod taken;
mod tree;
