//! The programs of an experiment on a simulated platform: each is recorded once, and its recording takes its place.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use waykeeper_experiment::cases::Plan;
use waykeeper_experiment::site::{ExecutorKind, Site};
use waykeeper_trace::RecordedPasses;
use waykeeper_trace::recording::RecordingError;
use waykeeper_workload::{PassSource, Passes, Pattern, Phase, Trace, Workload, format_ns, load_trace};

use super::{ToRecord, native, record, store};
use crate::measure::ExecutorError;

/// So many passes of a program are recorded, and then simulated again and again.
const PASSES: usize = 200;
/// Loads and stores that are recorded at most: a minute under valgrind.
const ACCESSES: u64 = 30_000_000;
/// Accesses between two looks at the signal and two steps of the progress.
const LOOK: u64 = 1 << 16;

/// A program and the recording that stands for it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedProgram {
    /// The program's file, as it was typed.
    pub program: String,
    /// The recording.
    pub file: PathBuf,
    /// What its user has to know.
    pub note: String,
}

/// Records the programs of a plan.
pub struct Programs<'a> {
    /// Ends a recording.
    pub stop: &'a AtomicBool,
    /// Learns which program is recorded, and how many accesses of it are.
    pub progress: &'a dyn Fn(&str, u64),
}

impl Programs<'_> {
    /// Puts recordings in the place of the programs that are targets, where the site is a simulated platform. What is kept from
    /// an earlier run is used again.
    ///
    /// # Errors
    /// No valgrind, no place to keep a recording, a program without the passes that are wanted; a stop.
    pub fn replace(&self, plan: &mut Plan, site: &Site) -> Result<Vec<RecordedProgram>, ExecutorError> {
        replace(plan, site, |program, command, passes, file| match file.exists() {
            true => Ok(Vec::new()),
            false => self.record(program, command, passes, file),
        })
        .map_err(|why| if self.stop.load(Ordering::Relaxed) { ExecutorError::Stopped } else { why })
    }

    /// Makes a recording: under another name until it is whole.
    fn record(
        &self,
        program: &str,
        command: &[OsString],
        passes: &Passes,
        file: &Path,
    ) -> Result<Vec<String>, ExecutorError> {
        let unfinished = file.with_extension(format!("{}.part", std::process::id()));
        let made = self.record_to(program, command, passes, &unfinished);
        let kept = made.and_then(|remarks| {
            std::fs::rename(&unfinished, file).map_err(|error| format!("{}: {error}", file.display()))?;
            Ok(remarks)
        });
        if kept.is_err() {
            let _ = std::fs::remove_file(&unfinished);
        }
        kept
    }

    fn record_to(
        &self,
        program: &str,
        command: &[OsString],
        passes: &Passes,
        file: &Path,
    ) -> Result<Vec<String>, ExecutorError> {
        let why = |error: &dyn std::fmt::Display| format!("`{program}` cannot be recorded: {error}");
        let cannot = |error: &dyn std::fmt::Display| ExecutorError::Refused(why(error));
        let _ = std::fs::remove_file(file);
        let opened = File::create_new(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let whole = *passes == Passes::Process;
        let wanted = ToRecord { command, passes, only_passes: (!whole).then_some(PASSES), fetches: true };
        let mut is_part = false;
        let recorded = record(&wanted, Stdio::null, &opened, |accesses| {
            if accesses.is_multiple_of(LOOK) {
                (self.progress)(program, accesses);
            }
            is_part = accesses >= ACCESSES || (accesses.is_multiple_of(LOOK) && self.stop.load(Ordering::Relaxed));
            !is_part
        });
        let (mut writer, recorded) = recorded.map_err(|error| match error {
            RecordingError::Input(_) => ExecutorError::Input(why(&error)),
            error => cannot(&error),
        })?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(cannot(&"it was interrupted"));
        }
        if !whole {
            let seen = writer.recorded_passes();
            if seen.all().is_empty() {
                return Err(cannot(&no_passes(passes, &recorded.remarks)));
            }
            if let (Passes::Markers { .. }, Some(phase)) = (passes, the_phase(passes, seen))
                && let Some(rhythm) = native::rhythm(command, phase, self.stop)
            {
                writer.set_period(rhythm.period_ns());
            }
        }
        if is_part {
            writer.set_part();
        }
        writer.finish().map_err(|error| cannot(&error))?;
        Ok(recorded.remarks)
    }
}

/// The same, of what is kept alone: nothing runs.
///
/// # Errors
/// A program of which no recording is kept, as it is now.
pub fn replace_by_kept(plan: &mut Plan, site: &Site) -> Result<Vec<RecordedProgram>, ExecutorError> {
    replace(plan, site, |program, _, _, file| {
        if file.exists() {
            return Ok(Vec::new());
        }
        Err(ExecutorError::Refused(format!(
            "no recording of `{program}` is kept as the program is now ({} is missing): it was changed, or the recording was \
             deleted",
            file.display()
        )))
    })
}

/// Puts recordings in the place of programs. `make` sees to it that a recording is there, and returns what a user would want to
/// know of it.
fn replace(
    plan: &mut Plan,
    site: &Site,
    make: impl Fn(&str, &[OsString], &Passes, &Path) -> Result<Vec<String>, ExecutorError>,
) -> Result<Vec<RecordedProgram>, ExecutorError> {
    let mut all: Vec<RecordedProgram> = Vec::new();
    if site.executor != ExecutorKind::Sim {
        return Ok(all);
    }
    for case in &mut plan.cases {
        let Pattern::Command { argv, passes } = &case.target.pattern else { continue };
        let recorded = recorded(argv, passes, &make)?;
        let caches = site.core(case.target.core).map(|core| core.caches.clone()).unwrap_or_default();
        let workload = Workload::Trace(described(&recorded.file, passes));
        let pattern = workload.resolve(&caches);
        // What the recording was made for is what was asked for: a phase, or markers at all.
        case.target.pattern = pattern.map_err(|refused| {
            ExecutorError::Input(format!("the recording of `{}` cannot be used: {}", argv[0], refused.why))
        })?;
        if !all.iter().any(|other| other.file == recorded.file) {
            all.push(recorded);
        }
    }
    Ok(all)
}

fn recorded(
    argv: &[String],
    passes: &Passes,
    make: impl Fn(&str, &[OsString], &Passes, &Path) -> Result<Vec<String>, ExecutorError>,
) -> Result<RecordedProgram, ExecutorError> {
    let program = argv.first().cloned().unwrap_or_default();
    let command: Vec<OsString> = argv.iter().map(OsString::from).collect();
    let limits = format!("{PASSES} passes, {ACCESSES} accesses, with fetches");
    let name = store::name(&command, passes, &limits).map_err(|error| format!("`{program}`: {error}"))?;
    let file = store::folder()?.join(name + ".wkt");
    let remarks = make(&program, &command, passes, &file)?;
    let trace = load_trace(&file.to_string_lossy()).map_err(|error| {
        format!("the recording of `{program}`: {error}; delete {} to have it made anew", file.display())
    })?;
    let note = noted(&program, &file, trace.recorded_passes(), passes, &remarks);
    Ok(RecordedProgram { program, file, note })
}

/// The recording as a workload with the same passes.
fn described(file: &Path, passes: &Passes) -> Trace {
    let (source, phase) = match passes {
        Passes::Markers { phase } => (PassSource::Markers, phase.clone()),
        Passes::Functions { .. } => (PassSource::Markers, Some(Phase::Number(0))),
        Passes::Period | Passes::Process | Passes::Cyclictest => (PassSource::Process, None),
    };
    Trace { passes: Some(source), phase, ..Trace::of_file(file.to_string_lossy()) }
}

/// The phase that is meant, where there is one.
fn the_phase(passes: &Passes, seen: &RecordedPasses) -> Option<u32> {
    let phases = seen.phases();
    match passes {
        Passes::Markers { phase: Some(Phase::Number(number)) } => Some(*number),
        Passes::Markers { phase: Some(Phase::Name(name)) } => {
            seen.names.iter().find(|(_, other)| *other == name).map(|(phase, _)| *phase)
        }
        _ if phases.len() == 1 => phases.keys().next().copied(),
        _ => None,
    }
}

fn no_passes(passes: &Passes, remarks: &[String]) -> String {
    let expected = match passes {
        Passes::Functions { .. } => "expected a begin function that it calls, and an end function that returns",
        _ => {
            "expected markers in its source (`waykeeper markers c` prints `waykeeper.h`), `--begin FUNCTION`, each call of which \
             is a pass, or `--passes process`, which takes whole runs of it (`begin` and `passes` in an experiment)"
        }
    };
    let remarks = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) };
    format!("it made no pass while it was recorded{remarks}; {expected}")
}

/// What the user of a recording has to know.
fn noted(program: &str, file: &Path, seen: &RecordedPasses, passes: &Passes, remarks: &[String]) -> String {
    let file = file.display();
    let mut note = format!("`{program}` cannot run on a simulated platform: its recording stands for it ({file}).");
    if *passes != Passes::Process
        && let Some(phase) = the_phase(passes, seen)
    {
        let (count, called) = (seen.of(phase).len(), seen.called(phase));
        note += &format!(" It has {count} passes of `{called}`, which are simulated again and again, ");
        note += &match seen.period_ns {
            Some(period) => format!("one every {}, as the program ran on this machine.", format_ns(period)),
            None => "without pauses between them.".into(),
        };
    }
    for remark in remarks {
        note += &format!(" {remark}.");
    }
    note
}
