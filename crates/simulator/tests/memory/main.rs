//! The memory's timing and its rules, worked out by hand. Times are picoseconds.

mod arbiter;
mod cache;
mod common;
mod ecc;
mod read_paths;
mod regulation;
mod scheduling;
mod timing;
