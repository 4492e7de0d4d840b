//! What an engine cannot do, and why.

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
