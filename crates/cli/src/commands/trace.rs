//! `waykeeper trace`: records a program, or shows what a recording holds.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use waykeeper_executor::ExecutorError;
use waykeeper_executor::recorded::{RecordingEnd, ToRecord, record as record_command};
use waykeeper_experiment::InputError;
use waykeeper_platform::explain::read_toml_text;
use waykeeper_report::TraceSummary;
use waykeeper_trace::recording::{RecordingError, Termination, typed};
use waykeeper_trace::{TraceError, Writer};
use waykeeper_workload::{Passes, Pattern, Phase, Spec, TraceSource, Workload, find_bundled};

use super::output::{Kind, print, print_json, say};
use super::target_program::check_program;
use crate::arguments::Trace as Arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop;

/// Accesses between two looks at the signal and two steps of the progress.
const LOOK: u64 = 1 << 16;

/// Records, or shows what a recording holds.
pub fn trace(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(file) = &arguments.info {
        return info(file, arguments.json);
    }
    let (source, out) = source_and_name(arguments)?;
    if let Source::Command(command) = &source
        && let Some(program) = command.first()
    {
        check_program(program, &format!("-- {}", typed(command)))?;
    }
    let out = arguments.out.clone().unwrap_or(out);
    let file = File::create_new(&out).map_err(|error| -> Failure {
        let option = format!("--out {}", out.display());
        match error.kind() {
            ErrorKind::AlreadyExists => {
                InputError::in_option(option, format!("{error}; expected the name of a new file")).into()
            }
            _ => Failure::Machine(format!("{option}: it cannot be written: {error}; another name would do")),
        }
    })?;
    let recorded = record(arguments, &source, file);
    if recorded.is_err() {
        let _ = std::fs::remove_file(&out);
    }
    let (end, interrupted) = recorded?;
    if let Some(RecordingEnd { ended, remarks }) = end {
        if let Termination::ByItself(status) = ended
            && !status.success()
        {
            say(Kind::Note, &format!("the program ended with {status}"));
        }
        remarks.iter().for_each(|remark| say(Kind::Note, remark));
    }
    info(&out, arguments.json)?;
    Ok(if interrupted { Exit::Interrupted } else { Exit::Done })
}

/// What is recorded.
pub(super) enum Source {
    Command(Vec<OsString>),
    Program(Spec),
}

/// What is recorded, and what its file is called where nobody says.
pub(super) fn source_and_name(arguments: &Arguments) -> Result<(Source, PathBuf), Failure> {
    let Some(name) = &arguments.workload else {
        let program = Path::new(arguments.command.first().map_or("".as_ref(), OsString::as_os_str));
        let stem = program.file_name().unwrap_or("program".as_ref()).to_string_lossy().into_owned();
        return Ok((Source::Command(arguments.command.clone()), PathBuf::from(stem + ".wkt")));
    };
    let refuse = |message: String| InputError::in_option(format!("--workload {name}"), message);
    let parsed = find_bundled(name).and_then(|bundled| read_toml_text::<Workload>(bundled.text).ok());
    match parsed.and_then(|workload| workload.resolve(&Default::default()).ok()) {
        Some(Pattern::Trace { source: TraceSource::Program(spec), .. }) => {
            Ok((Source::Program(spec), PathBuf::from(format!("{name}.wkt"))))
        }
        _ => {
            let programs = waykeeper_workload::bundled().iter().filter(|b| b.text.contains("program = "));
            let names: Vec<_> = programs.map(|bundled| bundled.name).collect();
            Err(refuse(format!("no bundled program is called that; expected one of {}", names.join(", "))).into())
        }
    }
}

/// Records into a file. Says how the program ended, and whether it was interrupted.
fn record(arguments: &Arguments, source: &Source, file: File) -> Result<(Option<RecordingEnd>, bool), Failure> {
    let cannot = |error: &dyn std::fmt::Display| Failure::from(ExecutorError::Refused(error.to_string()));
    let stop = stop::on_ctrl_c();
    let bar = spinner();
    let limit = arguments.limit.unwrap_or(u64::MAX);
    let mut is_part = false;
    let go_on = |accesses: u64| {
        if accesses.is_multiple_of(LOOK) {
            bar.set_position(accesses);
        }
        is_part = accesses >= limit || (accesses.is_multiple_of(LOOK) && stop.load(Ordering::Relaxed));
        !is_part
    };
    let (mut writer, end) = match source {
        Source::Command(command) => {
            let passes = passes(arguments);
            let only_passes = arguments.most_passes.map(|most| most as usize);
            let wanted = ToRecord { command, passes: &passes, only_passes, fetches: arguments.instructions };
            // Under --json the standard output is the JSON's alone.
            let stdout = || if arguments.json { std::io::stderr().into() } else { Stdio::inherit() };
            let recorded = record_command(&wanted, stdout, &file, go_on);
            let (writer, end) = recorded.map_err(|error| match error {
                RecordingError::Input(why) => Failure::Bad(why),
                error => cannot(&error),
            })?;
            if writer.recorded_passes().all().is_empty() && (only_passes.is_some() || arguments.begin.is_some()) {
                let expected = "expected markers in its source (`waykeeper markers c` prints `waykeeper.h`), or functions that \
                                it calls (--begin, --end)";
                return Err(cannot(&format!("the program made no pass while it was recorded; {expected}")));
            }
            (writer, Some(end))
        }
        Source::Program(spec) => {
            let described = format!("{spec} (from inside)");
            let mut writer = Writer::new(file, &described, false).map_err(|error| cannot(&error))?;
            waykeeper_workload::record_program(*spec, &mut writer, go_on).map_err(|error| cannot(&error))?;
            (writer, None)
        }
    };
    bar.finish_and_clear();
    if is_part {
        writer.set_part();
    }
    writer.finish().map_err(|error| cannot(&error))?;
    Ok((end, interrupted(&stop)))
}

/// Where passes of the program begin and end.
fn passes(arguments: &Arguments) -> Passes {
    match &arguments.begin {
        Some(begin) => {
            Passes::Functions { begin: begin.clone(), end: arguments.end.clone().unwrap_or_else(|| begin.clone()) }
        }
        None => Passes::Markers { phase: arguments.phase.as_deref().map(phase) },
    }
}

/// A phase as it is typed: a number, or a name.
fn phase(typed: &str) -> Phase {
    typed.parse().map_or_else(|_| Phase::Name(typed.to_owned()), Phase::Number)
}

fn interrupted(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

/// On a terminal only.
fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{spinner} {human_pos} accesses recorded in {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn info(file: &Path, json: bool) -> Result<Exit, Failure> {
    let name = file.display().to_string();
    let trace = waykeeper_trace::StoredTrace::load(file)
        .map_err(|error: TraceError| InputError::in_file(&name, error.to_string()))?;
    let summary = TraceSummary::of(&name, &trace);
    match json {
        true => print_json(&summary)?,
        false => print(&waykeeper_report::trace(&summary))?,
    }
    Ok(Exit::Done)
}
