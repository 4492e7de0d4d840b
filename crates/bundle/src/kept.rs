//! The folder of a run, which may be anybody's.

use std::fs;
use std::path::Path;

use waykeeper_experiment::InputError;
use waykeeper_run::Run;
use waykeeper_run::folder::{self, EXPERIMENT_FILE, RUN_FILE, RUN_FILES};
use waykeeper_run::unfinished::{self, REPEATS_FILE};

use crate::archive::hashed;

/// The run in a folder, and the names of the other files in it.
///
/// # Errors
/// A folder that holds no whole run, a symbolic link in it, files that do not read or are not the run's own.
pub(crate) fn check(folder: &Path) -> Result<(Run, Vec<String>), InputError> {
    let name = folder.display().to_string();
    let refuse = |message: String| InputError::in_file(&name, message);
    if !folder.is_dir() {
        return Err(refuse("this is no folder; expected the folder that `waykeeper run` left".into()));
    }
    let others = entries(folder)?;
    is_whole(folder)?;
    let run = folder::read(folder)?;
    if run.cut_short {
        return Err(refuse(format!("this run was cut short; {}", go_on(&name))));
    }
    // What does not read cannot be accepted by anyone.
    folder::read_samples(folder, &run)?;
    folder::read_events(folder, &run)?;
    if let Some(provenance) = &run.provenance {
        let experiment = folder.join(EXPERIMENT_FILE);
        let (_, sha256) = hashed(&experiment, rustix::fs::OFlags::NOFOLLOW).map_err(|error| {
            refuse(format!("its experiment.toml cannot be read: {error}; a whole copy of the run's folder would do"))
        })?;
        if sha256 != provenance.experiment {
            return Err(refuse(format!(
                "its experiment.toml is not the one that was run: its SHA-256 is {sha256}, and run.json has {}; a whole copy of \
                 the run's folder would do",
                provenance.experiment
            )));
        }
    }
    Ok((run, others))
}

/// The names of what is no file of a run.
fn entries(folder: &Path) -> Result<Vec<String>, InputError> {
    let unreadable = |error| InputError::in_file(&folder.display().to_string(), format!("it cannot be read: {error}"));
    let mut others = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_symlink() {
            let message = "this is a symbolic link, and what it leads to is no part of the run; expected the file itself, or no such link";
            return Err(InputError::in_file(&entry.path().display().to_string(), message));
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if !RUN_FILES.contains(&name.as_str()) {
            others.push(name);
        }
    }
    others.sort();
    Ok(others)
}

/// # Errors
/// A run that has not ended.
fn is_whole(folder: &Path) -> Result<(), InputError> {
    if folder.join(RUN_FILE).exists() || !folder.join(REPEATS_FILE).exists() {
        return Ok(());
    }
    let name = folder.display().to_string();
    let Some(unfinished) = unfinished::read(folder)? else { return Ok(()) };
    let (complete, planned) = (unfinished.repeats.len(), unfinished.planned());
    let message = match unfinished.share {
        Some(_) => format!(
            "this is a shard, of which {complete} of {planned} repeats are complete; expected the run that `waykeeper merge` makes of \
             all shards"
        ),
        None => format!("this run has not ended: {complete} of {planned} repeats are complete; {}", go_on(&name)),
    };
    Err(InputError::in_file(&name, message))
}

fn go_on(name: &str) -> String {
    format!("expected a whole run: `waykeeper run --resume {name}` goes on")
}
