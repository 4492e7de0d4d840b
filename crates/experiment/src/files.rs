//! The files that an experiment names: platforms, policies, recordings, programs. A relative path in the file of an experiment is
//! taken from the folder of that file, one on the command line from the working directory.

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value};
use waykeeper_platform::find_bundled;
use waykeeper_workload::Workload;

use crate::describe::{Experiment, OneOrMany};
use crate::error::{InputError, Origin};
use crate::load::{Loaded, Variant};
use crate::mitigation::parts;

/// The platform name that means this machine.
const HOST: &str = "host";

/// A file that an experiment names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The key that names it.
    pub key: String,
    /// Its name there.
    pub name: String,
    /// Its path from the working directory.
    pub path: String,
    /// It is a program that is started.
    pub is_program: bool,
}

/// Whether the part of a mitigation's name is a policy file.
pub fn is_policy_file(part: &str) -> bool {
    part.ends_with(".toml")
}

/// Whether the name of a program is a path: others are looked for in `PATH`.
fn is_path(program: &str) -> bool {
    program.contains('/')
}

impl Loaded {
    /// The path of a file that the value at `key` calls `name`.
    ///
    /// # Errors
    /// There is none, but one of that name is in the working directory.
    pub fn file(&self, key: &str, name: &str) -> Result<String, InputError> {
        let path = self.located(key, name);
        let folder = Path::new(&path).parent().filter(|folder| !folder.as_os_str().is_empty());
        match folder {
            Some(folder) if path != name && !Path::new(&path).exists() && Path::new(name).exists() => {
                let message = format!(
                    "found `{name}`, and there is no `{path}`; there is one in the working directory, but paths in an \
                     experiment file are taken from its folder: move it to `{}`, or write a path from there or an absolute one",
                    folder.display()
                );
                Err(self.error(key, message))
            }
            _ => Ok(path),
        }
    }

    fn located(&self, key: &str, name: &str) -> String {
        let known = self.experiment.files.get(name);
        let from_folder = |path: &str| self.folder().join(path).to_string_lossy().into_owned();
        match (self.error(key, "").origin, known) {
            (Origin::Option(_), _) => name.to_owned(),
            (Origin::File { .. }, Some(path)) => from_folder(path),
            (Origin::File { .. }, None) => from_folder(name),
        }
    }

    /// All files that this experiment names, at any point of its sweeps: platforms, policies, recordings, programs with a path.
    ///
    /// # Errors
    /// As for [`Loaded::file`].
    pub fn named_files(&self) -> Result<Vec<NamedFile>, InputError> {
        let mut files: Vec<NamedFile> = Vec::new();
        for Variant { loaded, .. } in self.variants()? {
            for (key, name) in named(&loaded.experiment) {
                let path = loaded.file(&key, &name)?;
                if files.iter().all(|known| known.path != path) {
                    let is_program = key.ends_with(".argv");
                    files.push(NamedFile { key, name, path, is_program });
                }
            }
        }
        Ok(files)
    }

    /// A name that means two files could not be distinguished in the copy of a run.
    pub(crate) fn check_files(variants: &[Variant]) -> Result<(), InputError> {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for Variant { loaded, .. } in variants {
            for (key, name) in named(&loaded.experiment) {
                let path = loaded.located(&key, &name);
                let other = known.entry(name.clone()).or_insert_with(|| path.clone());
                if *other != path {
                    let message = format!(
                        "found `{name}`, which is `{path}` here and `{other}` elsewhere; expected absolute paths"
                    );
                    return Err(loaded.error(&key, message));
                }
            }
        }
        Ok(())
    }

    /// Absolute paths of all files that are named by relative ones, at any point of the sweeps.
    pub(crate) fn absolute_files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for variant in self.variants().unwrap_or_default() {
            let loaded = &variant.loaded;
            for (key, name) in named(&loaded.experiment).into_iter().filter(|(_, name)| Path::new(name).is_relative()) {
                let path = loaded.located(&key, &name);
                let absolute =
                    std::path::absolute(&path).ok().and_then(|path| path.into_os_string().into_string().ok());
                files.insert(name, absolute.unwrap_or(path));
            }
        }
        files
    }
}

/// The names of files in an experiment, each with its key.
fn named(experiment: &Experiment) -> Vec<(String, String)> {
    let mut named = Vec::new();
    let mut add = |key: String, name: &str| named.push((key, name.to_owned()));
    if experiment.platform != HOST && find_bundled(&experiment.platform).is_none() {
        add("platform".into(), &experiment.platform);
    }
    for (key, part) in policies(experiment) {
        add(key, part);
    }
    for (name, workload) in &experiment.workloads {
        match workload {
            Workload::Trace(trace) => {
                trace.file.iter().for_each(|file| add(format!("workloads.{name}.file"), file));
            }
            Workload::Command(command) => {
                let program = command.argv.first().filter(|program| is_path(program));
                program.into_iter().for_each(|program| add(format!("workloads.{name}.argv"), program));
            }
            _ => {}
        }
    }
    let targets = experiment.targets.iter().enumerate().map(|(at, target)| (format!("targets.{at}"), &target.with));
    let neighbours = experiment.neighbours.iter().enumerate();
    let neighbours = neighbours.map(|(at, neighbour)| (format!("neighbours.{at}"), &neighbour.with));
    for (key, with) in targets.chain(neighbours) {
        if let Some(file) = with.get("file").and_then(Value::as_str) {
            add(format!("{key}.with.file"), file);
        }
        if let Some(program) = program_of(with).filter(|program| is_path(program)) {
            add(format!("{key}.with.argv"), program);
        }
    }
    named
}

fn program_of(with: &Table) -> Option<&str> {
    with.get("argv")?.as_array()?.first()?.as_str()
}

/// The mitigations that are files of policies, each with its key.
fn policies(experiment: &Experiment) -> Vec<(String, &str)> {
    let key = |at: usize| match experiment.mitigations {
        OneOrMany::One(_) => "mitigations".to_owned(),
        OneOrMany::Many(_) => format!("mitigations.{at}"),
    };
    let listed = experiment.mitigations.as_slice().iter().enumerate();
    listed
        .flat_map(|(at, name)| parts(name).into_iter().map(move |part| (at, part)))
        .filter(|(_, part)| is_policy_file(part))
        .map(|(at, part)| (key(at), part))
        .collect()
}

impl Loaded {
    /// The mitigations that are files of policies, by name, and where each is.
    ///
    /// # Errors
    /// As for [`Loaded::file`].
    pub fn policy_files(&self) -> Result<BTreeMap<String, String>, InputError> {
        let files = policies(&self.experiment).into_iter();
        files.map(|(key, part)| Ok((part.to_owned(), self.file(&key, part)?))).collect()
    }

    /// A workload with the paths of its files in the places of their names; `key_of` returns the key of one of its keys.
    pub(crate) fn with_files(
        &self,
        mut workload: Workload,
        key_of: impl Fn(&str) -> String,
    ) -> Result<Workload, InputError> {
        match &mut workload {
            Workload::Trace(trace) => {
                if let Some(file) = &mut trace.file {
                    *file = self.file(&key_of("file"), file)?;
                }
            }
            Workload::Command(command) => {
                if let Some(program) = command.argv.first_mut().filter(|program| is_path(program)) {
                    *program = self.file(&key_of("argv"), program)?;
                }
            }
            _ => {}
        }
        Ok(workload)
    }
}
