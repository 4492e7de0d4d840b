//! The simulator behind the files.

use waykeeper_platform::Platform;

use crate::backing::Backing;
use crate::still::Still;

/// The engine of a platform, with nothing running.
///
/// # Errors
/// What the platform lacks for a simulation.
pub fn simulated(_platform: &Platform) -> Result<Box<dyn Backing>, String> {
    Ok(Box::new(Still::default()))
}
