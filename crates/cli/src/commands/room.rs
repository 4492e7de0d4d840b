//! The room that this process is in, if it is in one.

use waykeeper_executor::ExecutorError;
use waykeeper_room::socket::client::{Client, VARIABLE};

use crate::failure::Failure;

/// A connection to the room.
///
/// # Errors
/// A room that does not answer.
pub fn client() -> Result<Option<Client>, Failure> {
    Client::of_environment().map_err(|error| {
        let socket = std::env::var_os(VARIABLE).unwrap_or_default();
        let why =
            format!("the room at {} does not answer ({error}); outside of rooms unset {VARIABLE}", socket.display());
        ExecutorError::Refused(why).into()
    })
}
