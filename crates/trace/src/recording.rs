//! Recording any program's accesses with valgrind's lackey.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Seek, Write};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::fd::AsRawFd;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::error::TraceError;
use crate::foreign::{Lackey, convert};
use crate::write::Writer;

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The tool is missing.
    #[error(
        "recording needs valgrind, which is not on this machine; install it (Debian, Ubuntu, Fedora: package `valgrind`)"
    )]
    NoValgrind,
    /// Nothing came from the tool.
    #[error("no access of `{program}` was seen: valgrind ended with {status}; its own words stand above")]
    Nothing {
        /// The program.
        program: String,
        /// How valgrind ended.
        status: ExitStatus,
    },
    /// The trace could not be read or written.
    #[error("{0}")]
    Trace(#[from] TraceError),
    /// A system call failed.
    #[error("the program cannot be started under valgrind: {0}")]
    Start(std::io::Error),
}

/// How a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With the program.
    ByItself(ExitStatus),
    /// Before, because nobody wanted more; the program was killed.
    Stopped,
}

/// Ends the program if nobody waited for it.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `command` under lackey and writes what it accesses, until it ends or `go_on`, asked after each access with their
/// number, says no. The program has the caller's standard input and standard error, and what `stdout` says as its standard
/// output. Programs that it starts are not recorded.
///
/// # Errors
/// See [`RecordingError`].
pub fn record<W: Write + Seek>(
    command: &[OsString],
    stdout: Stdio,
    fetches: bool,
    writer: &mut Writer<W>,
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<Ended, RecordingError> {
    let system = |error: rustix::io::Errno| RecordingError::Start(error.into());
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(system)?;
    fcntl_setfd(&write, FdFlags::empty()).map_err(system)?;
    let child = Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes", "--basic-counts=no", "--quiet"])
        .arg(format!("--log-fd={}", write.as_raw_fd()))
        .arg("--")
        .args(command)
        .stdin(Stdio::inherit())
        .stdout(stdout)
        .spawn();
    // The pipe ends when the last who can write to it has ended.
    drop(write);
    let mut child = Killed(child.map_err(|error| match error.kind() {
        ErrorKind::NotFound => RecordingError::NoValgrind,
        _ => RecordingError::Start(error),
    })?);
    let mut events = Lackey::new(Box::new(BufReader::with_capacity(1 << 20, File::from(read))));
    let mut stopped = false;
    convert(&mut events, fetches, writer, |accesses| {
        stopped = !go_on(accesses);
        !stopped
    })?;
    if stopped {
        return Ok(Ended::Stopped);
    }
    let status = child.0.wait().map_err(RecordingError::Start)?;
    if writer.accesses() == 0 {
        let program = command.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
        return Err(RecordingError::Nothing { program, status });
    }
    Ok(Ended::ByItself(status))
}
