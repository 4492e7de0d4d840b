//! The memory that is handed to a kernel.

use std::sync::atomic::{AtomicU64, Ordering};

/// A piece of mapped memory that a workload is laid into. It does not own the mapping.
#[derive(Debug)]
pub struct MappedMemory {
    pub(crate) start: *mut u8,
    pub(crate) bytes: usize,
}

// SAFETY: `Memory::new` demands that nobody else uses the memory, so it may move to the thread that does.
unsafe impl Send for MappedMemory {}

impl MappedMemory {
    /// The `bytes` bytes at `start`.
    ///
    /// # Safety
    /// They are mapped readable and writable, nothing else uses them, and they stay mapped until this value and the
    /// kernel that it was given to are dropped. `start` may be dangling where `bytes` is 0.
    pub unsafe fn new(start: *mut u8, bytes: usize) -> Self {
        Self { start, bytes }
    }

    /// No memory, for the workloads that have none (`tick`).
    pub fn none() -> Self {
        Self { start: std::ptr::dangling_mut(), bytes: 0 }
    }
}

/// How many accesses a neighbour has done, on a cache line of its own (and on the pair of lines that some prefetchers
/// fetch together), so that reading it interferes as little as possible.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct AccessCounter(AtomicU64);

impl AccessCounter {
    /// Zero accesses.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Accesses done so far (for `tick`: passes).
    pub fn accesses(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds accesses: of a workload that is no loop of this crate. One thread at a time adds to it.
    pub fn add(&self, accesses: u64) {
        self.0.store(self.accesses() + accesses, Ordering::Relaxed);
    }

    pub(crate) fn as_ptr(&self) -> *mut u64 {
        self.0.as_ptr()
    }
}
