//! Every command that dies are given, checked against every timing constraint by a slow and obvious checker.

mod checker;

use super::layout::BankRow;
use super::parameters::Timing;

/// A command as the dies see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Closes the row of a bank.
    Precharge { at: u64, bank: usize },
    /// Opens a row of a bank.
    Activate { at: u64, bank: usize, row: u32 },
    /// Refreshes a bank until some time; its row is closed.
    Refresh { at: u64, bank: usize, until: u64 },
    /// Moves a line of the open row.
    Column { at: u64, bank: usize, row: u32, write: bool },
}

/// The commands that open a row.
pub fn opening(place: BankRow, precharges: bool, activation: u64, timing: &Timing) -> impl Iterator<Item = Command> {
    let BankRow { bank, row } = place;
    let precharge = precharges.then(|| Command::Precharge { at: activation - timing.trp, bank });
    precharge.into_iter().chain([Command::Activate { at: activation, bank, row }])
}

/// The command that moves a line.
pub fn column(place: BankRow, write: bool, at: u64) -> Command {
    Command::Column { at, bank: place.bank, row: place.row, write }
}
