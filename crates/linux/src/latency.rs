//! `/dev/cpu_dma_latency`: while a request of 0 us is held open, no core enters an idle state that takes time to leave.

use std::fs::File;
use std::io::{self, Write};

/// A held request; dropping it takes it back.
#[derive(Debug)]
pub struct NoIdleStates {
    _file: File,
}

/// Asks for a wake-up latency of 0 us.
///
/// # Errors
/// Where the device is absent or may not be written.
pub fn forbid_idle_states() -> io::Result<NoIdleStates> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&0i32.to_ne_bytes())?;
    Ok(NoIdleStates { _file: file })
}
