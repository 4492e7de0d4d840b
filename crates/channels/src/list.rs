//! The channels as data.

use std::sync::LazyLock;

use serde::Deserialize;

/// The list of channels, the settings that reduce them, and what the table assumes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelList {
    /// The channels, in the order of the table.
    pub channel: Vec<ListedChannel>,
    /// What reduces channels.
    pub(crate) setting: Vec<ListedSetting>,
    /// Programs of others that exercise channels.
    pub(crate) program: Vec<ListedProgram>,
    assumption: Vec<Sentence>,
    anomaly: Vec<Sentence>,
}

/// A channel of the list.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedChannel {
    /// Its id, which does not change between releases.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How it delays a core.
    pub how: String,
    /// The doctor's checks that say how far it is open.
    #[serde(default)]
    pub checks: Vec<String>,
    /// Counters and other events of a run that witness it.
    #[serde(default)]
    pub counters: Vec<String>,
    /// What neither the table nor a measurement shows.
    #[serde(default)]
    pub not_covered: Vec<String>,
    /// The program that exercises it, where no workload of Waykeeper does.
    pub external: Option<String>,
    /// The neighbour of a measurement, where it can exercise the channel on the place.
    pub measured_with: Option<String>,
}

/// A program of others, by its name and arguments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListedProgram {
    /// The name of its file.
    pub name: String,
    /// Arguments that all are there.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The channels.
    pub exercises: Vec<String>,
}

/// Lines of resctrl, or registers, that reduce channels.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListedSetting {
    /// Names of lines of `schemata`.
    #[serde(default)]
    pub schemata: Vec<String>,
    /// Beginnings of names of registers.
    #[serde(default)]
    pub register: Vec<String>,
    /// The channels.
    pub reduces: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sentence {
    text: String,
}

/// The list.
pub fn list() -> &'static ChannelList {
    static LIST: LazyLock<ChannelList> = LazyLock::new(|| {
        // A test reads the file too, so that it is never empty.
        toml::from_str(include_str!("channels.toml")).unwrap_or_default()
    });
    &LIST
}

impl ChannelList {
    /// What whoever uses the table takes on, a sentence or two each.
    pub fn assumptions(&self) -> Vec<String> {
        self.assumption.iter().map(|sentence| sentence.text.clone()).collect()
    }

    /// What is known to be missing or misleading in the table.
    pub fn anomalies(&self) -> Vec<String> {
        self.anomaly.iter().map(|sentence| sentence.text.clone()).collect()
    }

    /// The channels that a line of `schemata` with this name reduces.
    pub(crate) fn by_schemata(&self, name: &str) -> Option<&[String]> {
        let setting = self.setting.iter().find(|setting| setting.schemata.iter().any(|own| own == name))?;
        Some(&setting.reduces)
    }

    /// The channels that a register with this name reduces.
    pub(crate) fn by_register(&self, name: &str) -> Option<&[String]> {
        let begins = |setting: &&ListedSetting| setting.register.iter().any(|own| name.starts_with(own.as_str()));
        Some(&self.setting.iter().find(begins)?.reduces)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_list_reads_and_names_what_is_there() {
        let list: ChannelList = toml::from_str(include_str!("channels.toml")).unwrap();
        let ids: BTreeSet<&str> = list.channel.iter().map(|channel| channel.id.as_str()).collect();
        assert_eq!(ids.len(), list.channel.len(), "an id is there twice");
        for setting in &list.setting {
            assert!(setting.reduces.iter().all(|id| ids.contains(id.as_str())), "{setting:?}");
            assert!(setting.schemata.is_empty() != setting.register.is_empty(), "{setting:?}");
        }
        assert!(list.program.iter().flat_map(|program| &program.exercises).all(|id| ids.contains(id.as_str())));
        let measured = list.channel.iter().filter_map(|channel| channel.measured_with.as_deref());
        for workload in measured {
            assert!(waykeeper_workload::find_bundled(workload).is_some(), "{workload}");
        }
        let checks: BTreeSet<&str> = waykeeper_doctor::CHECKS.iter().map(|check| check.id).collect();
        for channel in &list.channel {
            assert!(channel.checks.iter().all(|check| checks.contains(check.as_str())), "{channel:?}");
            assert!(!channel.not_covered.is_empty(), "{}: nothing covers a channel in full", channel.id);
        }
        assert!(!list.assumptions().is_empty() && !list.anomalies().is_empty());
    }

    /// Each register of a setting begins a name that `decode` knows.
    #[test]
    fn registers_of_settings_are_described() {
        let known: Vec<&str> = waykeeper_policy::register::all().map(|register| register.name).collect();
        for begins in list().setting.iter().flat_map(|setting| &setting.register) {
            assert!(known.iter().any(|name| name.starts_with(begins.as_str())), "{begins}");
        }
    }
}
