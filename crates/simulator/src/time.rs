//! Time: whole picoseconds.

/// A time that never comes.
pub const NEVER: u64 = u64::MAX;

/// Nanoseconds as picoseconds.
pub fn ps(ns: f64) -> u64 {
    (ns * 1e3).round() as u64
}
