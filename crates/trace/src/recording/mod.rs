//! Recording any program's accesses with valgrind's lackey.

mod pipe;

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Seek, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::PoisonError;

use rustix::fd::AsRawFd;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::error::TraceError;
use crate::foreign::{EventUse, ForeignEvent, Lackey, convert_wanted};
use crate::marked::RecordedPasses;
use crate::write::Writer;
use pipe::{Pipe, Seen};

pub use pipe::SuccessorProgram;

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A mistake in the command or in its passes.
    #[error("{0}")]
    Input(String),
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
    /// The program started another one in its place.
    #[error(
        "`{program}` starts another program in its place, which valgrind does not follow; record that program: `{}`",
        typed(&.by.command)
    )]
    Replaced {
        /// The program.
        program: String,
        /// The other one.
        by: SuccessorProgram,
    },
    /// The trace could not be read or written.
    #[error("{0}")]
    Trace(#[from] TraceError),
    /// A system call failed.
    #[error("the program cannot be started under valgrind: {0}")]
    Start(std::io::Error),
}

/// Events that are left out between two questions whether to go on.
const LOOK: u64 = 1 << 16;

/// A command as it would be typed.
pub fn typed(command: &[OsString]) -> String {
    command.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// How a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Termination {
    /// With the program.
    ByItself(ExitStatus),
    /// Before, because nobody wanted more; the program was killed.
    Stopped,
}

/// Looks at a program while it is recorded: where its passes begin and end, and what of it is recorded.
pub trait RecordingWatch {
    /// What the program needs to be given: variables, and descriptors that it inherits.
    fn prepare(&mut self, command: &mut Command);

    /// The program runs as this process. It has made its first access.
    ///
    /// # Errors
    /// Why its passes cannot be seen.
    fn started(&mut self, process: u32) -> Result<(), String>;

    /// An event, before it is recorded; so many records are there already.
    ///
    /// # Errors
    /// Why its passes cannot be seen any more.
    fn sees(&mut self, event: &ForeignEvent, records: u64) -> Result<EventUse, String>;

    /// The passes, at the end.
    fn finish(&mut self) -> RecordedPasses;
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
/// number, says no; while nothing is recorded it is asked with 0. The program has the caller's standard input and standard
/// error, what `stdout` says as its standard output, and the caller's environment where it has none of its own. Programs and
/// children that it starts are not recorded.
///
/// # Errors
/// See [`RecordingError`].
pub fn record<W: Write + Seek>(
    command: &[OsString],
    environment: Option<&[(OsString, OsString)]>,
    stdout: Stdio,
    fetches: bool,
    watch: &mut dyn RecordingWatch,
    writer: &mut Writer<W>,
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<Termination, RecordingError> {
    let system = |error: rustix::io::Errno| RecordingError::Start(error.into());
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(system)?;
    fcntl_setfd(&write, FdFlags::empty()).map_err(system)?;
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=lackey", "--trace-mem=yes", "--basic-counts=no", "--quiet", "--child-silent-after-fork=yes"])
        .arg(format!("--log-fd={}", write.as_raw_fd()))
        .arg("--")
        .args(command)
        .stdin(Stdio::inherit())
        .stdout(stdout);
    if let Some(environment) = environment {
        valgrind.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
    }
    watch.prepare(&mut valgrind);
    let child = valgrind.spawn();
    // The pipe ends when the last who can write to it has ended.
    drop(write);
    let mut child = Killed(child.map_err(|error| match error.kind() {
        ErrorKind::NotFound => RecordingError::NoValgrind,
        _ => RecordingError::Start(error),
    })?);
    let process = child.0.id();
    let seen = Seen::default();
    let pipe = Pipe::new(File::from(read), process, Seen::clone(&seen));
    let mut events = Lackey::new(Box::new(BufReader::with_capacity(1 << 20, pipe)));
    let (mut stopped, mut is_started, mut left_out) = (false, false, 0u64);
    let mut seen_last = false;
    let go_on = std::cell::RefCell::new(&mut go_on);
    let wanted = |event: &ForeignEvent, records: u64| {
        let cannot = |why| TraceError::Watch(why);
        if !std::mem::replace(&mut is_started, true) {
            watch.started(process).map_err(cannot)?;
        }
        let mut wanted = watch.sees(event, records).map_err(cannot)?;
        // Whoever waits for the first pass of a program wants to be able to end that.
        left_out = if wanted == EventUse::LeaveOut { left_out + 1 } else { 0 };
        if left_out == LOOK {
            left_out = 0;
            wanted = if go_on.borrow_mut()(0) { wanted } else { EventUse::End };
        }
        seen_last |= wanted == EventUse::End;
        Ok(wanted)
    };
    convert_wanted(&mut events, fetches, writer, wanted, &mut |accesses| {
        stopped = !go_on.borrow_mut()(accesses);
        !stopped
    })?;
    writer.set_passes(watch.finish());
    if stopped || seen_last {
        return Ok(Termination::Stopped);
    }
    let program = || command.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(by) = seen.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(RecordingError::Replaced { program: program(), by });
    }
    let status = child.0.wait().map_err(RecordingError::Start)?;
    // Whoever watches may have wanted nothing of it.
    if !is_started {
        return Err(RecordingError::Nothing { program: program(), status });
    }
    Ok(Termination::ByItself(status))
}
