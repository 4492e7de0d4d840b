//! What a case may ask of this machine's memory.

use waykeeper_experiment::cases::Case;
use waykeeper_linux::{Root, memory};

use crate::measure::ExecutorError;

/// A case may take this share of the memory that is available: the rest keeps the machine from swapping.
const SHARE: f64 = 0.5;

/// Refuses a case whose buffers would not fit.
pub fn check_memory(case: &Case) -> Result<(), ExecutorError> {
    let needed: u64 =
        std::iter::once(&case.target).chain(&case.neighbours).map(|placed| placed.pattern.data_bytes()).sum();
    match memory::available(&Root::default()) {
        Some(available) if needed as f64 > available as f64 * SHARE => Err(ExecutorError::Refused(format!(
            "case `{}` needs {} MiB of memory, more than half of the {} MiB that are available; smaller sizes or fewer neighbours would do",
            case.name,
            needed >> 20,
            available >> 20
        ))),
        _ => Ok(()),
    }
}
