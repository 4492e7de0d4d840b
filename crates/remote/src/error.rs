//! Why a command on a board came to nothing: one paragraph each.

/// Why a command on a board came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// A mistake in an option or a file here. Nothing was done.
    #[error("{0}")]
    Input(String),
    /// The connection, the board, or what was fetched.
    #[error("{0}")]
    Board(String),
    /// The command goes on there, or may; `--attach` follows it.
    #[error("{0}")]
    GoesOn(String),
}

impl RemoteError {
    /// An error about something on the board.
    pub(crate) fn on(board: &impl std::fmt::Display, what: impl std::fmt::Display) -> Self {
        Self::Board(format!("{board}: {what}"))
    }
}
