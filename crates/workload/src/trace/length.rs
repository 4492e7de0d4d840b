//! How long a pass of a trace is, in what the simulator is shown of it.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

use waykeeper_programs::Spec;

use super::TraceSource;
use crate::pattern::Pattern;
use crate::stream::WorkloadStep;

/// One pass of a trace, counted from its beginning to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassLength {
    /// Accesses that are shown.
    pub accesses: u64,
    /// Instructions: those accesses, and what stands between them.
    pub instructions: u64,
}

impl Pattern {
    /// How long the first pass of a trace is; none for other patterns, and where its file is gone. The first question
    /// about a program goes through all of it, which takes about as long as running it.
    pub fn pass_length(&self) -> Option<PassLength> {
        let Self::Trace { source, line_bytes, .. } = self else { return None };
        let TraceSource::Program(spec) = source else { return self.count_pass() };
        // A program's specification decides all of its pass; a file may change.
        static COUNTED: OnceLock<Mutex<HashMap<(Spec, u64), PassLength>>> = OnceLock::new();
        let counted = || COUNTED.get_or_init(Mutex::default).lock().unwrap_or_else(|e| e.into_inner());
        if let Some(length) = counted().get(&(*spec, *line_bytes)) {
            return Some(*length);
        }
        let length = self.count_pass()?;
        counted().insert((*spec, *line_bytes), length);
        Some(length)
    }

    fn count_pass(&self) -> Option<PassLength> {
        let mut length = PassLength { accesses: 0, instructions: 0 };
        for step in self.stream(0) {
            match step {
                WorkloadStep::Access(_) => {
                    length.accesses += 1;
                    length.instructions += 1;
                }
                WorkloadStep::Compute { instructions, .. } => length.instructions += instructions,
                WorkloadStep::End => return Some(length),
                WorkloadStep::Start
                | WorkloadStep::Wait(_)
                | WorkloadStep::Release { .. }
                | WorkloadStep::Mispredicted { .. } => {}
            }
        }
        None
    }
}
