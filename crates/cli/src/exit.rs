//! Exit statuses.

use std::process::ExitCode;

use crate::failure::Failure;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, and no budget was seen broken.
    Done,
    /// A budget was broken.
    BudgetBroken,
    /// Bad input.
    BadInput,
    /// This machine cannot do it.
    CannotDo,
    /// Too little data to judge a budget.
    TooThin,
    /// Ctrl-C: 128 + SIGINT, as shells have it.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::BudgetBroken => 1,
            Exit::BadInput => 2,
            Exit::CannotDo => 3,
            Exit::TooThin => 4,
            Exit::Interrupted => 130,
        })
    }
}

impl From<&Failure> for Exit {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Input(_) | Failure::Platform(_) | Failure::Policy(_) => Self::BadInput,
            Failure::Lacking(_) | Failure::NoOffer(_) => Self::CannotDo,
            Failure::Executor(_) | Failure::Write { .. } | Failure::Output(_) => Self::CannotDo,
            Failure::Stopped => Self::Interrupted,
        }
    }
}
