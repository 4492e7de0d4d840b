//! What is validated, as data: `validation.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Parameter sets that are drawn for each experiment.
    pub members: usize,
    /// A member is kept if each fitted figure is within this factor of the published one.
    pub accept_within: f64,
    /// For the draws.
    pub seed: u64,
    /// The experiments.
    #[serde(rename = "experiment")]
    pub experiments: Vec<Part>,
}

/// One chapter: an experiment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name of the experiment.
    pub name: String,
    /// Title of the chapter; the experiment's name where absent.
    #[serde(default)]
    pub title: Option<String>,
    /// Overrides (`KEY=VALUE`) of all its runs.
    #[serde(default)]
    pub set: Vec<String>,
    /// The platform that its parameters are drawn from.
    pub platform: String,
    /// The run with the platform file as it is.
    pub base: Length,
    /// Parameter sets that are drawn, in place of the file's number; 0 for a chapter without an ensemble.
    pub members: Option<usize>,
    /// The run of each member of the ensemble.
    pub member: Length,
    /// The run of each end of a range; as a member's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Length>,
    /// Whether neighbours skip what cannot touch the target.
    #[serde(default)]
    pub fast: bool,
    /// Other overrides (`KEY=VALUE`) of members: fewer cases, for one.
    #[serde(default)]
    pub member_set: Vec<String>,
    /// Whether a table of sensitivities is made.
    #[serde(default)]
    pub sensitivity: bool,
    /// A figure that is listed for all cases, whether it is published of them or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed: Option<String>,
    /// Likely reasons of misses, by `CASE METRIC` or by the text of an expectation.
    #[serde(default)]
    pub reasons: BTreeMap<String, String>,
    /// Text that stands under the title.
    #[serde(default)]
    pub about: String,
}

impl Part {
    /// The title of its chapter.
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// The run of each end of a range.
    pub fn end(&self) -> &Length {
        self.end.as_ref().unwrap_or(&self.member)
    }
}

/// How long an experiment runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Length {
    /// Simulated time of a case and repeat, as `--duration` takes it; the experiment's own where absent.
    pub duration: Option<String>,
    /// Repeats; the experiment's own where absent.
    pub repeats: Option<u32>,
}

/// The noun behind a number of repeats.
pub fn repeats_of(repeats: f64) -> &'static str {
    if repeats == 1.0 { "repeat of" } else { "repeats of" }
}

impl std::fmt::Display for Length {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = repeats_of(self.repeats.unwrap_or_default().into());
        match (self.repeats, &self.duration) {
            (Some(repeats), Some(duration)) => write!(f, "{repeats} {of} {duration}"),
            (Some(repeats), None) => write!(f, "{repeats} {of} the experiment's own duration"),
            (None, Some(duration)) => write!(f, "repeats of {duration}"),
            (None, None) => f.write_str("runs of the experiment's own length"),
        }
    }
}
