//! `waykeeper run`: parse, plan, measure, conclude, print.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use waykeeper_experiment::{InputError, Loaded, OptionOverrides, Set};
use waykeeper_report::Detail;
use waykeeper_report::shown::one_line;
use waykeeper_run::Run as Record;
use waykeeper_run::unfinished::REPEATS_FILE;
use waykeeper_session::{Concluded, Keep, Kept, Options, Session, SessionError, Started};
use waykeeper_statistics::JudgementKind;

use super::dry_run::dry_run;
use super::output::{Kind, print, print_json, say};
use super::{name_of, overrides, resume, target_program};
use crate::arguments::{On, Run, THIS_MACHINE};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Bar;
use crate::stop;

/// Runs an experiment.
pub fn run(arguments: &Run) -> Result<Exit, Failure> {
    if let Some(folder) = &arguments.resume {
        return resume::resume(arguments, folder);
    }
    // A program alone is measured on this machine.
    let name = arguments.experiment.as_deref().unwrap_or(THIS_MACHINE);
    let overrides = sets(arguments)?;
    let loaded = Loaded::open(name, overrides.sets)?;
    let mut session = Session::plan(loaded, &options(arguments))?;
    overrides.notes.iter().for_each(|said| say(Kind::Note, said));
    if arguments.dry_run {
        return dry_run(arguments, &session);
    }
    session.budgets_out_of_reach().iter().for_each(|said| say(Kind::Note, said));
    let stop = stop::on_ctrl_c();
    if session.impossible().is_none() {
        session.record_programs(&Bar::new(), &stop)?;
    }
    conclude(arguments.json, session.start(Keep::InFolder(arguments.out.as_deref()))?, &stop)
}

/// Measures what is not there yet, and prints what follows.
///
/// # Errors
/// A place that cannot go on; an interruption before anything was measured; a folder that cannot be written.
pub fn conclude(json: bool, started: Started, stop: &AtomicBool) -> Result<Exit, Failure> {
    show(json, started.run(&Bar::new(), stop)?)
}

/// Prints a run that has ended, and where it is.
///
/// # Errors
/// A run that the place could not go on with; a folder that could not be written.
pub fn show(json: bool, concluded: Concluded) -> Result<Exit, Failure> {
    // What was measured is shown also where it cannot be kept.
    if json {
        print_json(&concluded.record)?;
    } else if let Kept::Shard { .. } = concluded.kept {
        print(&place_of(&concluded.kept))?;
    } else {
        let table = waykeeper_report::run(&concluded.record, Detail::Ordinary);
        print(&format!("{table}\n{}", place_of(&concluded.kept)))?;
    }
    if let Kept::Failed { folder, error } = concluded.kept {
        return Err(SessionError::Write { folder, error }.into());
    }
    match concluded.failed {
        Some(error) => Err(error.into()),
        None => Ok(match concluded.kept {
            Kept::Shard { complete, planned, .. } if complete < planned => Exit::Interrupted,
            Kept::Shard { .. } => Exit::Done,
            _ => exit(&concluded.record),
        }),
    }
}

/// The line that says where the run is.
fn place_of(kept: &Kept) -> String {
    let shown = |folder: &Path| one_line(&folder.display().to_string()).into_owned();
    match kept {
        Kept::Whole(folder) => format!("kept in {}\n", shown(folder)),
        Kept::Unfinished(folder) => {
            let place = shown(folder);
            format!("kept in {place}; `waykeeper run --resume {place}` goes on\n")
        }
        Kept::Shard { folder, complete, planned } => {
            let place = shown(folder);
            let next = match complete < planned {
                true => format!("`waykeeper run --resume {place}` goes on"),
                false => "`waykeeper merge` with the folders of all shards makes the run".into(),
            };
            format!("{complete} of {planned} repeats of this shard are complete, kept in {place}; {next}\n")
        }
        // A full disk: what was complete before it is in the log.
        Kept::Failed { folder, .. } if folder.join(REPEATS_FILE).exists() => {
            let place = shown(folder);
            format!(
                "complete repeats are kept in {place}; with room on the disk `waykeeper run --resume {place}` goes on\n"
            )
        }
        Kept::Nowhere | Kept::Failed { .. } => String::new(),
    }
}

/// The overrides: `--set` as typed, and the options that stand for a field.
pub(super) fn sets(arguments: &Run) -> Result<OptionOverrides, InputError> {
    let duration = arguments.duration.as_deref();
    let experiment = arguments.experiment.as_deref().unwrap_or(THIS_MACHINE);
    // The program first: what is typed of it stands.
    let mut all = target_program::sets(&arguments.program, experiment)?;
    all.sets.extend(overrides::sets(&arguments.sets, duration, arguments.repeats, arguments.seed)?);
    if let Some(clock) = arguments.clock.as_ref().map(name_of) {
        all.sets.push(Set::from_option(format!("--clock {clock}"), "clock", clock.into()));
    }
    if let Some(path) = &arguments.against {
        all.extend(overrides::against(path, experiment, &all.sets)?);
    }
    Ok(all)
}

fn options(arguments: &Run) -> Options {
    Options {
        on: arguments.on.map(On::kind),
        budgets: arguments.budgets.clone(),
        explain: arguments.explain.map(usize::from),
        fast: arguments.fast,
        shard: arguments.shard,
        commit: crate::commit().map(str::to_owned),
        source_date_epoch: std::env::var("SOURCE_DATE_EPOCH").ok(),
        command_line: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
    }
}

fn exit(record: &Record) -> Exit {
    let any = |kind| record.budgets.iter().any(|judged| judged.kind == kind);
    match () {
        () if any(JudgementKind::Broken) => Exit::BudgetBroken,
        () if record.cut_short => Exit::Interrupted,
        () if any(JudgementKind::TooThin) => Exit::TooThin,
        () => Exit::Done,
    }
}
