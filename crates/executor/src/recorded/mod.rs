//! A user's program as a recording: its accesses and its passes, for simulated platforms.
//!
//! [`record`] runs it under valgrind's lackey once. [`Programs`] does that for the programs of an experiment, and keeps the
//! recordings by what they were made from.

mod functions;
mod markers;
mod native;
mod programs;
mod store;

use std::ffi::OsString;
use std::fs::File;
use std::io::Seek;
use std::process::Stdio;

use waykeeper_trace::recording::{self, RecordingError, RecordingWatch, Termination, typed};
use waykeeper_trace::{TraceError, Writer};
use waykeeper_workload::Passes;

use functions::FunctionWatch;
use markers::MarkerWatch;
pub use programs::{Programs, RecordedProgram, replace_by_kept};

use crate::host::functions;

/// How a program is recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct ToRecord<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// Where its passes begin and end. Markers that it makes are seen in any case but `Functions`.
    pub passes: &'a Passes,
    /// Nothing before the first pass is recorded, and the recording ends with so many.
    pub only_passes: Option<usize>,
    /// Instruction fetches are recorded too.
    pub fetches: bool,
}

/// What is known of a recording beyond what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingEnd {
    /// How it ended.
    pub ended: Termination,
    /// Marks that belong to no pass, and other acts of the program that its user would want to know.
    pub remarks: Vec<String>,
}

/// A program that is started in the place of another one may start one in its place, so often.
const MOST_REPLACEMENTS: usize = 4;

/// Records a program into an empty file, until it ends, has made its passes, or `go_on`, asked after each access with their
/// number, says no. `stdout` is where its output goes. A script or a launcher that starts another program in its place
/// (`execve`) is recorded as that program.
///
/// # Errors
/// A machine without valgrind, a program that cannot be started, passes that cannot be seen in a recording.
pub fn record(
    wanted: &ToRecord<'_>,
    stdout: impl Fn() -> Stdio,
    file: &File,
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<(Writer<File>, RecordingEnd), RecordingError> {
    let (mut command, mut environment) = (wanted.command.to_vec(), None::<Vec<_>>);
    let mut replacements = 0;
    loop {
        file.set_len(0).map_err(TraceError::from)?;
        let mut file = file.try_clone().map_err(TraceError::from)?;
        file.rewind().map_err(TraceError::from)?;
        let mut writer = Writer::new(file, &format!("{} (valgrind lackey)", typed(&command)), wanted.fetches)?;
        let mut watch = Watching::open(&ToRecord { command: &command, ..wanted.clone() })?;
        let (seen, fetches) = (watch.as_watch(), wanted.fetches);
        match recording::record(&command, environment.as_deref(), stdout(), fetches, seen, &mut writer, &mut go_on) {
            Ok(ended) => {
                let mut remarks = watch.remarks();
                if replacements > 0 {
                    remarks.push(format!(
                        "it starts another program in its place, which was recorded: {}",
                        typed(&command)
                    ));
                }
                return Ok((writer, RecordingEnd { ended, remarks }));
            }
            Err(RecordingError::Replaced { by, .. }) if replacements < MOST_REPLACEMENTS => {
                (command, environment) = (by.command, Some(by.environment));
                replacements += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

enum Watching {
    Markers(MarkerWatch),
    Functions(FunctionWatch),
}

impl Watching {
    fn open(wanted: &ToRecord<'_>) -> Result<Self, RecordingError> {
        let cannot = |why: String| RecordingError::Trace(TraceError::Watch(why));
        match wanted.passes {
            Passes::Functions { begin, end } => {
                let program = wanted.command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
                let [first, last] = functions(&program, begin, end).map_err(RecordingError::Input)?;
                let watch = FunctionWatch::new(first, last, called(begin, end), wanted.only_passes);
                Ok(Self::Functions(watch.map_err(cannot)?))
            }
            Passes::Cyclictest => Err(cannot(
                "cyclictest measures the wake-ups of Linux, and nothing wakes on a simulated platform".into(),
            )),
            Passes::Period => {
                let why = "a recording has no time, and so no period; expected markers or functions";
                Err(RecordingError::Input(why.into()))
            }
            Passes::Markers { phase } => {
                let watch = MarkerWatch::new(phase.clone(), wanted.only_passes);
                Ok(Self::Markers(watch.map_err(|error| cannot(error.to_string()))?))
            }
            Passes::Process => {
                let watch = MarkerWatch::new(None, None);
                Ok(Self::Markers(watch.map_err(|error| cannot(error.to_string()))?))
            }
        }
    }

    fn as_watch(&mut self) -> &mut dyn RecordingWatch {
        match self {
            Self::Markers(watch) => watch,
            Self::Functions(watch) => watch,
        }
    }

    fn remarks(&self) -> Vec<String> {
        match self {
            Self::Markers(watch) => watch.remarks(),
            Self::Functions(watch) => watch.remarks(),
        }
    }
}

/// The name of the phase that stands for passes from function to function.
fn called(begin: &str, end: &str) -> String {
    if begin == end { begin.to_owned() } else { format!("{begin} to {end}") }
}
