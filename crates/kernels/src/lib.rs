//! Timed loops and hammers in freestanding C11, and their Rust interface.
//!
//! A [`Kernel`] is a [`Pattern`](waykeeper_workload::Pattern) laid out in memory. It runs on the calling thread, as a
//! target ([`Kernel::run_target`]: every sample goes into a [`Recorder`]) or as a neighbour
//! ([`Kernel::run_neighbour`]: only the number of accesses is published). The loops themselves are in `c/`, one small
//! file for each kind of workload; boards link the same C. They do what
//! [`Pattern::stream`](waykeeper_workload::Pattern::stream) says, access by access; `tests/addresses.rs` watches them.
//!
//! All times are in ticks of the counter that [`clock`] describes.

mod arena;
pub mod clock;
mod ffi;
mod grid;
mod kernel;
#[cfg(test)]
mod layout;
mod memory;
mod params;
mod recorder;

pub use kernel::{Kernel, KernelError};
pub use memory::{AccessCounter, MappedMemory};
pub use recorder::{IntervalMaximum, Recorder};
