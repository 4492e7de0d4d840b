//! What a responder computes between a sensor packet and its answer.

use waykeeper_kernels::{Kernel, KernelError, MappedMemory};
use waykeeper_linux::memory::{Mapping, Pages};
use waykeeper_workload::Pattern;
pub use waykeeper_workload::{BadInstructionCount, INSTRUCTIONS_PER_LOAD, InstructionCount};

use crate::frame::WorkOfResponder;

/// A workload that a responder computes, one pass a cycle, laid out in locked memory.
pub struct Computation {
    // Before the mapping that it works in.
    kernel: Kernel,
    _mapping: Option<Mapping>,
    work: WorkOfResponder,
}

impl Computation {
    /// Lays a pattern out.
    ///
    /// # Errors
    /// A pattern that is no timed loop, or memory that is not there, in words.
    pub fn new(pattern: &Pattern, instructions: u64) -> Result<Self, String> {
        let bytes = pattern.data_bytes();
        let length =
            usize::try_from(bytes).map_err(|_| format!("{bytes} bytes are beyond this machine's addresses"))?;
        let mapping = (length > 0).then(|| Mapping::new(length, Pages::Small)).transpose();
        let mapping = mapping.map_err(|error| format!("{} KiB for the computation: {error}", bytes.div_ceil(1024)))?;
        let memory = match &mapping {
            // SAFETY: the mapping is this value's alone and is dropped after the kernel.
            Some(mapping) => unsafe { MappedMemory::new(mapping.start(), mapping.length()) },
            None => MappedMemory::none(),
        };
        let kernel = Kernel::new(pattern, memory, 1).map_err(|error: KernelError| error.to_string())?;
        Ok(Self { kernel, _mapping: mapping, work: WorkOfResponder { instructions, bytes, path: 0 } })
    }

    /// What the greeting says of it.
    pub fn work(&self) -> WorkOfResponder {
        self.work
    }

    /// Computes one cycle.
    pub fn run(&mut self) {
        self.kernel.run_pass();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_says_what_is_computed() {
        let pattern = "264KiBx12k".parse::<InstructionCount>().unwrap().pattern();
        let mut computation = Computation::new(&pattern, 12_000).unwrap();
        computation.run();
        assert_eq!(computation.work(), WorkOfResponder { instructions: 12_000, bytes: 264 * 1024, path: 0 });
    }
}
