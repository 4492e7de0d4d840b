//! Reading an experiment: a bundled name or a file, then the overrides of the command line, then the points of its sweeps.

use std::path::{Path, PathBuf};

use toml::Table;
use waykeeper_platform::locate::{line_at, line_of};
use waykeeper_platform::read_text;

use crate::bundled::{bundled, find_bundled};
use crate::check::is_name;
use crate::describe::Experiment;
use crate::error::{InputError, Origin};
use crate::explain::{self, Mistake, one_line};
use crate::point::Point;
use crate::set::Set;
use crate::sweep::{self, Setting};

/// An experiment as read, with what is needed to say where a mistake in it stands.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Short name: the one in the experiment, the bundled name, or the file's without its ending.
    pub name: String,
    /// The experiment with all overrides in it.
    pub experiment: Experiment,
    source: Source,
    document: Table,
    /// The document before the overrides.
    as_written: Table,
}

/// An experiment at one point of its sweeps.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The point.
    pub point: Point,
    /// The experiment there.
    pub loaded: Loaded,
    /// The experiment there without the overrides of the command line; none where the file has no such point.
    pub as_written: Option<Loaded>,
}

#[derive(Debug, Clone)]
struct Source {
    file: String,
    /// The folder of the file; empty for the working directory, and where the text is from no file.
    folder: PathBuf,
    text: String,
    sets: Vec<Set>,
    /// What the sweeps set at this point.
    swept: Vec<Setting>,
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
        let text = read_text(path).map_err(|error| {
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
        Self::read(&name, name_or_path, path.parent().unwrap_or(Path::new("")), &text, sets)
    }

    /// Reads an experiment from text; `file` is the name for errors.
    ///
    /// # Errors
    /// As for [`Loaded::open`].
    pub fn from_text(name: &str, file: &str, text: &str, sets: Vec<Set>) -> Result<Self, InputError> {
        Self::read(name, file, Path::new(""), text, sets)
    }

    fn read(name: &str, file: &str, folder: &Path, text: &str, sets: Vec<Set>) -> Result<Self, InputError> {
        let as_written: Table = text.parse().map_err(|error: toml::de::Error| InputError {
            origin: Origin::File { name: file.into(), line: error.span().map(|span| line_at(text, span.start)) },
            key: String::new(),
            message: format!("this is not TOML: {}", one_line(error.message())),
        })?;
        let mut document = as_written.clone();
        let mut placed = Vec::new();
        for set in sets {
            let set = set.with_places(&document);
            set.apply(&mut document)?;
            placed.push(set);
        }
        let source =
            Source { file: file.into(), folder: folder.into(), text: text.into(), sets: placed, swept: Vec::new() };
        let experiment = explain::experiment(&document).map_err(|mistake| source.told(mistake))?;
        let name = experiment.name.clone().unwrap_or_else(|| name.into());
        let loaded = Self { name, experiment, source, document, as_written };
        loaded.check()?;
        loaded.check_overrides_of_sweeps()?;
        let variants = loaded.variants()?;
        for variant in &variants {
            variant.loaded.check().map_err(|error| loaded.at_variant(variant, error))?;
        }
        Self::check_files(&variants)?;
        Ok(loaded)
    }

    /// The experiment at each point of its sweeps, in the order of their grid; itself where it has none.
    ///
    /// # Errors
    /// A sweep that is none, or a point at which this is no experiment.
    pub fn variants(&self) -> Result<Vec<Variant>, InputError> {
        let grid = sweep::grid(&self.experiment.sweep).map_err(|(key, message)| self.error(&key, message))?;
        let own = if self.source.sets.is_empty() { None } else { Some(self.grid_as_written()) };
        let variant = |(point, settings): (Point, Vec<Setting>)| {
            let loaded = self.at(settings.clone()).map_err(|error| self.replaced(&settings, error))?;
            let as_written = match &own {
                None => Some(loaded.clone()),
                Some((own, grid)) => {
                    let same = |(at, list): &&(Point, Vec<Setting>)| {
                        let values = |list: &[Setting]| -> Vec<_> {
                            list.iter().map(|setting| (setting.path.clone(), setting.value.clone())).collect()
                        };
                        *at == point && values(list) == values(&settings)
                    };
                    grid.iter().find(same).and_then(|(_, settings)| own.as_ref()?.at(settings.clone()).ok())
                }
            };
            Ok(Variant { point, loaded, as_written })
        };
        grid.into_iter().map(variant).collect()
    }

    /// The file without overrides, and the grid of its own sweeps.
    fn grid_as_written(&self) -> (Option<Self>, Vec<(Point, Vec<Setting>)>) {
        let Ok(experiment) = explain::experiment(&self.as_written) else { return (None, Vec::new()) };
        let grid = sweep::grid_of_all(&experiment.sweep).unwrap_or_default();
        let source = Source { sets: Vec::new(), ..self.source.clone() };
        let own = Self {
            name: self.name.clone(),
            experiment,
            source,
            document: self.as_written.clone(),
            as_written: self.as_written.clone(),
        };
        (Some(own), grid)
    }

    /// This experiment with what a point of the sweeps sets.
    fn at(&self, settings: Vec<Setting>) -> Result<Self, InputError> {
        if settings.is_empty() {
            return Ok(self.clone());
        }
        let mut document = self.document.clone();
        for setting in &settings {
            let set = Set { option: String::new(), path: setting.path.clone(), value: setting.value.clone() };
            set.apply(&mut document).map_err(|error| {
                let message = format!("for `{}`: {}", set.key(), error.message);
                self.source.error(&setting.stands_at, message)
            })?;
        }
        let source = Source { swept: settings, ..self.source.clone() };
        let experiment = explain::experiment(&document).map_err(|mistake| source.told(mistake))?;
        Ok(Self { name: self.name.clone(), experiment, source, document, as_written: self.as_written.clone() })
    }

    /// An error at a point of the sweeps, explained where it is of what a sweep sets.
    pub(crate) fn at_variant(&self, variant: &Variant, error: InputError) -> InputError {
        match error.key.starts_with("sweep.") {
            true => self.replaced(&variant.loaded.source.swept, error),
            false => error,
        }
    }

    /// Why a point cannot be run, where an override put something else in the place of what its sweep varies, such as a
    /// program in the place of the target.
    fn replaced(&self, settings: &[Setting], error: InputError) -> InputError {
        let below =
            |set: &&Set, setting: &Setting| setting.path.len() > set.path.len() && setting.path.starts_with(&set.path);
        let by = |setting| Some((setting, self.source.sets.iter().find(|set| below(set, setting))?));
        let Some((setting, set)) = settings.iter().find_map(by) else { return error };
        let sweep = setting.stands_at[1].parse().ok().and_then(|at: usize| self.experiment.sweep.get(at));
        let message = format!(
            "the sweep `{}` of the experiment varies `{}`, which what this option puts there does not have; `--set sweep=[]` \
             runs it without sweeps, with `--set expectations=[]` where expectations name their points",
            sweep.map_or("", |sweep| sweep.name.as_str()),
            setting.path.join(".")
        );
        InputError::in_option(&set.option, message)
    }

    /// An override of a key that a sweep varies would be lost.
    fn check_overrides_of_sweeps(&self) -> Result<(), InputError> {
        let grid = sweep::grid(&self.experiment.sweep).map_err(|(key, message)| self.error(&key, message))?;
        // A whole target of another option has the keys that the file has for it, and the sweeps vary them as they vary the file's.
        let loses = |set: &Set, setting: &Setting| {
            setting.path.len() <= set.path.len() || set.option.starts_with("--set ") && set.has(&setting.path)
        };
        for set in &self.source.sets {
            let varied = grid
                .iter()
                .flat_map(|(_, settings)| settings)
                .find(|setting| sweep::overlaps(&setting.path, &set.path) && loses(set, setting));
            if let Some(setting) = varied {
                let sweep = setting.stands_at[1].parse().ok().and_then(|at: usize| self.experiment.sweep.get(at));
                let name = sweep.map_or("", |sweep| sweep.name.as_str());
                let key = match setting.path.len() > set.path.len() {
                    true => format!("`{}`, which this option sets", setting.path.join(".")),
                    false => "this key".to_owned(),
                };
                let message =
                    format!("the sweep `{name}` varies {key}; `--set sweep.{name}.only=...` chooses among its points");
                return Err(InputError { key: set.key(), ..InputError::in_option(&set.option, message) });
            }
        }
        Ok(())
    }

    /// An error about a key of this experiment: names the option that set it, or its line in the file.
    pub fn error(&self, key: &str, message: impl Into<String>) -> InputError {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        self.source.error(&path, message.into())
    }

    /// The experiment with all overrides in it, as written.
    pub(crate) fn document(&self) -> &Table {
        &self.document
    }

    /// The folder that relative paths in the experiment's file are taken from.
    pub(crate) fn folder(&self) -> &Path {
        &self.source.folder
    }

    /// The experiment as it is run, as TOML text that reads back to the same experiment, in whichever folder it stands and
    /// whatever its file is called.
    pub fn to_toml(&self) -> String {
        let files = self.absolute_files();
        // A file may have a name that an experiment may not give itself.
        let name = Some(self.name.clone()).filter(|name| is_name(name));
        toml::to_string(&Experiment { files, name, ..self.experiment.clone() })
            .expect("every experiment that was read can be written")
    }
}

impl Source {
    fn told(&self, (path, message): Mistake) -> InputError {
        self.error(&path, message)
    }

    fn error(&self, path: &[String], message: String) -> InputError {
        let inside = |set: &[String]| set.len() <= path.len() && sweep::overlaps(set, path);
        if let Some(setting) = self.swept.iter().rev().find(|setting| inside(&setting.path)) {
            return self.of_file_or_option(&setting.stands_at, format!("for `{}`: {message}", path.join(".")));
        }
        // A target or a neighbour that only the sweep has made, with one key.
        let makes = |setting: &&Setting| setting.path.len() > path.len() && setting.path.starts_with(path);
        if !path.is_empty()
            && line_of(&self.text, path).is_none()
            && let Some(setting) = self.swept.iter().rev().find(makes)
        {
            let made = format!("the experiment has no `{}`, of which this varies a key: {message}", path.join("."));
            return self.of_file_or_option(&setting.stands_at, made);
        }
        self.of_file_or_option(path, message)
    }

    fn of_file_or_option(&self, path: &[String], message: String) -> InputError {
        let key = path.join(".");
        // The last override that touches the key, or lies inside it, is where the value came from. What the whole file lacks came
        // from none.
        let set = self.sets.iter().rev().find(|set| !path.is_empty() && sweep::overlaps(&set.path, path));
        let line = line_of(&self.text, path);
        match set {
            Some(set) if set.path.len() <= path.len() || line.is_none() => {
                InputError { origin: Origin::Option(set.option.clone()), key, message }
            }
            _ => InputError { origin: Origin::File { name: self.file.clone(), line }, key, message },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, sets: &[&str]) -> String {
        let sets = sets.iter().map(|set| Set::parse(set).unwrap()).collect();
        Loaded::from_text("x", "x.toml", text, sets).unwrap_err().to_string()
    }

    #[test]
    fn what_a_file_lacks_is_no_options_fault() {
        let text = "[[targets]]\nworkload = 'latency_loop'\ncore = 1\n";
        assert_eq!(refused(text, &["duration=1ms"]), "x.toml: the key `title` is missing");
        // A neighbour that only the option has made.
        let text = format!("title = 'x'\n{text}");
        let told = refused(&text, &["neighbours.0.with.size=8 KiB"]);
        assert!(told.starts_with("--set neighbours.0.with.size"), "{told}");
    }

    #[test]
    fn a_sweep_over_a_neighbour_that_is_not_there_is_named() {
        let text = "title = 'x'\n[[targets]]\nworkload = 'latency_loop'\ncore = 1\n\
                    [[sweep]]\nname = 'n'\nkey = 'neighbours.0.with.size'\nvalues = ['8 KiB', '16 KiB']\n";
        let told = refused(text, &[]);
        assert!(told.starts_with("x.toml:8: sweep.0.values.0: the experiment has no `neighbours.0`"), "{told}");
    }
}
