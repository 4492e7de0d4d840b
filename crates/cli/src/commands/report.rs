//! `waykeeper report`.

use std::path::{Path, PathBuf};

use waykeeper_experiment::InputError;
use waykeeper_kpi::{KpiReport, KpiSession, preface};
use waykeeper_page::{Data, ReportedRun, page, page_with, svgs};
use waykeeper_run::folder::RUN_FILE;
use waykeeper_run::unfinished::REPEATS_FILE;

use super::output::{Kind, print, say};
use super::{serve, whole_file};
use crate::arguments::Report;
use crate::exit::Exit;
use crate::failure::Failure;

/// Writes runs as one page.
pub fn report(arguments: &Report) -> Result<Exit, Failure> {
    if arguments.serve {
        return serve::serve(arguments);
    }
    arguments.out.as_deref().map_or(Ok(()), whole_file::check_no_toml)?;
    if let Some(session) = session(&arguments.runs)? {
        return record(arguments, &session);
    }
    let sources = read_runs(&arguments.runs)?;
    if let Some(folder) = &arguments.svg {
        pictures(folder, &sources)?;
        if arguments.out.is_none() {
            return Ok(Exit::Done);
        }
    }
    let out = arguments.out.clone().unwrap_or_else(|| named_after(&sources));
    let html = page(&sources);
    whole_file::write(&out, "page", html.as_bytes())?;
    print(&format!("{}\n", out.display()))?;
    Ok(Exit::Done)
}

/// Reads runs. What their page will lack stands on the page, and whoever makes it hears of it too.
fn read_runs(folders: &[PathBuf]) -> Result<Vec<ReportedRun>, Failure> {
    let sources = folders.iter().map(|run| ReportedRun::read(run)).collect::<Result<Vec<_>, _>>()?;
    for source in &sources {
        source.missing.iter().for_each(|what| say(Kind::Note, &format!("{}: {what}", source.name)));
    }
    Ok(sources)
}

/// The session of `kpi` that is named, where one is.
pub(super) fn session(paths: &[PathBuf]) -> Result<Option<KpiSession>, Failure> {
    let found = paths.iter().map(|path| KpiSession::find(path).map(|found| found.map(|session| (path, session))));
    let mut found: Vec<_> = found.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    if let [(path, _), ..] = found.as_slice()
        && paths.len() > 1
    {
        let why = "it is a session of `kpi`, which has a page of its own; expected it alone, or runs in it";
        return Err(InputError::in_option(path.display().to_string(), why).into());
    }
    Ok(found.pop().map(|(_, session)| session))
}

/// Writes the acceptance record of a session.
fn record(arguments: &Report, session: &KpiSession) -> Result<Exit, Failure> {
    let report = KpiReport::new(session)?;
    let sources = read_runs(&runs_of(session))?;
    if let Some(folder) = &arguments.svg {
        pictures(folder, &sources)?;
        if arguments.out.is_none() {
            return Ok(Exit::Done);
        }
    }
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("acceptance-record.html"));
    whole_file::write(&out, "page", page_with(&preface(&report), &sources).as_bytes())?;
    print(&format!("{}\n", out.display()))?;
    Ok(Exit::Done)
}

/// The folders of a session's runs, as far as they are measured.
pub(super) fn runs_of(session: &KpiSession) -> Vec<PathBuf> {
    let runs = session.record().boots.iter().flat_map(|boot| &boot.runs).map(|run| session.folder_of(run));
    runs.filter(|run| run.join(RUN_FILE).exists() || run.join(REPEATS_FILE).exists()).collect()
}

/// Writes each picture as a file of its own.
fn pictures(folder: &Path, sources: &[ReportedRun]) -> Result<(), Failure> {
    let failed = |why: String| Failure::Machine(format!("{}: {why}", folder.display()));
    let drawn = svgs(&Data::new(sources)).map_err(failed)?;
    if drawn.is_empty() {
        return Err(failed("found no data for a picture; expected a run's folder with its samples".into()));
    }
    std::fs::create_dir_all(folder).map_err(|error| failed(format!("the folder cannot be made: {error}")))?;
    for (name, text) in drawn {
        let file = folder.join(name);
        whole_file::write(&file, "picture", text.as_bytes())?;
        print(&format!("{}\n", file.display()))?;
    }
    Ok(())
}

/// A file beside the caller, named after the experiment. Names of bundled experiments are file names; of others only what
/// is safe in one is kept.
fn named_after(sources: &[ReportedRun]) -> PathBuf {
    let name = sources.first().map_or("", |source| source.run.experiment.as_str());
    let is_kept = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let name: String = name.chars().map(|c| if is_kept(c) { c } else { '-' }).take(80).collect();
    let name = name.trim_matches('-');
    PathBuf::from(format!("{}.html", if name.is_empty() { "report" } else { name }))
}
