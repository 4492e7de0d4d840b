//! Begins and ends of passes that the kernel sees: functions of a program by uprobes, activations of a thread by the
//! records of its context switches. Both are perf events of this process: nothing of them is left when it ends, however it ends.

mod activations;
mod functions;
mod stream;
mod symbols;

pub use activations::Activations;
pub use functions::Functions;
pub use stream::SETTLES;
pub use symbols::{Function, NoFunction};

/// A begin or an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The thread, by its number in the kernel.
    pub thread: u32,
    /// Its process.
    pub process: u32,
    /// Whether something begins; it ends otherwise.
    pub begins: bool,
    /// When, nanoseconds of `CLOCK_MONOTONIC_RAW`.
    pub at_ns: u64,
}
