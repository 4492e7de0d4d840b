//! Real programs as workloads: `disparity` and `mser` of the San Diego Vision Benchmark Suite (Venkata et al., "SD-VBS: The
//! San Diego Vision Benchmark Suite", IISWC 2009), written afresh from the algorithms.
//!
//! What counts is what they do to the memory: which arrays there are, how wide an element is, and in which order they are
//! gone through are those of the published programs. The images are generated from a seed.
//!
//! A [`WholeProgram`] works in a memory that it is given, in small [steps](WholeProgram::step), and reports each access to a [`Probe`].
//! With the probe [`NoProbe`] nothing is left of the reports: that is the program itself. Another probe sees the address
//! stream of the same source, without anything in between.

pub mod disparity;
mod image;
mod memory;
pub mod mser;
mod probe;
mod program;
mod spec;

pub use image::Image;
pub use memory::Array;
pub use probe::{NoProbe, Probe};
pub use program::WholeProgram;
pub use spec::{ImageSize, ProgramName, Spec};
