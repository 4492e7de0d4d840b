//! `waykeeper report --serve`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, UNIX_EPOCH};

use waykeeper_kpi::{KpiReport, RECORD_FILE, preface};
use waykeeper_page::{ReportedRun, live_page, live_page_with, page, page_with};
use waykeeper_report::shown::one_line;
use waykeeper_run::folder::RUN_FILE;
use waykeeper_run::unfinished::REPEATS_FILE;
use waykeeper_serve::{LivePage, PageServer};

use super::output::print;
use super::report::{runs_of, session};
use crate::arguments::Report;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop;

/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// What is served: runs, or a session of `kpi`.
struct Served {
    paths: Vec<PathBuf>,
}

/// Serves the page until Ctrl-C.
pub fn serve(arguments: &Report) -> Result<Exit, Failure> {
    let served = Served { paths: arguments.runs.clone() };
    // A mistake is said here and not in the browser.
    served.page("")?;
    let port = arguments.port.unwrap_or(0);
    let cannot = |error: std::io::Error| {
        let instead = if port == 0 { "" } else { "; without --port a free one is taken" };
        Failure::Machine(format!("port {port} of 127.0.0.1 cannot be listened on: {error}{instead}"))
    };
    let server = PageServer::listen(port).map_err(cannot)?;
    let address = server.address();
    let stop = stop::on_ctrl_c();
    server.start(served).map_err(cannot)?;
    print(&format!("http://{address}/\nopen it in a browser of this machine; Ctrl-C ends\n"))?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
    }
    Ok(Exit::Done)
}

impl LivePage for Served {
    fn state(&mut self) -> String {
        let session = session(&self.paths).ok().flatten();
        let runs = session.as_ref().map_or_else(|| self.paths.clone(), runs_of);
        let record = session.map(|session| stamp(&session.folder().join(RECORD_FILE)));
        runs.iter()
            .flat_map(|run| [stamp(run), stamp(&run.join(RUN_FILE)), stamp(&run.join(REPEATS_FILE))])
            .chain(record)
            .collect()
    }

    fn make(&mut self, tag: &str) -> Result<String, String> {
        self.page(tag).map_err(|failure| one_line(&failure.to_string()).into_owned())
    }
}

impl Served {
    /// The page; one that loads itself again while something goes on.
    fn page(&self, tag: &str) -> Result<String, Failure> {
        let Some(session) = session(&self.paths)? else {
            let sources = self.paths.iter().map(|run| ReportedRun::read(run)).collect::<Result<Vec<_>, _>>()?;
            let goes_on = sources.iter().any(|source| source.unfinished.is_some());
            return Ok(if goes_on { live_page(&sources, tag) } else { page(&sources) });
        };
        let report = KpiReport::new(&session)?;
        let sources = runs_of(&session).iter().map(|run| ReportedRun::read(run)).collect::<Result<Vec<_>, _>>()?;
        let preface = preface(&report);
        Ok(if report.complete { page_with(&preface, &sources) } else { live_page_with(&preface, &sources, tag) })
    }
}

/// Length and time of a file, which change when it is written.
fn stamp(path: &Path) -> String {
    let Ok(metadata) = fs::metadata(path) else { return "-;".into() };
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} {};", metadata.len(), modified.map_or(0, |since| since.as_nanos()))
}
