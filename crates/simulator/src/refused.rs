//! What an engine cannot do, and why.

use waykeeper_platform::Platform;
use waykeeper_workload::Pattern;

/// Why an engine was not built or a control not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Refused {
    /// Key of what was refused, such as `mitigations.foo`, `memory` or `targets.0.workload`.
    pub what: String,
    /// The reason.
    pub why: String,
}

impl Refused {
    /// A refusal of what a key names, with the reason.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

/// Whether a pattern can run on a simulated platform at all.
///
/// # Errors
/// External programs, and events without any access.
pub fn can_run(platform: &Platform, pattern: &Pattern) -> Result<(), Refused> {
    let refuse = |why: String| Err(Refused::new("workload", why));
    match pattern {
        Pattern::Command { argv } => {
            let program = argv.first().map(String::as_str).unwrap_or_default();
            refuse(format!("`{program}` is an external program; a simulated platform runs access patterns only"))
        }
        Pattern::Random {
            data_accesses: 0,
            data_modifies: 0,
            random_counts: false,
            code_calls: 0,
            event_data_lines: 0,
            event_code_lines: 0,
            event_stride_lines: 1,
            ..
        } => refuse("it makes no access at all; `data_accesses` or `event_data_lines` above 0 would do".into()),
        _ if platform.memory.is_none() => Err(Refused::new("memory", "the platform has no memory timing")),
        _ => Ok(()),
    }
}
