//! The memory's timing and its rules, worked out by hand. Times are picoseconds.

mod cache;
mod common;
mod ecc;
mod gate;
mod regulation;
mod scheduling;
mod stories;
mod timing;
