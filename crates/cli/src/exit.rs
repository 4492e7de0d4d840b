//! Exit statuses.

use std::process::ExitCode;

use waykeeper_control::probe::NotMeasured;
use waykeeper_control::{ApplyError, Cause, Refusal, VerifyError};

use crate::failure::Failure;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, and no budget was seen broken.
    Done,
    /// A budget was broken.
    BudgetBroken,
    /// A setting does not hold.
    DoesNotHold,
    /// What others have changed was left as it is.
    OthersLeft,
    /// The machine has something serious against it.
    SeriousFound,
    /// Bad input.
    BadInput,
    /// This machine cannot do it.
    CannotDo,
    /// Too little data to judge a budget, or a setting.
    TooThin,
    /// Ctrl-C: 128 + SIGINT, as shells have it.
    Interrupted,
    /// As another command ended that was run.
    Of(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::BudgetBroken | Exit::DoesNotHold | Exit::OthersLeft | Exit::SeriousFound => 1,
            Exit::BadInput => 2,
            Exit::CannotDo => 3,
            Exit::TooThin => 4,
            Exit::Interrupted => 130,
            Exit::Of(status) => status,
        })
    }
}

impl From<&Failure> for Exit {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Input(_) | Failure::Bad(_) | Failure::Platform(_) | Failure::Policy(_) => Self::BadInput,
            Failure::Machine(_) | Failure::Room(_) => Self::CannotDo,
            Failure::Lacking(_) | Failure::NoOffer(_) | Failure::NotWatched(_) => Self::CannotDo,
            Failure::Executor(_) | Failure::Write { .. } | Failure::Output(_) => Self::CannotDo,
            Failure::Apply(ApplyError::Refused(Refusal::BadStep(_) | Refusal::Input(_))) => Self::BadInput,
            Failure::Apply(ApplyError::RolledBack { cause: Cause::Interrupted }) => Self::Interrupted,
            Failure::Apply(ApplyError::RolledBack { cause: Cause::Refused(Refusal::Input(_)) }) => Self::BadInput,
            Failure::Apply(_) | Failure::Restore(_) | Failure::Status(_) => Self::CannotDo,
            Failure::Verify(VerifyError::NotMeasured(NotMeasured::Interrupted)) => Self::Interrupted,
            Failure::Verify(_) => Self::CannotDo,
            Failure::Stopped => Self::Interrupted,
        }
    }
}
