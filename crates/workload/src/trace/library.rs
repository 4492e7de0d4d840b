//! Trace files that were read: each once in a process, however many streams go through it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, OnceLock};
use std::time::SystemTime;

use waykeeper_trace::{StoredTrace, TraceError};

/// A file as it was when it was read.
type Edition = (String, u64, Option<SystemTime>);

/// The trace in a file of any known format. It stays in memory, compressed, for the rest of the process; asked for again,
/// an unchanged file is not read again.
///
/// # Errors
/// A file that is no whole trace.
pub fn load(path: &str) -> Result<StoredTrace, TraceError> {
    static READ: OnceLock<Mutex<BTreeMap<Edition, StoredTrace>>> = OnceLock::new();
    let metadata = std::fs::metadata(path)?;
    let edition = (path.to_owned(), metadata.len(), metadata.modified().ok());
    let mut read = READ.get_or_init(Mutex::default).lock().unwrap_or_else(|e| e.into_inner());
    if let Some(trace) = read.get(&edition) {
        return Ok(trace.clone());
    }
    let trace = StoredTrace::load(Path::new(path))?;
    read.insert(edition, trace.clone());
    Ok(trace)
}
