//! Every command to the dies, checked against every timing constraint by a slow and obvious checker.

mod checker;

use super::layout::BankRow;
use super::parameters::Timing;
use crate::time::Ps;

/// A command as the dies see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Closes the row of a bank.
    Precharge { at: Ps, bank: usize },
    /// Opens a row of a bank.
    Activate { at: Ps, bank: usize, row: u32 },
    /// Refreshes a bank until some time; its row is closed.
    Refresh { at: Ps, bank: usize, until: Ps },
    /// Moves a line of the open row.
    Column { at: Ps, bank: usize, row: u32, write: bool },
}

/// The commands that open a row.
pub fn opening(place: BankRow, precharges: bool, activation: Ps, timing: &Timing) -> impl Iterator<Item = Command> {
    let BankRow { bank, row } = place;
    let precharge = precharges.then(|| Command::Precharge { at: activation - timing.trp, bank });
    precharge.into_iter().chain([Command::Activate { at: activation, bank, row }])
}

/// The command that moves a line.
pub fn column(place: BankRow, write: bool, at: Ps) -> Command {
    Command::Column { at, bank: place.bank, row: place.row, write }
}
