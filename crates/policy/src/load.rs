//! Reading a policy: a bundled name or a file.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Table;
use waykeeper_platform::explain::{document, one_line};
use waykeeper_platform::locate::{line_at, line_of};
use waykeeper_platform::read_text;

use crate::bundled::{bundled, find_bundled};
use crate::check::check;
use crate::cores::{CoreList, Cores};
use crate::describe::Policy;

/// Why a policy was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    /// The file, `policies/NAME.toml` for a bundled one, or the option that the mistake is in.
    pub file: String,
    /// Line, from 1, where known.
    pub line: Option<usize>,
    /// Path of the key, such as `classes.0.l3`; empty where the whole policy is meant.
    pub key: String,
    /// What was found and what would do.
    pub message: String,
}

impl std::fmt::Display for PolicyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let key = if self.key.is_empty() { String::new() } else { format!("{}: ", self.key) };
        // What was found may hold line breaks and other control characters.
        let text = format!("{}{line}: {key}{}", self.file, self.message);
        f.write_str(
            &text
                .chars()
                .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.into() })
                .collect::<String>(),
        )
    }
}

impl std::error::Error for PolicyError {}

/// A policy as read, with what is needed to say where a mistake in it stands.
#[derive(Debug, Clone)]
pub struct LoadedPolicy {
    /// Short name: the bundled name, or the file's without its ending.
    pub name: String,
    /// The policy.
    pub policy: Policy,
    file: String,
    text: String,
    /// The options that gave classes their cores, by the keys of those.
    options: BTreeMap<String, String>,
}

impl LoadedPolicy {
    /// Reads a bundled policy or a file.
    ///
    /// # Errors
    /// A name that is neither; a file that cannot be read or is no policy.
    pub fn open(name_or_path: &str) -> Result<Self, PolicyError> {
        if let Some(found) = find_bundled(name_or_path) {
            return Self::from_text(found.name, &format!("policies/{}.toml", found.name), found.text);
        }
        let path = Path::new(name_or_path);
        let text = read_text(path).map_err(|error| {
            let names: Vec<_> = bundled().iter().map(|b| b.name).collect();
            let message = format!(
                "no policy of this name is bundled, and as a file it cannot be read ({error}); bundled are {}",
                names.join(", ")
            );
            PolicyError { file: name_or_path.into(), line: None, key: String::new(), message }
        })?;
        let name = path.file_stem().map_or_else(|| name_or_path.to_owned(), |stem| stem.to_string_lossy().into_owned());
        Self::from_text(&name, name_or_path, &text)
    }

    /// Reads a policy from text; `file` is the name for errors.
    ///
    /// # Errors
    /// Text that is not TOML, keys that are unknown or missing, values that make no sense on any machine.
    pub fn from_text(name: &str, file: &str, text: &str) -> Result<Self, PolicyError> {
        let refuse = |line, key: String, message: String| PolicyError { file: file.into(), line, key, message };
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map(|span| line_at(text, span.start));
            refuse(line, String::new(), format!("this is not TOML: {}", one_line(error.message())))
        })?;
        let policy: Policy =
            document(&table).map_err(|(path, message)| refuse(line_of(text, &path), path.join("."), message))?;
        let loaded = Self { name: name.into(), policy, file: file.into(), text: text.into(), options: BTreeMap::new() };
        check(&loaded.policy).map_err(|(key, message)| loaded.error(&key, message))?;
        Ok(loaded)
    }

    /// A mistake in this policy, or in the option that a value of it came from.
    pub fn error(&self, key: &str, message: impl Into<String>) -> PolicyError {
        if let Some(option) = self.options.get(key) {
            return PolicyError { file: option.clone(), line: None, key: String::new(), message: message.into() };
        }
        let line = if key.is_empty() { None } else { line_of(&self.text, &key.split('.').collect::<Vec<_>>()) };
        PolicyError { file: self.file.clone(), line, key: key.into(), message: message.into() }
    }

    /// This policy with other cores for a class.
    ///
    /// # Errors
    /// A class that is not there, a core that another class has.
    pub fn with_cores(mut self, class: &str, cores: CoreList) -> Result<Self, PolicyError> {
        let names: Vec<_> = self.policy.classes.iter().map(|class| class.name.clone()).collect();
        let found = self.policy.classes.iter_mut().find(|it| it.name == class);
        match found {
            Some(found) => found.cores = Some(Cores::Everywhere(cores)),
            None => {
                let message = format!("there is no class `{class}`; there are {}", names.join(", "));
                return Err(self.error("classes", message));
            }
        }
        check(&self.policy).map_err(|(key, message)| self.error(&key, message))?;
        Ok(self)
    }

    /// This policy with other cores for a class, as an option has them: it is named where they are wrong.
    ///
    /// # Errors
    /// As for [`LoadedPolicy::with_cores`].
    pub fn with_cores_of(self, option: &str, class: &str, cores: CoreList) -> Result<Self, PolicyError> {
        let of_option =
            |error: PolicyError| PolicyError { file: option.into(), line: None, key: String::new(), ..error };
        let mut loaded = self.with_cores(class, cores).map_err(of_option)?;
        let place = loaded.policy.classes.iter().position(|it| it.name == class);
        loaded.options.extend(place.map(|place| (format!("classes.{place}.cores"), option.to_owned())));
        Ok(loaded)
    }
}
