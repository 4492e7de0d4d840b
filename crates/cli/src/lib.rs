//! The commands of Waykeeper. The program beside them (`bin/waykeeper.rs`) has the bundled files and nothing else, so that a
//! changed file rebuilds only that.

// Text of others is escaped in one place: `commands::output`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod commands;
mod exit;
mod failure;
mod progress;
mod stop;

use std::sync::OnceLock;

use clap::Parser;

use arguments::{Arguments, Command};
use commands::output::{Kind, end_at, say};
use exit::Exit;
use failure::Failure;

static COMMIT: OnceLock<&'static str> = OnceLock::new();

/// The commit that the program was built from, where that is known.
fn commit() -> Option<&'static str> {
    COMMIT.get().copied()
}

/// The whole program: from the command line to the exit status. Whoever calls it has filled the shelf, and knows the commit that the
/// program was built from, or not.
pub fn main(built_from: Option<&'static str>) -> std::process::ExitCode {
    if let Some(built_from) = built_from {
        COMMIT.get_or_init(|| built_from);
    }
    // A worker is this same program, started by the host executor; it must not parse a user's arguments.
    if std::env::args_os().nth(1).is_some_and(|first| first == waykeeper_executor::WORKER_ARGUMENT) {
        return std::process::ExitCode::from(waykeeper_executor::worker_main() as u8);
    }
    let arguments = Arguments::try_parse().unwrap_or_else(|error| end_at(&error));
    let result = commands::remote::asked(&arguments).unwrap_or_else(|| match &arguments.command {
        Some(command) => run(command),
        None => missing_command(),
    });
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            say(Kind::Error, &failure.to_string());
            Exit::from(&failure).into()
        }
    }
}

/// Carries out a command on this machine.
fn run(command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(run) => commands::run::run(run),
        Command::Merge(merge) => commands::merge::merge(merge),
        Command::List(list) => commands::list::list(list),
        Command::Show(show) => commands::show::show(show),
        Command::Tune(tune) => commands::tune::tune(tune),
        Command::Hunt(hunt) => commands::hunt::hunt(hunt),
        Command::Compare(compare) => commands::compare::compare(compare),
        Command::Export(export) => commands::export::export(export),
        Command::Report(report) => commands::report::report(report),
        Command::Bundle(bundle) => commands::bundle::bundle(bundle),
        Command::Tail(tail) => commands::tail::tail(tail),
        Command::Plan(plan) => commands::plan::plan(plan),
        Command::Decode(decode) => commands::decode::decode(decode),
        Command::Apply(apply) => commands::apply::apply(apply),
        Command::Status(status) => commands::status::status(status),
        Command::Verify(verify) => commands::verify::verify(verify),
        Command::Follow(follow) => commands::follow::follow(follow),
        Command::Restore(restore) => commands::restore::restore(restore),
        Command::Enter(enter) => commands::enter::enter(enter),
        Command::Mount(mount) => commands::mount::mount(mount),
        Command::Watch(watch) => commands::watch::watch(watch),
        Command::Load(load) => commands::load::load(load),
        Command::Doctor(doctor) => commands::doctor::doctor(doctor),
        Command::Channels(channels) => commands::channels::channels(channels),
        Command::Rtcp(rtcp) => commands::rtcp::rtcp(rtcp),
        Command::Import(import) => commands::import::import(import),
        Command::Kpi(kpi) => commands::kpi::kpi(kpi),
        Command::Machine(machine) => commands::machine::machine(machine),
        Command::Catalogue(catalogue) => commands::catalogue::catalogue(catalogue),
        Command::Markers(markers) => commands::markers::markers(markers),
        Command::Trace(trace) => commands::trace::trace(trace),
        Command::Bugreport(bugreport) => commands::bugreport::bugreport(bugreport),
        Command::Schema(schema) => commands::schema::schema(schema),
        Command::Completions(completions) => commands::completions::completions(completions),
        Command::ManPages(pages) => commands::completions::man_pages(pages),
    }
}

/// Ends with what clap says where it misses a command.
fn missing_command() -> Result<Exit, Failure> {
    let message = "expected a command, such as `waykeeper run this-machine`; `waykeeper --help` lists them";
    Err(Failure::Bad(message.into()))
}
