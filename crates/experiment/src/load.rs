//! Reading an experiment: a bundled name or a file, then the overrides of the command line.

use std::path::Path;

use toml::Table;
use waykeeper_platform::locate::{line_at, line_of};

use crate::bundled::{bundled, find_bundled};
use crate::describe::Experiment;
use crate::error::{InputError, Origin};
use crate::explain::{self, one_line};
use crate::set::Set;

/// An experiment as read, with what is needed to say where a mistake in it stands.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Short name: the bundled name, or the file's without its ending.
    pub name: String,
    /// The experiment with all overrides in it.
    pub experiment: Experiment,
    source: Source,
}

#[derive(Debug, Clone)]
struct Source {
    file: String,
    text: String,
    sets: Vec<Set>,
}

impl Loaded {
    /// Reads a bundled experiment or a file and applies `sets` in their order.
    ///
    /// # Errors
    /// A name that is neither; a file that cannot be read or is not an experiment; an override that does not fit.
    pub fn open(name_or_path: &str, sets: Vec<Set>) -> Result<Self, InputError> {
        if let Some(found) = find_bundled(name_or_path) {
            return Self::from_text(found.name, &format!("experiments/{}.toml", found.name), found.text, sets);
        }
        let path = Path::new(name_or_path);
        let text = std::fs::read_to_string(path).map_err(|error| {
            let names: Vec<_> = bundled().iter().map(|b| b.name).collect();
            InputError::in_file(
                name_or_path,
                format!(
                    "no experiment of this name is bundled, and as a file it cannot be read ({error}); bundled are {}",
                    names.join(", ")
                ),
            )
        })?;
        let name = path.file_stem().map_or_else(|| name_or_path.to_owned(), |stem| stem.to_string_lossy().into_owned());
        Self::from_text(&name, name_or_path, &text, sets)
    }

    /// Reads an experiment from text; `file` is the name for errors.
    ///
    /// # Errors
    /// As for [`Loaded::open`].
    pub fn from_text(name: &str, file: &str, text: &str, sets: Vec<Set>) -> Result<Self, InputError> {
        let mut document: Table = text.parse().map_err(|error: toml::de::Error| InputError {
            origin: Origin::File { name: file.into(), line: error.span().map(|span| line_at(text, span.start)) },
            key: String::new(),
            message: format!("this is not TOML: {}", one_line(error.message())),
        })?;
        for set in &sets {
            set.apply(&mut document)?;
        }
        let source = Source { file: file.into(), text: text.into(), sets };
        let experiment = explain::experiment(&document).map_err(|(path, message)| source.error(&path, message))?;
        let loaded = Self { name: name.into(), experiment, source };
        loaded.check()?;
        Ok(loaded)
    }

    /// An error about a key of this experiment: names the option that set it, or its line in the file.
    pub fn error(&self, key: &str, message: impl Into<String>) -> InputError {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        self.source.error(&path, message.into())
    }

    /// The experiment as it is run, as TOML text that reads back to the same experiment.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.experiment).expect("every experiment that was read can be written")
    }

    fn check(&self) -> Result<(), InputError> {
        let experiment = &self.experiment;
        if experiment.targets.is_empty() {
            return Err(self.error("targets", "the list is empty; expected at least one `[[targets]]` with a workload"));
        }
        // A counter of 2^63 picoseconds is the simulator's horizon; a day is far below it and above any sane case.
        let durations =
            [("duration", Some(experiment.duration)), ("simulated_duration", experiment.simulated_duration)];
        for (key, duration) in durations {
            if let Some(duration) = duration.filter(|d| !(1e3..=86_400e9).contains(&d.0)) {
                return Err(self.error(key, format!("found {duration}; expected 1 us to 24 h")));
            }
        }
        if experiment.excursions.gap.0 < 1.0 {
            let message = format!("found {}; expected 1 ns or more, such as `100 us`", experiment.excursions.gap);
            return Err(self.error("excursions.gap", message));
        }
        for (index, reference) in experiment.references.iter().enumerate() {
            if experiment.published.is_none() {
                return Err(self.error(
                    "references",
                    "reference figures need a `[published]` table that says what they belong to",
                ));
            }
            for (key, figure) in [
                ("min_ns", reference.min_ns),
                ("mean_ns", reference.mean_ns),
                ("max_ns", reference.max_ns),
                ("run_length_s", reference.run_length_s),
            ] {
                self.check_figure(&format!("references.{index}.{key}"), figure)?;
            }
        }
        self.check_figure("published.run_length_s", experiment.published.as_ref().and_then(|p| p.run_length_s))?;
        self.check_names()
    }

    fn check_figure(&self, key: &str, figure: Option<f64>) -> Result<(), InputError> {
        match figure {
            Some(figure) if !(figure.is_finite() && figure > 0.0) => {
                Err(self.error(key, format!("found {figure}; expected a number above 0")))
            }
            _ => Ok(()),
        }
    }

    /// Names stand in the names of cases, where other characters would be ambiguous.
    fn check_names(&self) -> Result<(), InputError> {
        let legal = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
        if let Some(name) = self.experiment.workloads.keys().find(|name| !legal(name)) {
            let message = format!("found the name {name:?}; expected letters, digits, `_` and `-`");
            return Err(self.error("workloads", message));
        }
        for (index, neighbour) in self.experiment.neighbours.iter().enumerate() {
            if let Some(group) = neighbour.group.as_ref().filter(|group| !legal(group)) {
                let message = format!("found the name {group:?}; expected letters, digits, `_` and `-`");
                return Err(self.error(&format!("neighbours.{index}.group"), message));
            }
        }
        Ok(())
    }
}

impl Source {
    fn error(&self, path: &[String], message: String) -> InputError {
        let key = path.join(".");
        // The last override that touches the key, or lies inside it, is where the value came from.
        let set = self.sets.iter().rev().find(|set| {
            let shared = set.path.len().min(path.len());
            set.path[..shared] == path[..shared]
        });
        let line = line_of(&self.text, path);
        match set {
            Some(set) if set.path.len() <= path.len() || line.is_none() => {
                InputError { origin: Origin::Option(set.option.clone()), key, message }
            }
            _ => InputError { origin: Origin::File { name: self.file.clone(), line }, key, message },
        }
    }
}
