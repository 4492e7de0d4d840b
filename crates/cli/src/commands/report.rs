//! `waykeeper report`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use waykeeper_page::{ReportedRun, page};

use super::output::print;
use crate::arguments::Report;
use crate::exit::Exit;
use crate::failure::Failure;

/// Writes runs as one page.
pub fn report(arguments: &Report) -> Result<Exit, Failure> {
    let sources = arguments.runs.iter().map(|run| ReportedRun::read(run)).collect::<Result<Vec<_>, _>>()?;
    let out = arguments.out.clone().unwrap_or_else(|| named_after(&sources));
    let html = page(&sources);
    write(&out, html.as_bytes())
        .map_err(|error| Failure::Machine(format!("{}: the page cannot be written: {error}", out.display())))?;
    print(&format!("{}\n", out.display()))?;
    Ok(Exit::Done)
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

/// Writes a file at once where it has a name: a reader never sees half a page. A pipe or a terminal is written to.
fn write(out: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if out.exists() && !out.is_file() {
        return fs::OpenOptions::new().write(true).open(out)?.write_all(bytes);
    }
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = out.with_file_name(name);
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, out));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}
