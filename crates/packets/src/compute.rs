//! What a responder computes between a sensor packet and its answer.

use std::str::FromStr;

use waykeeper_kernels::{Kernel, KernelError, Memory};
use waykeeper_linux::memory::{Mapping, Pages};
use waykeeper_workload::{Order, Pattern};

use crate::frame::WorkOfResponder;

/// Instructions of one step of the chase, on x86-64 and AArch64: load, count, branch. A test counts them.
pub const INSTRUCTIONS_PER_LOAD: u64 = 3;

/// Bytes from one place of the chase to the next.
const LINE: u64 = 64;

/// So many instructions in so many bytes, as Intel's guide to Time Coordinated Compute has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionCount {
    /// Instructions of a cycle, to within a dozen.
    pub instructions: u64,
    /// Bytes that they work in.
    pub bytes: u64,
}

/// A text that is no such number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not SIZExINSTRUCTIONS; expected 1 to 1048576 KiB and 3 to 1000000000 instructions, such as `264KiBx12k` or `1296KiBx60000`"
)]
pub struct BadInstructionCount(String);

impl FromStr for InstructionCount {
    type Err = BadInstructionCount;

    fn from_str(text: &str) -> Result<Self, BadInstructionCount> {
        let parse = || {
            let (size, instructions) = text.split_once('x')?;
            let size = size.trim();
            let kib: u64 = size.strip_suffix("KiB").unwrap_or(size).trim().parse().ok()?;
            let instructions = instructions.trim();
            let (number, scale) = instructions.strip_suffix('k').map_or((instructions, 1), |number| (number, 1000));
            let instructions = number.parse::<u64>().ok()?.checked_mul(scale)?;
            let fits = (1..=1 << 20).contains(&kib) && (3..=1_000_000_000).contains(&instructions);
            fits.then_some(Self { instructions, bytes: kib * 1024 })
        };
        parse().ok_or_else(|| BadInstructionCount(text.into()))
    }
}

impl InstructionCount {
    /// Dependent loads over all lines of the buffer in one random cycle. A cycle of the loop takes so many of them as the
    /// instructions make, and the next one goes on where it ended.
    pub fn pattern(self) -> Pattern {
        Pattern::Chase {
            elements: (self.bytes / LINE).max(2),
            stride: LINE,
            order: Order::Random,
            batch: (self.instructions / INSTRUCTIONS_PER_LOAD).max(1),
        }
    }
}

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
            Some(mapping) => unsafe { Memory::new(mapping.start(), mapping.length()) },
            None => Memory::none(),
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
    fn the_guides_pairs_are_read() {
        let pair = |instructions, kib: u64| Ok(InstructionCount { instructions, bytes: kib * 1024 });
        assert_eq!("264KiBx12k".parse(), pair(12_000, 264));
        assert_eq!("1296x60000".parse(), pair(60_000, 1296));
        assert_eq!("1080 KiB x 50k".parse(), pair(50_000, 1080));
        for bad in ["", "264KiB", "x12k", "0x12k", "264KiBx2", "264KiBx12M", "99999999x3", "264KiBx9999999999k"] {
            assert!(bad.parse::<InstructionCount>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_cycle_of_twelve_thousand_instructions_is_four_thousand_loads() {
        let pattern = "264KiBx12k".parse::<InstructionCount>().unwrap().pattern();
        // 264 KiB are 4224 lines of 64 bytes; 12000 instructions are 4000 steps of three.
        assert_eq!(pattern, Pattern::Chase { elements: 4224, stride: 64, order: Order::Random, batch: 4000 });
        let mut computation = Computation::new(&pattern, 12_000).unwrap();
        computation.run();
        assert_eq!(computation.work(), WorkOfResponder { instructions: 12_000, bytes: 264 * 1024, path: 0 });
    }
}
