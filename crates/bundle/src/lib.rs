//! Runs with their inputs, hashes and a script that makes them again, as one archive for those who cite or accept them.
//!
//! The archive holds what the runs themselves know by hash, and nothing else of the machine that it is packed on: equal runs
//! give equal bytes, and a run of somebody else cannot name a file that it does not know.

mod archive;
mod inputs;
mod kept;
mod names;
mod readme;
mod script;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use waykeeper_experiment::InputError;
use waykeeper_run::Run;

pub use archive::{Archive, Packing, Written};
use inputs::Inputs;

/// How a run was asked for, besides its experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunRequest {
    /// By an experiment, with these options of `waykeeper run` that its copy does not hold.
    Run {
        /// `--explain N`.
        explain: Option<u16>,
        /// `--fast`.
        fast: bool,
    },
    /// In a way that cannot be repeated; the reason is for the reader.
    Otherwise(String),
}

/// A run in a bundle.
#[derive(Debug)]
struct Bundled {
    /// Its folder below `runs/`; of a session `SESSION/RUN`.
    name: String,
    run: Run,
    inputs: Inputs,
    /// The words after `waykeeper` that make it again, or why nothing can.
    again: Result<Vec<String>, String>,
}

/// What is drawn on one page.
#[derive(Debug)]
struct Page {
    /// Its file.
    file: String,
    /// The folders below `runs/` that it is drawn from.
    of: Vec<String>,
    /// The folder of its pictures, where there are any.
    pictures: Option<String>,
}

/// A table of interference channels.
#[derive(Debug)]
struct Table {
    /// Its file, JSON; what a person reads is beside it.
    file: String,
    /// What it is about.
    about: String,
}

/// What goes into one archive.
#[derive(Debug, Default)]
pub struct Bundle {
    archive: Archive,
    runs: Vec<Bundled>,
    pages: Vec<Page>,
    tables: Vec<Table>,
    names: BTreeSet<String>,
    left_out: Vec<String>,
}

/// Why an archive was not written.
#[derive(Debug, thiserror::Error)]
#[error("{}: the archive cannot be written: {error}", out.display())]
pub struct BundleError {
    out: PathBuf,
    error: std::io::Error,
}

impl Bundle {
    /// Adds a run, and returns its folder below `runs/`.
    ///
    /// # Errors
    /// A folder that holds no whole run, symbolic links or other files that are none, or a copy of the experiment that is not the
    /// run's own.
    pub fn add_run(&mut self, folder: &Path, asked: impl Fn(&Run) -> RunRequest) -> Result<String, InputError> {
        let name = names::free(&names::of_folder(folder), &mut self.names);
        self.add_run_as(folder, name.clone(), asked)?;
        Ok(name)
    }

    /// Adds a session: its record, and the runs in the folders that it names. Returns its folder below `runs/`.
    ///
    /// # Errors
    /// As for [`Bundle::add_run`]; a run whose folder has a name that is not kept in an archive.
    pub fn add_session(
        &mut self,
        folder: &Path,
        record: &str,
        runs: &[String],
        asked: impl Fn(&Run) -> RunRequest,
    ) -> Result<String, InputError> {
        let session = names::free(&names::of_folder(folder), &mut self.names);
        self.archive.add_file(format!("runs/{session}/{record}"), &folder.join(record))?;
        for run in runs {
            if names::safe(run) != *run {
                let message =
                    format!("found a run in the folder `{run}`; expected letters, digits, `-`, `_` and `.` only");
                return Err(InputError::in_file(&folder.display().to_string(), message));
            }
            self.add_run_as(&folder.join(run), format!("{session}/{run}"), &asked)?;
        }
        Ok(session)
    }

    fn add_run_as(
        &mut self,
        folder: &Path,
        name: String,
        asked: impl Fn(&Run) -> RunRequest,
    ) -> Result<(), InputError> {
        let (run, others) = kept::check(folder)?;
        let others = others.into_iter().map(|other| format!("runs/{name}/{other}: it is no file of a run"));
        self.left_out.extend(others);
        let prefix = format!("runs/{name}");
        for file in waykeeper_run::folder::RUN_FILES {
            self.archive.add_file(format!("{prefix}/{file}"), &folder.join(file))?;
        }
        let inputs = Inputs::add(&mut self.archive, &name, &run, folder)?;
        self.left_out.extend(inputs.missing.iter().map(|missing| format!("of runs/{name}: {missing}")));
        let again = script::again(&name, &run, &inputs, asked(&run));
        self.runs.push(Bundled { name, run, inputs, again });
        Ok(())
    }

    /// Adds a page that is drawn from runs or a session below `runs/`, and its pictures.
    pub fn add_page(&mut self, file: &str, html: Vec<u8>, of: &[String], pictures: Vec<(String, String)>) {
        let folder = format!("{}-figures", file.trim_end_matches(".html"));
        let is_drawn = !pictures.is_empty();
        for (name, text) in pictures {
            self.archive.add(format!("{folder}/{name}"), text.into_bytes());
        }
        self.archive.add(file.to_owned(), html);
        self.pages.push(Page { file: file.into(), of: of.to_vec(), pictures: is_drawn.then_some(folder) });
    }

    /// Adds a table of interference channels: its JSON as it is, and the text of it. `about` says what the table is about, `runs`
    /// are those that it rests on, by experiment and time of their beginning.
    pub fn add_channels(&mut self, file: &Path, json: Vec<u8>, text: String, about: String, runs: &[(String, String)]) {
        let name = names::of_folder(file);
        let name = names::free(name.strip_suffix(".json").unwrap_or(&name), &mut self.names);
        let file = format!("channels/{name}.json");
        for (experiment, started) in runs {
            let is_here = |bundled: &Bundled| bundled.run.experiment == *experiment && bundled.run.started == *started;
            if !self.runs.iter().any(is_here) {
                self.left_out.push(format!("of {file}: the run of `{experiment}` that began at {started}"));
            }
        }
        self.archive.add(format!("channels/{name}.txt"), text.into_bytes());
        self.archive.add(file.clone(), json);
        self.tables.push(Table { file, about });
    }

    /// Adds a file of the caller's.
    pub fn add(&mut self, file: &str, bytes: Vec<u8>) {
        self.archive.add(file.to_owned(), bytes);
    }

    /// What is not in it, and why: a line each.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// The name of the archive's only folder, after the experiment of the first run.
    pub fn name(&self) -> String {
        let experiment = self.runs.first().map_or("runs", |bundled| bundled.run.experiment.as_str());
        format!("{}-bundle", names::safe(experiment))
    }

    /// Writes the archive to a new file.
    ///
    /// # Errors
    /// A file that exists, a place that cannot be written, a file that has changed meanwhile. No half archive stays.
    pub fn write(mut self, out: &Path, packing: Packing) -> Result<Written, BundleError> {
        let name = self.name();
        let (readme, script) = (readme::text(&self), script::text(&self));
        self.archive.add("README.md".into(), readme.into_bytes());
        self.archive.add(script::NAME.into(), script.into_bytes());
        self.archive.write(&name, out, packing).map_err(|error| BundleError { out: out.into(), error })
    }
}
