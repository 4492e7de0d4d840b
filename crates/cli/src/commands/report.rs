//! `waykeeper report`.

use std::path::PathBuf;

use waykeeper_page::{ReportedRun, page};

use super::output::print;
use super::whole_file;
use crate::arguments::Report;
use crate::exit::Exit;
use crate::failure::Failure;

/// Writes runs as one page.
pub fn report(arguments: &Report) -> Result<Exit, Failure> {
    let sources = arguments.runs.iter().map(|run| ReportedRun::read(run)).collect::<Result<Vec<_>, _>>()?;
    let out = arguments.out.clone().unwrap_or_else(|| named_after(&sources));
    let html = page(&sources);
    whole_file::write(&out, "page", html.as_bytes())?;
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
