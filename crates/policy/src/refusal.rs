//! Why a policy cannot be carried out on a machine.

/// Why a policy cannot be carried out on a machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Path of the key in the policy, such as `classes.0.l3`; empty where no key alone is to blame.
    pub key: String,
    /// What was asked, what there is, and what would do.
    pub message: String,
    /// Whether the machine lacks something, rather than the policy being wrong for it.
    pub lacking: bool,
}

impl Refusal {
    /// The policy asks for something wrong.
    pub fn wrong(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into(), lacking: false }
    }

    /// The machine does not have it.
    pub fn lacking(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into(), lacking: true }
    }
}
