//! The memory's timing and its rules, worked out by hand. Times are picoseconds.

mod arbiter;
mod cache;
mod common;
mod ecc;
mod regulation;
mod scheduling;
mod stories;
mod timing;
