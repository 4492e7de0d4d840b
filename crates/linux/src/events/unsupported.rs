//! In the place of perf events on ARMv7: the library that opens them knows no kernel of 32 bits.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use super::{BoundaryEvent, Function};

/// As on other architectures.
pub const SETTLES: Duration = Duration::from_millis(20);

/// Records of a thread's switches; there are none.
pub struct Activations(Infallible);

/// Open uprobes; there are none.
pub struct Functions(Infallible);

fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "not supported on ARMv7; markers are")
}

impl Activations {
    /// Opens nothing.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: u32) -> io::Result<Self> {
        Err(unsupported())
    }

    /// Cannot be called.
    pub fn drain(&mut self, _: impl FnMut(BoundaryEvent)) {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn lost(&self) -> u64 {
        match self.0 {}
    }
}

impl Functions {
    /// Opens nothing.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: &Function, _: &Function, _: u32) -> io::Result<Self> {
        Err(unsupported())
    }

    /// Cannot be called.
    pub fn drain(&mut self, _: impl FnMut(BoundaryEvent)) {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn lost(&self) -> u64 {
        match self.0 {}
    }
}
