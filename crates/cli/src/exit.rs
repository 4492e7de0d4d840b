//! Exit statuses.

use std::process::ExitCode;

use waykeeper_control::probe::NotMeasured;
use waykeeper_control::{ApplyError, ApplyFailure, NotCarriedOut, VerifyError};
use waykeeper_remote::RemoteError;

use crate::failure::Failure;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, and no budget was seen broken.
    Done,
    /// A budget was broken.
    BudgetBroken,
    /// Nothing on offer holds a budget.
    NothingHolds,
    /// A case is worse than in the run that it is compared with.
    Worse,
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
    /// Too little data to judge a budget, a setting or a comparison.
    TooThin,
    /// A command goes on on a board that is not heard any more.
    GoesOn,
    /// Ctrl-C: 128 + SIGINT, as shells have it.
    Interrupted,
    /// As another command ended that was run: in a room, or on a board.
    Of(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::BudgetBroken | Exit::NothingHolds | Exit::Worse => 1,
            Exit::DoesNotHold | Exit::OthersLeft | Exit::SeriousFound => 1,
            Exit::BadInput => 2,
            Exit::CannotDo => 3,
            Exit::TooThin => 4,
            Exit::GoesOn => 5,
            Exit::Interrupted => 130,
            Exit::Of(status) => status,
        })
    }
}

impl From<&Failure> for Exit {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Input(_) | Failure::Bad(_) | Failure::Platform(_) | Failure::Policy(_) => Self::BadInput,
            Failure::Machine(_) | Failure::Room(_) | Failure::Packets(_) => Self::CannotDo,
            Failure::Lacking(_) | Failure::NoOffer(_) | Failure::NotWatched(_) => Self::CannotDo,
            Failure::Executor(_) | Failure::Write { .. } | Failure::Output(_) | Failure::Bundle(_) => Self::CannotDo,
            Failure::Apply(ApplyError::Refused(NotCarriedOut::BadStep(_) | NotCarriedOut::Input(_))) => Self::BadInput,
            Failure::Apply(ApplyError::RolledBack { cause: ApplyFailure::Interrupted }) => Self::Interrupted,
            Failure::Apply(ApplyError::RolledBack { cause: ApplyFailure::Refused(NotCarriedOut::Input(_)) }) => {
                Self::BadInput
            }
            Failure::Apply(_) | Failure::Restore(_) | Failure::Status(_) | Failure::Follow(_) => Self::CannotDo,
            Failure::Verify(VerifyError::NotMeasured(NotMeasured::Interrupted)) => Self::Interrupted,
            Failure::Verify(_) => Self::CannotDo,
            Failure::Stopped => Self::Interrupted,
            Failure::Remote(RemoteError::Input(_)) => Self::BadInput,
            Failure::Remote(RemoteError::Board(_)) => Self::CannotDo,
            Failure::Remote(RemoteError::GoesOn(_)) => Self::GoesOn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page as rows: status, name in the program.
    fn documented() -> Vec<(String, String)> {
        let rows = include_str!("../../../docs/exit-status.md").lines().filter(|line| line.starts_with('|')).skip(2);
        let cell = |text: &str| text.trim().trim_matches('`').to_owned();
        rows.map(|row| {
            let cells: Vec<&str> = row.split('|').collect();
            (cell(cells[1]), cell(cells[2]))
        })
        .collect()
    }

    /// The one after it; a new status does not compile before it stands here.
    fn next(exit: Exit) -> Option<Exit> {
        Some(match exit {
            Exit::Done => Exit::BudgetBroken,
            Exit::BudgetBroken => Exit::NothingHolds,
            Exit::NothingHolds => Exit::Worse,
            Exit::Worse => Exit::DoesNotHold,
            Exit::DoesNotHold => Exit::OthersLeft,
            Exit::OthersLeft => Exit::SeriousFound,
            Exit::SeriousFound => Exit::BadInput,
            Exit::BadInput => Exit::CannotDo,
            Exit::CannotDo => Exit::TooThin,
            Exit::TooThin => Exit::GoesOn,
            Exit::GoesOn => Exit::Interrupted,
            Exit::Interrupted => Exit::Of(77),
            Exit::Of(_) => return None,
        })
    }

    #[test]
    fn the_page_lists_every_status_and_no_other() {
        let program: Vec<(String, String)> = std::iter::successors(Some(Exit::Done), |exit| next(*exit))
            .map(|exit| {
                let name = format!("{exit:?}");
                let status = (0..=u8::MAX).find(|status| ExitCode::from(*status) == ExitCode::from(exit)).unwrap();
                let of_another = matches!(exit, Exit::Of(_));
                let shown = if of_another { "any".into() } else { status.to_string() };
                (shown, name.split('(').next().unwrap_or_default().to_owned())
            })
            .collect();
        assert_eq!(documented(), program);
    }
}
