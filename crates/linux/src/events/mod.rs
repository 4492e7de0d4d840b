//! Begins and ends of passes that the kernel sees: functions of a program by uprobes, activations of a thread by the
//! records of its context switches. Both are perf events of this process: nothing of them is left when it ends, however it ends.

#[cfg(not(target_arch = "arm"))]
mod activations;
mod function_names;
#[cfg(not(target_arch = "arm"))]
mod functions;
mod libraries;
#[cfg(not(target_arch = "arm"))]
mod stream;
mod symbols;
#[cfg(target_arch = "arm")]
mod unsupported;

#[cfg(not(target_arch = "arm"))]
pub use activations::Activations;
#[cfg(not(target_arch = "arm"))]
pub use functions::Functions;
pub use libraries::{LinkedLibrary, linked_libraries};
#[cfg(not(target_arch = "arm"))]
pub use stream::SETTLES;
pub use symbols::{Function, NoFunction};
#[cfg(target_arch = "arm")]
pub use unsupported::{Activations, Functions, SETTLES};

/// A begin or an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundaryEvent {
    /// The thread, by its number in the kernel.
    pub thread: u32,
    /// Its process.
    pub process: u32,
    /// Whether something begins; it ends otherwise.
    pub begins: bool,
    /// When, nanoseconds of `CLOCK_MONOTONIC_RAW`.
    pub at_ns: u64,
}
