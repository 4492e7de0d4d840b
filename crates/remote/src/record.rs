//! What is known here of a run on a board, so that another process can follow and fetch it. The board is not asked where results
//! belong: its answer could name any file here.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fetch::WantedResult;

/// A run on a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Its name: the time and some random digits.
    pub run: String,
    /// The board, as typed.
    pub board: String,
    /// The cache there.
    pub cache: String,
    /// The command line, for people.
    pub command: String,
    /// What its standard output is, in the caller's words.
    pub form: String,
    /// What is to be fetched.
    pub results: Vec<WantedResult>,
}

impl JobRecord {
    /// A name that no other run has.
    pub fn new_name() -> String {
        format!("{}-{:08x}", jiff::Zoned::now().strftime("%Y%m%d-%H%M%S"), fastrand::u32(..))
    }

    /// The folder of the run on the board.
    pub(crate) fn folder(&self) -> String {
        format!("{}/runs/{}", self.cache, self.run)
    }

    /// The tree of its files there.
    pub(crate) fn tree(&self) -> String {
        format!("{}/tree", self.folder())
    }

    /// Keeps the record.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub(crate) fn keep(&self) -> io::Result<()> {
        let folder = folder().ok_or_else(|| io::Error::other("neither XDG_STATE_HOME nor HOME is set"))?;
        fs::create_dir_all(&folder)?;
        let part = folder.join(format!("{}.part", self.run));
        fs::write(&part, serde_json::to_string_pretty(self)?)?;
        fs::rename(part, folder.join(format!("{}.json", self.run)))
    }

    /// Forgets the run.
    pub(crate) fn forget(&self) {
        if let Some(folder) = folder() {
            let _ = fs::remove_file(folder.join(format!("{}.json", self.run)));
        }
    }
}

/// All runs that were begun here and not fetched, the oldest first.
pub fn records() -> Vec<JobRecord> {
    let entries = folder().and_then(|folder| fs::read_dir(folder).ok());
    let paths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let json = paths.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    let mut records: Vec<JobRecord> =
        json.filter_map(|path| serde_json::from_str(&fs::read_to_string(path).ok()?).ok()).collect();
    records.sort_by(|a, b| a.run.cmp(&b.run));
    records
}

/// Where the records are.
fn folder() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = named("XDG_STATE_HOME").or_else(|| named("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("waykeeper/remote"))
}
