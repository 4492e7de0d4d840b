//! Why a session ended without a result.

use std::io;
use std::path::PathBuf;

use waykeeper_executor::ExecutorError;
use waykeeper_experiment::InputError;
use waykeeper_platform::PlatformError;
use waykeeper_policy::PolicyError;

/// Why a session ended without a result: one paragraph each.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A mistake in the experiment or in an option.
    #[error("{0}")]
    Input(#[from] InputError),
    /// A mistake in a platform file.
    #[error("{0}")]
    Platform(#[from] PlatformError),
    /// A mistake in a policy.
    #[error("{0}")]
    Policy(#[from] PolicyError),
    /// The place cannot do what was asked, or it was stopped before anything was measured.
    #[error("{0}")]
    Executor(#[from] ExecutorError),
    /// The run's folder cannot be written.
    #[error("{}: the run cannot be written: {error}", folder.display())]
    Write {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl SessionError {
    /// Whether it was stopped before anything was measured.
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Executor(ExecutorError::Stopped))
    }
}

impl From<SessionError> for ExecutorError {
    /// For whoever runs sessions as a place of its own.
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Executor(error) => error,
            SessionError::Input(_) | SessionError::Platform(_) | SessionError::Policy(_) => {
                Self::Input(error.to_string())
            }
            SessionError::Write { .. } => Self::Refused(error.to_string()),
        }
    }
}
