//! `waykeeper bundle`.

use std::path::{Path, PathBuf};

use clap::Parser;
use waykeeper_bundle::{Bundle, Packing, RunRequest, Written};
use waykeeper_channels::ChannelTable;
use waykeeper_experiment::InputError;
use waykeeper_kpi::{KpiReport, KpiSession, RECORD_FILE, preface};
use waykeeper_page::{Data, ReportedRun, page, page_with, svgs};
use waykeeper_platform::read_text;
use waykeeper_report::shown::lines;
use waykeeper_run::Run;

use super::output::print;
use crate::arguments::{self, Arguments, Command};
use crate::exit::Exit;
use crate::failure::Failure;

/// Packs runs as one archive.
pub fn bundle(arguments: &arguments::Bundle) -> Result<Exit, Failure> {
    let named = arguments.out.as_deref().map(new_archive).transpose()?;
    let mut bundle = Bundle::default();
    let mut alone = Vec::new();
    for folder in &arguments.runs {
        match KpiSession::find(folder)? {
            Some(session) => add_session(&mut bundle, folder, &session)?,
            None => alone.push((folder, bundle.add_run(folder, asked)?)),
        }
    }
    if !alone.is_empty() {
        let names: Vec<String> = alone.iter().map(|(_, name)| name.clone()).collect();
        let sources = alone.iter().map(|(folder, name)| source(folder, name)).collect::<Result<Vec<_>, _>>()?;
        bundle.add_page("report.html", page(&sources).into_bytes(), &names, pictures(&sources)?);
    }
    arguments.channels.iter().try_for_each(|file| add_channels(&mut bundle, file))?;
    let (out, packing) = match named {
        Some(named) => named,
        None => new_archive(Path::new(&format!("{}.tar.gz", bundle.name())))?,
    };
    let left_out: String = bundle.left_out().iter().map(|what| format!("  {what}\n")).collect();
    let Written { files, bytes, sha256 } = bundle.write(&out, packing)?;
    let mut text = format!("{}: {files} files, {bytes} bytes\nsha256: {sha256}\n", out.display());
    if !left_out.is_empty() {
        text += &format!("left out:\n{left_out}");
    }
    print(&text)?;
    Ok(Exit::Done)
}

/// A name for an archive that does not exist. Whether it can be made shows when it is written.
fn new_archive(out: &Path) -> Result<(PathBuf, Packing), InputError> {
    let option = format!("--out {}", out.display());
    let packing = Packing::by_name(out)
        .ok_or_else(|| InputError::in_option(&option, "found another ending; expected .tar.gz or .tar.zst"))?;
    // A link that leads nowhere is there too.
    match out.symlink_metadata() {
        Ok(_) => Err(InputError::in_option(option, "it exists, and no archive is overwritten; expected a new file")),
        Err(_) => Ok((out.to_owned(), packing)),
    }
}

/// How a run was asked for, from its command line.
fn asked(run: &Run) -> RunRequest {
    let typed = Arguments::try_parse_from(&run.command_line).map(|typed| typed.command);
    match typed {
        Ok(Some(Command::Run(typed))) => RunRequest::Run { explain: typed.explain, fast: typed.fast },
        Ok(Some(Command::Import(_))) => {
            RunRequest::Otherwise("it was imported from another tool's file, and Waykeeper did not measure it".into())
        }
        Ok(Some(_)) => RunRequest::Run { explain: None, fast: false },
        Ok(None) | Err(_) => {
            RunRequest::Otherwise("this version of Waykeeper does not take the command line that made it".into())
        }
    }
}

fn add_session(bundle: &mut Bundle, folder: &Path, session: &KpiSession) -> Result<(), Failure> {
    let runs = session.record().boots.iter().flat_map(|boot| &boot.runs);
    let runs: Vec<String> = runs.map(|run| run.folder.clone()).collect();
    let name = bundle.add_session(folder, RECORD_FILE, &runs, asked)?;
    let sources = runs.iter().map(|run| source(&folder.join(run), &format!("{name}/{run}")));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let html = page_with(&preface(&KpiReport::new(session)?), &sources);
    let file = format!("acceptance-{name}.html");
    bundle.add_page(&file, html.into_bytes(), std::slice::from_ref(&name), pictures(&sources)?);
    Ok(())
}

/// Adds a table of interference channels.
fn add_channels(bundle: &mut Bundle, file: &Path) -> Result<(), InputError> {
    let bad = |why: String| InputError::in_file(&file.display().to_string(), why);
    let json = read_text(file).map_err(|error| bad(format!("it cannot be read: {error}")))?;
    let table = ChannelTable::from_json(json.as_bytes()).map_err(bad)?;
    let runs: Vec<(String, String)> =
        table.runs.iter().map(|run| (run.experiment.clone(), run.started.clone())).collect();
    let called = table.called.as_ref().map(|called| format!(" ({called})")).unwrap_or_default();
    let about = format!("{}{called}, {} channels", table.place, table.channels.len());
    bundle.add_channels(file, json.into_bytes(), lines(&waykeeper_channels::text(&table)).into_owned(), about, &runs);
    Ok(())
}

/// A run under its name in the archive: so the script's `waykeeper report` calls it.
fn source(folder: &Path, name: &str) -> Result<ReportedRun, InputError> {
    Ok(ReportedRun { name: format!("runs/{name}"), ..ReportedRun::read(folder)? })
}

fn pictures(sources: &[ReportedRun]) -> Result<Vec<(String, String)>, Failure> {
    svgs(&Data::new(sources)).map_err(Failure::Machine)
}
