//! `--remote`: a command on a board elsewhere. The work is that of `waykeeper_remote`; here is what each command needs, and how its
//! output is shown.

mod needs;
mod printer;
mod typed;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use waykeeper_remote::{
    Board, BoardProgram, Cleaned, Connection, Destination, JobEnd, JobRecord, RemoteError, RemoteJob, choose_program,
    clean, foreign, records,
};

use super::output::{Kind, print, say};
use crate::arguments::{Arguments, Command, Elsewhere};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop;
use needs::Needs;
use printer::{Form, Printer};

/// How long a lost connection is tried again, in seconds, where the variable does not say.
const PATIENCE_S: u64 = 60;
/// The variable that says it.
const PATIENCE: &str = "WAYKEEPER_REMOTE_PATIENCE";

/// Carries out a command on a board; none where no board was named.
pub fn asked(arguments: &Arguments) -> Option<Result<Exit, Failure>> {
    let elsewhere = &arguments.elsewhere;
    let result = match (&elsewhere.remote, &arguments.command) {
        (None, _) => return without_a_board(elsewhere).map(Err),
        (Some(board), None) if elsewhere.remote_clean => remove_all(board, elsewhere),
        (Some(board), None) => match &elsewhere.attach {
            Some(run) => attach(board, run),
            None => Err(Failure::Bad(format!(
                "--remote {board}: expected a command, such as `waykeeper run this-machine --remote {board}`, or --attach or \
                 --remote-clean"
            ))),
        },
        (Some(_), Some(_)) if elsewhere.remote_clean || elsewhere.attach.is_some() => {
            let option = if elsewhere.remote_clean { "--remote-clean" } else { "--attach" };
            Err(Failure::Bad(format!("{option} stands without a command: `waykeeper --remote BOARD {option}`")))
        }
        (Some(board), Some(command)) => start(board, command, elsewhere),
    };
    Some(result)
}

/// An option that means nothing without a board.
fn without_a_board(elsewhere: &Elsewhere) -> Option<Failure> {
    let option = match elsewhere {
        Elsewhere { attach: Some(_), .. } => "--attach",
        Elsewhere { remote_clean: true, .. } => "--remote-clean",
        Elsewhere { remote_binary: Some(_), .. } => "--remote-binary",
        Elsewhere { remote_cache: Some(_), .. } => "--remote-cache",
        Elsewhere { remote_send, .. } if !remote_send.is_empty() => "--remote-send",
        _ => return None,
    };
    Some(Failure::Bad(format!("{option}: expected the board beside it: --remote [USER@]BOARD[:PORT]")))
}

/// Starts a command on a board, follows it, and fetches what it leaves.
fn start(to: &Destination, command: &Command, elsewhere: &Elsewhere) -> Result<Exit, Failure> {
    let presses = stop::presses();
    let mut needs = Needs::of(command)?;
    needs.send(&elsewhere.remote_send)?;
    let connection = Connection::open(to)?;
    let board = Board::ask(&connection, elsewhere.remote_cache.as_deref())?;
    let program = choose_program(elsewhere.remote_binary.as_deref(), board.instruction_set)?;
    check_programs(&needs, &board)?;
    if board.provide(&connection, &program)? {
        say(Kind::Note, &copied(to, &program));
    }
    if presses.load(Ordering::Relaxed) > 0 {
        return Err(Failure::Stopped);
    }
    let arguments = typed::for_board(std::env::args_os().skip(1), &needs.added);
    let record = JobRecord {
        run: JobRecord::new_name(),
        board: to.to_string(),
        cache: board.cache.clone(),
        command: typed::shown(&arguments),
        form: needs.form.name().into(),
        results: needs.results.clone(),
    };
    let variables: Vec<_> =
        ["SOURCE_DATE_EPOCH"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))).collect();
    let asked =
        waykeeper_remote::BoardCommand { arguments: &arguments, absolute: &needs.absolute, variables: &variables };
    let job = RemoteJob::start(connection, &board, &program, &needs.parcel, &asked, record, patience()?)?;
    // The folder for the run is held until it is there.
    let _held = needs.held;
    finish(job, needs.form, &presses)
}

/// Follows a run to its end, fetches what it left, and removes it from the board.
fn finish(mut job: RemoteJob, form: Form, presses: &Arc<AtomicU32>) -> Result<Exit, Failure> {
    let mut printer = Printer::new(form, job.tree());
    let end = job.follow(presses, &mut printer);
    let printed = printer.ended();
    let end = end?;
    let (board, run) = (job.record().board.clone(), job.record().run.clone());
    if end == JobEnd::Gone {
        job.forget();
        return Err(RemoteError::Board(format!("{board}: the run {run} is not there any more")).into());
    }
    for what in job.fetch()? {
        say(Kind::Note, &format!("left out of what {board} sent: {what}"));
    }
    job.remove();
    printed?;
    match end {
        JobEnd::Status(status) => Ok(Exit::Of(status)),
        _ => Err(RemoteError::Board(format!(
            "{board}: the command ended without a status: it was killed, or the board was started anew; what it left was fetched"
        ))
        .into()),
    }
}

/// Goes on with a run whose connection was lost.
fn attach(to: &Destination, run: &str) -> Result<Exit, Failure> {
    let presses = stop::presses();
    let record = find(to, run)?;
    let form = Form::named(&record.form);
    let job = RemoteJob::attach(Connection::open(to)?, record, patience()?);
    finish(job, form, &presses)
}

/// The run that is meant.
fn find(to: &Destination, run: &str) -> Result<JobRecord, Failure> {
    let all = records();
    let list = |records: &[JobRecord]| -> String {
        let line = |record: &JobRecord| format!("{} on {} (waykeeper {})", record.run, record.board, record.command);
        records.iter().map(line).collect::<Vec<_>>().join(", ")
    };
    let known = if all.is_empty() { "none is known here".into() } else { format!("known here: {}", list(&all)) };
    if !run.is_empty() {
        let found = all.into_iter().find(|record| record.run == run);
        return found.ok_or_else(|| Failure::Bad(format!("--attach={run}: there is no such run; {known}")));
    }
    let mut of_board: Vec<JobRecord> = all.into_iter().filter(|record| record.board == to.to_string()).collect();
    match of_board.len() {
        1 => Ok(of_board.remove(0)),
        0 => Err(Failure::Bad(format!("--attach: no run was begun here on {to} and not fetched yet; {known}"))),
        _ => Err(Failure::Bad(format!("--attach: expected --attach=RUN, for there are several: {}", list(&of_board)))),
    }
}

/// Removes all that was left on a board.
fn remove_all(to: &Destination, elsewhere: &Elsewhere) -> Result<Exit, Failure> {
    let connection = Connection::open(to)?;
    let text = match clean(&connection, elsewhere.remote_cache.as_deref())? {
        Cleaned::Nothing => "nothing of Waykeeper is there\n".to_owned(),
        Cleaned::Removed => "removed: Waykeeper's program and all it had copied\n".to_owned(),
        Cleaned::Running(runs) => {
            return Err(RemoteError::Board(format!(
                "{to}: nothing was removed, for these runs go on there: {}; `waykeeper --remote {to} --attach` follows one, and Ctrl-C \
                 ends it",
                runs.join(", ")
            ))
            .into());
        }
        Cleaned::Applied => {
            return Err(RemoteError::Board(format!(
                "{to}: nothing was removed, for a policy is applied there, and the program restores it: `waykeeper restore --remote \
                 {to}` first"
            ))
            .into());
        }
    };
    print(&format!("{to}: {text}"))?;
    Ok(Exit::Done)
}

/// A program that is sent along must be made for the board.
fn check_programs(needs: &Needs, board: &Board) -> Result<(), Failure> {
    for path in needs.parcel.files() {
        if let Some(made_for) = foreign(path, board.instruction_set) {
            let (path, set) = (path.display(), board.instruction_set);
            let message = format!("{path}: this program is for {made_for}, and the board is {set}; build it for {set}");
            return Err(RemoteError::Input(message).into());
        }
    }
    Ok(())
}

fn copied(to: &Destination, program: &BoardProgram) -> String {
    let mib = program.bytes as f64 / f64::from(1 << 20);
    let kind = match program.is_static {
        true => "",
        false => "; it is not static, and runs there because the libraries fit",
    };
    format!("{} was copied to {to} ({mib:.1} MiB){kind}", program.path.display())
}

fn patience() -> Result<Duration, Failure> {
    let Some(text) = std::env::var_os(PATIENCE) else { return Ok(Duration::from_secs(PATIENCE_S)) };
    let seconds = text.to_str().and_then(|text| text.parse().ok()).filter(|seconds| *seconds <= 86400);
    let bad = || Failure::Bad(format!("{PATIENCE}: expected seconds, 0 to 86400"));
    seconds.map(Duration::from_secs).ok_or_else(bad)
}
