//! Searches over what a machine offers, and over what may slow it: which measure suffices, and which neighbour is the worst.

pub mod alternate;
mod choice;
pub mod hunt;
mod together;
pub mod tune;
