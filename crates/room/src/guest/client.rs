//! The room that this process is in, if it is in one.

use waykeeper_executor::ExecutorError;

use crate::socket::client::{Client, VARIABLE};

/// A connection to the room of this process; none outside of rooms.
///
/// # Errors
/// A room that does not answer.
pub fn client() -> Result<Option<Client>, ExecutorError> {
    Client::of_environment().map_err(|error| {
        let socket = std::env::var_os(VARIABLE).unwrap_or_default();
        let why =
            format!("the room at {} does not answer ({error}); outside of rooms unset {VARIABLE}", socket.display());
        ExecutorError::Refused(why)
    })
}
