//! Inputs of a run that are still there: each file must have a hash that the run knows.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::fs::OFlags;
use toml::{Table, Value};
use waykeeper_experiment::{InputError, Loaded, NamedFile};
use waykeeper_platform::find_bundled;
use waykeeper_run::folder::EXPERIMENT_FILE;
use waykeeper_run::sha256::of_bytes;
use waykeeper_run::{Provenance, Run};

use crate::archive::{Archive, hashed};
use crate::names;

/// The inputs of a run in an archive.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// The experiment that makes the run again, by its path in the archive.
    pub experiment: String,
    /// What is in the archive: what it is for the run, and its path.
    pub found: Vec<(String, String)>,
    /// What is not, and why.
    pub missing: Vec<String>,
    /// Why the run cannot be made again from the archive.
    pub lacking: Option<String>,
}

impl Inputs {
    /// Adds the inputs of a run.
    ///
    /// # Errors
    /// An experiment that cannot be read.
    pub(crate) fn add(archive: &mut Archive, name: &str, run: &Run, folder: &Path) -> Result<Self, InputError> {
        let experiment = folder.join(EXPERIMENT_FILE);
        let file = experiment.display().to_string();
        let text = waykeeper_platform::read_text(&experiment)
            .map_err(|error| InputError::in_file(&file, format!("it cannot be read: {error}")))?;
        let mut inputs = Self { experiment: format!("runs/{name}/{EXPERIMENT_FILE}"), ..Self::default() };
        let Some(provenance) = &run.provenance else {
            inputs.missing.push("inputs of it, for it has no hashes of them (`provenance` in run.json)".into());
            return Ok(inputs);
        };
        inputs.bundled(archive, run, provenance);
        // Paths in the copy of a run are absolute.
        let named = Loaded::from_text("experiment", &file, &text, Vec::new()).and_then(|loaded| loaded.named_files());
        match named {
            Ok(named) => inputs.named(archive, name, &text, provenance, &named),
            Err(error) => {
                inputs.lacking = Some(format!("this version of Waykeeper does not take its experiment: {error}"))
            }
        }
        inputs.unknown(archive, provenance);
        Ok(inputs)
    }

    /// Platform and workloads that come with the program, where this one has them as the run knew them.
    fn bundled(&mut self, archive: &mut Archive, run: &Run, provenance: &Provenance) {
        let platform = provenance
            .platform
            .iter()
            .filter_map(|hash| Some(("platforms", run.platform.as_str(), hash, find_bundled(&run.platform)?.text)));
        let workloads = provenance.workloads.iter().filter_map(|(name, hash)| {
            Some(("workloads", name.as_str(), hash, waykeeper_workload::find_bundled(name)?.text))
        });
        for (kind, name, hash, text) in platform.chain(workloads) {
            if of_bytes(text) == *hash {
                let path = format!("inputs/bundled/{kind}/{}.toml", names::safe(name));
                archive.add(path.clone(), text.as_bytes().to_vec());
                self.found.push((format!("{} `{name}`", kind.trim_end_matches('s')), path));
            }
        }
    }

    /// Files that the experiment names, and a copy of it that names those of the archive.
    fn named(
        &mut self,
        archive: &mut Archive,
        run: &str,
        experiment: &str,
        provenance: &Provenance,
        named: &[NamedFile],
    ) {
        let known = hashes(provenance);
        let mut moved = Table::new();
        for file in named {
            let what = format!("`{}` ({})", file.name, file.key);
            if file.is_program {
                self.missing.push(format!("the program {what}, which is not copied: the run has no hash of it"));
                continue;
            }
            let path = Path::new(&file.path);
            let hash = match hashed(path, OFlags::empty()) {
                Ok((_, hash)) if known.contains(hash.as_str()) => hash,
                Ok(_) => {
                    self.lack(format!("{what}, which is not as it was for the run: its SHA-256 is another one"));
                    continue;
                }
                Err(error) => {
                    self.lack(format!("{what}, which cannot be read: {error}"));
                    continue;
                }
            };
            match place(archive, path, &hash) {
                Ok(place) => {
                    let up = "../".repeat(run.matches('/').count());
                    moved.insert(
                        file.name.clone(),
                        Value::String(format!("{up}{}", place.trim_start_matches("inputs/"))),
                    );
                    self.found.push((what, place));
                }
                Err(error) => self.lack(format!("{what}: {error}")),
            }
        }
        if !moved.is_empty()
            && let Some(text) = with_files(experiment, moved)
        {
            self.experiment = format!("inputs/{run}.toml");
            archive.add(self.experiment.clone(), text.into_bytes());
        }
    }

    fn lack(&mut self, what: String) {
        self.lacking.get_or_insert_with(|| format!("the archive lacks {what}"));
        self.missing.push(what);
    }

    /// What the run has a hash of, and no file was found for.
    fn unknown(&mut self, archive: &Archive, provenance: &Provenance) {
        let found: BTreeSet<&str> = self.found.iter().filter_map(|(_, path)| archive.sha256(path)).collect();
        let platform = provenance.platform.iter().map(|hash| ("the platform's file".to_owned(), hash));
        let workloads = provenance.workloads.iter().map(|(name, hash)| (format!("the workload `{name}`"), hash));
        let policies = provenance.policies.iter().map(|(name, hash)| (format!("the policy `{name}`"), hash));
        let unknown = platform.chain(workloads).chain(policies).filter(|(_, hash)| !found.contains(hash.as_str()));
        self.missing.extend(unknown.map(|(what, hash)| format!("{what} with the SHA-256 {hash}, which was not found")));
    }
}

fn hashes(provenance: &Provenance) -> BTreeSet<&str> {
    let Provenance { platform, workloads, policies, .. } = provenance;
    platform.iter().chain(workloads.values()).chain(policies.values()).map(String::as_str).collect()
}

/// Puts a file into the archive, once: runs share their inputs.
fn place(archive: &mut Archive, file: &Path, hash: &str) -> Result<String, InputError> {
    let name = names::of_folder(file);
    let mut taken = BTreeSet::new();
    loop {
        let place = format!("inputs/files/{}", names::free(&name, &mut taken));
        match archive.sha256(&place) {
            Some(there) if there == hash => return Ok(place),
            Some(_) => {}
            None => {
                // Through links: the run knows the content, wherever it lies.
                let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
                archive.add_file(place.clone(), &real)?;
                return Ok(place);
            }
        }
    }
}

/// An experiment with other places of its files.
fn with_files(text: &str, moved: Table) -> Option<String> {
    let mut document: Table = text.parse().ok()?;
    let files = document.entry("files").or_insert_with(|| Value::Table(Table::new()));
    files.as_table_mut()?.extend(moved);
    toml::to_string(&document).ok()
}
