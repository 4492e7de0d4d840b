//! Why a command ended without a result: one paragraph each.

use std::io;
use std::path::PathBuf;

use waykeeper_bundle::BundleError;
use waykeeper_control::{ApplyError, FollowError, RestoreError, StatusError, VerifyError};
use waykeeper_executor::ExecutorError;
use waykeeper_experiment::InputError;
use waykeeper_kpi::KpiError;
use waykeeper_packets::role::RoleError;
use waykeeper_platform::PlatformError;
use waykeeper_policy::PolicyError;
use waykeeper_remote::RemoteError;
use waykeeper_search::hunt::HuntError;
use waykeeper_search::tune::TuneError;
use waykeeper_session::SessionError;

/// Why a command ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A mistake in a file or an option.
    #[error("{0}")]
    Input(#[from] InputError),
    /// A mistake in an option.
    #[error("{0}")]
    Bad(String),
    /// A room cannot be made here.
    #[error("{0}")]
    Room(String),
    /// A mistake in a platform file.
    #[error("{0}")]
    Platform(#[from] PlatformError),
    /// A mistake in a policy, or one that does not fit the machine.
    #[error("{0}")]
    Policy(#[from] PolicyError),
    /// The machine lacks what a policy needs.
    #[error("{0}")]
    Lacking(PolicyError),
    /// Nothing can be planned for this machine.
    #[error("{0}")]
    NoOffer(String),
    /// A plan was not applied.
    #[error("{0}")]
    Apply(#[from] ApplyError),
    /// What was there before could not be put back.
    #[error("{0}")]
    Restore(#[from] RestoreError),
    /// Cgroups cannot be followed.
    #[error("{0}")]
    Follow(#[from] FollowError),
    /// What is applied is unknown.
    #[error("{0}")]
    Status(#[from] StatusError),
    /// Whether it is in force is unknown.
    #[error("{0}")]
    Verify(#[from] VerifyError),
    /// There is nothing to watch.
    #[error("{0}")]
    NotWatched(String),
    /// The place cannot do what was asked.
    #[error("{0}")]
    Executor(ExecutorError),
    /// The run's folder could not be written.
    #[error("{}: the run cannot be written: {error}; name another folder with --out", folder.display())]
    Write {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// An archive could not be written.
    #[error("{0}")]
    Bundle(#[from] BundleError),
    /// Standard output could not be written.
    #[error("the output cannot be written: {0}")]
    Output(io::Error),
    /// A machine cannot be read, recorded, probed or measured.
    #[error("{0}")]
    Machine(String),
    /// A command on a board came to nothing, or goes on there.
    #[error("{0}")]
    Remote(#[from] RemoteError),
    /// Packets cannot be sent or received, or nobody answers.
    #[error("{0}")]
    Packets(RoleError),
    /// Ctrl-C before anything was measured.
    #[error("interrupted before anything was measured; nothing was written")]
    Stopped,
}

impl From<ExecutorError> for Failure {
    fn from(error: ExecutorError) -> Self {
        match error {
            ExecutorError::Stopped => Self::Stopped,
            ExecutorError::Input(why) => Self::Bad(why),
            refused @ ExecutorError::Refused(_) => Self::Executor(refused),
        }
    }
}

impl From<RoleError> for Failure {
    fn from(error: RoleError) -> Self {
        match error {
            RoleError::Stopped => Self::Stopped,
            other => Self::Packets(other),
        }
    }
}

impl From<TuneError> for Failure {
    fn from(error: TuneError) -> Self {
        match error {
            TuneError::Session(error) => error.into(),
            TuneError::TooShort(error) => error.into(),
            error @ TuneError::Write { .. } => Self::Machine(error.to_string()),
        }
    }
}

impl From<HuntError> for Failure {
    fn from(error: HuntError) -> Self {
        match error {
            HuntError::Session(error) => error.into(),
            HuntError::TooShort(error) => error.into(),
        }
    }
}

impl From<KpiError> for Failure {
    fn from(error: KpiError) -> Self {
        match error {
            KpiError::Input(error) => error.into(),
            KpiError::Session(error) => error.into(),
            error @ KpiError::Write { .. } => Self::Machine(error.to_string()),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Input(error) => error.into(),
            SessionError::Platform(error) => error.into(),
            SessionError::Policy(error) => error.into(),
            SessionError::Executor(error) => error.into(),
            SessionError::Write { folder, error } => Self::Write { folder, error },
        }
    }
}
