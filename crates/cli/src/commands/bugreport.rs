//! `waykeeper bugreport`.

use std::path::Path;

use waykeeper_doctor::{View, examine};
use waykeeper_linux::machine::Machine;
use waykeeper_linux::recording::{LEFT_OUT, nameless, record};
use waykeeper_linux::{Recording, Root};
use waykeeper_run::Run;
use waykeeper_run::folder;

use super::acting::applied;
use super::output::print;
use super::status::applied_text;
use crate::arguments::Bugreport;
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints what a maintainer needs, as Markdown. Names of the machine, its networks and its user are left out.
pub fn bugreport(arguments: &Bugreport) -> Result<Exit, Failure> {
    let run = arguments.run.as_deref().map(folder::read).transpose()?;
    let recording = record(Path::new("/"));
    let sections = [
        ("Versions", versions(&recording)),
        ("Applied", applied_now()),
        ("Run", run.as_ref().map(of_run).unwrap_or_else(|| "no run was named; `--run DIR` adds one\n".into())),
        ("Doctor", doctor(&recording)),
        ("Machine", machine(&recording)),
        ("Left out", LEFT_OUT.map(|what| format!("- {what}\n")).concat()),
    ];
    let text: String = sections.iter().map(|(title, text)| format!("## {title}\n\n{}\n", text.trim_end())).collect();
    print(&format!("# Waykeeper bug report\n\n{}", nameless(&text)))?;
    Ok(Exit::Done)
}

fn versions(recording: &Recording) -> String {
    let kernel = recording.text("/proc/version").unwrap_or("the kernel's version cannot be read").trim();
    let parameters = recording.text("/proc/cmdline").unwrap_or("not seen").trim();
    format!("waykeeper {}\n{kernel}\nkernel parameters: {parameters}\n", env!("CARGO_PKG_VERSION"))
}

fn applied_now() -> String {
    match applied(None) {
        Ok(None) => "nothing is applied\n".into(),
        Ok(Some(applied)) => applied_text(&applied, false),
        Err(error) => format!("not seen: {error}\n"),
    }
}

/// What was asked and refused; the figures are in the run's folder, which can be sent along.
fn of_run(run: &Run) -> String {
    let Run { tool, command_line, experiment, platform, started, cut_short, .. } = run;
    let mut text = format!(
        "{} {}, {experiment} on {platform}, {started}{}\n{}\n",
        tool.name,
        tool.version,
        if *cut_short { ", cut short" } else { "" },
        command_line.join(" ")
    );
    text += &run
        .refused
        .iter()
        .map(|refusal| format!("- refused: {}: {}\n", refusal.what, refusal.why))
        .collect::<String>();
    let refused = run.privileges.iter().filter(|privilege| !privilege.granted);
    text += &refused.map(|it| format!("- not granted: {}: {}\n", it.what, it.detail)).collect::<String>();
    text += &run.notes.iter().map(|note| format!("- {note}\n")).collect::<String>();
    text
}

fn doctor(recording: &Recording) -> String {
    match View::new(Root::from(recording.clone()), None) {
        Ok(view) => waykeeper_doctor::text(&examine(&view)),
        Err(error) => format!("not examined: {}\n", error.0),
    }
}

fn machine(recording: &Recording) -> String {
    match Machine::read(&Root::from(recording.clone())) {
        Ok(machine) => waykeeper_report::machine(&machine, &[]),
        Err(error) => format!("not seen: {error}\n"),
    }
}
