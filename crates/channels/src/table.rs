//! The table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_platform::explain::{read_json, said};

/// Yes, no, or not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChannelAnswer {
    /// It was seen.
    Yes,
    /// Something shows that it is not so.
    No,
    /// Nothing that could be read says so or otherwise.
    NotSeen,
}

/// The interference channels of a platform.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelTable {
    /// Version of this format.
    pub format: u32,
    /// What the table is about: `this-machine`, the recorded tree, or the platform's name.
    pub place: String,
    /// The processor, or the platform's title.
    pub called: Option<String>,
    /// Whether it is a platform file: the answers are then about the file and its model.
    pub is_platform_file: bool,
    /// The policy that the column `reduced` is about.
    pub policy: PolicyStanding,
    /// The runs that the column `exercised` is about.
    pub runs: Vec<ChannelRun>,
    /// One row a channel, in a fixed order.
    pub channels: Vec<ChannelRow>,
    /// What the policy leaves open, as its plan says it.
    pub left_open: Vec<String>,
    /// What a reader must know of this place.
    pub notes: Vec<String>,
    /// What whoever uses the table takes on.
    pub assumptions: Vec<String>,
    /// What is known to be missing or misleading in it.
    pub anomalies: Vec<String>,
}

/// One channel.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelRow {
    /// Its id, which does not change between releases.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How it delays a core.
    pub how: String,
    /// Whether it is there.
    pub present: Presence,
    /// Whether the policy reduces it.
    pub reduced: Reduction,
    /// Which neighbour of the runs exercised it, and what that did to the target.
    pub exercised: Exercised,
    /// What the doctor's checks say of it (machines only).
    pub checks: Vec<CheckOutcome>,
    /// The program that exercises it, where no workload of Waykeeper does.
    pub external: Option<String>,
    /// What is not covered.
    pub not_covered: Vec<String>,
}

/// Whether a channel is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Presence {
    /// The answer.
    pub answer: ChannelAnswer,
    /// How that is known, or where it was looked for.
    pub known_by: Vec<HowKnown>,
}

/// A place, and what stands there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HowKnown {
    /// A file, a CPUID leaf, a register, or a key of a platform file.
    pub by: String,
    /// What it says.
    pub says: String,
}

impl HowKnown {
    /// A place, and what stands there.
    pub fn new(by: impl Into<String>, says: impl Into<String>) -> Self {
        Self { by: by.into(), says: says.into() }
    }
}

impl Presence {
    pub(crate) fn yes(by: impl Into<String>, says: impl Into<String>) -> Self {
        Self { answer: ChannelAnswer::Yes, known_by: vec![HowKnown::new(by, says)] }
    }

    pub(crate) fn no(by: impl Into<String>, says: impl Into<String>) -> Self {
        Self { answer: ChannelAnswer::No, known_by: vec![HowKnown::new(by, says)] }
    }

    pub(crate) fn not_seen(by: impl Into<String>, says: impl Into<String>) -> Self {
        Self { answer: ChannelAnswer::NotSeen, known_by: vec![HowKnown::new(by, says)] }
    }

    /// Yes where something shows it, else `otherwise`.
    pub(crate) fn shown(known_by: Vec<HowKnown>, otherwise: impl FnOnce() -> Self) -> Self {
        if known_by.is_empty() { otherwise() } else { Self { answer: ChannelAnswer::Yes, known_by } }
    }
}

/// Whether the policy reduces a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reduction {
    /// The answer.
    pub answer: ChannelAnswer,
    /// The settings that do; none of them closes a channel.
    pub settings: Vec<ReducingSetting>,
    /// Why the answer is not yes.
    pub why: String,
}

/// A setting that reduces a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReducingSetting {
    /// The write, or what is configured.
    pub write: String,
    /// What it does, where the plan says so.
    pub about: String,
}

/// A run that a table is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelRun {
    /// Where it is, as it was named.
    pub run: String,
    /// Its experiment.
    pub experiment: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// Repeats as asked.
    pub repeats: u32,
    /// Length of a case and repeat as asked, seconds.
    pub duration_s: f64,
    /// Whether it was simulated.
    pub is_simulated: bool,
    /// Whether it was interrupted.
    pub cut_short: bool,
}

/// Which neighbours exercised a channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exercised {
    /// Whether an effect or a counter shows it.
    pub answer: ChannelAnswer,
    /// The cases of the runs whose neighbours can exercise it.
    pub by: Vec<ChannelExercise>,
    /// Bundled workloads that can exercise it here.
    pub can: Vec<String>,
    /// Why the answer is not yes.
    pub why: String,
}

impl Exercised {
    pub(crate) fn unknown() -> Self {
        let why = "this version does not look for it".into();
        Self { answer: ChannelAnswer::NotSeen, by: Vec::new(), can: Vec::new(), why }
    }
}

/// A case of a run whose neighbours can exercise a channel.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelExercise {
    /// The run.
    pub run: String,
    /// The case.
    pub case: String,
    /// The target and its core.
    pub target: String,
    /// Each neighbour and its cores.
    pub neighbours: Vec<String>,
    /// `none`, or the mitigations joined by `+`.
    pub mitigation: String,
    /// The other channels that the same neighbours exercise: the run cannot tell them apart.
    pub also: Vec<String>,
    /// Whether the run shows that the neighbours moved the target or the sentinel.
    pub effective: Option<bool>,
    /// Bytes a second of the lines that all neighbours touched.
    pub bytes_per_s: Option<f64>,
    /// Counters and other events that witness the channel.
    pub counters: Vec<CounterShift>,
    /// Mean over the mean of the case alone, as the run has it.
    pub slowdown: Option<f64>,
    /// The interval of the mean of the repeats' slowdowns, at 95 % (Student's t).
    pub interval: Option<[f64; 2]>,
    /// Why there is no interval.
    pub no_interval: Option<String>,
    /// Pairs of repeats that the interval rests on.
    pub repeats: usize,
}

impl ChannelExercise {
    /// Whether an effect or a counter shows that the neighbours exercised the channel.
    pub(crate) fn shows(&self) -> bool {
        self.effective == Some(true) || self.counters.iter().any(|counter| counter.rose)
    }
}

/// A counter of the target's core or of the platform, a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterShift {
    /// Its name in the run.
    pub name: String,
    /// With the target alone.
    pub alone_per_s: f64,
    /// Beside the neighbours.
    pub beside_per_s: f64,
    /// Whether it is higher in each repeat beside them than in any alone, of three or more each.
    pub rose: bool,
}

/// The policy that a table is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "standing")]
pub enum PolicyStanding {
    /// A plan for the place; nothing is written.
    Planned {
        /// The policy.
        policy: String,
        /// The form of its writes.
        form: String,
    },
    /// It is applied, and all of it reads as it was written.
    Applied {
        /// The policy.
        policy: String,
        /// When it was applied, RFC 3339.
        since: String,
    },
    /// The journal has one, and it is not known to hold.
    Uncertain {
        /// The policy.
        policy: String,
        /// Why it is not known.
        why: String,
    },
    /// None is applied, or none was named.
    None {
        /// How that is known.
        why: String,
    },
    /// Whether one is applied cannot be seen.
    NotSeen {
        /// Why.
        why: String,
    },
}

/// How a check of the doctor ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckOutcome {
    /// The check.
    pub id: String,
    /// `found`, `fine` or `not_seen`.
    pub outcome: waykeeper_doctor::Outcome,
    /// What was found, or why it cannot be seen.
    pub what: String,
}

/// Version of the format.
pub(crate) const FORMAT: u32 = 1;

impl ChannelTable {
    /// Reads a table as `waykeeper channels --json` printed it.
    ///
    /// # Errors
    /// What is no such table, or is of a newer version.
    pub fn from_json(json: &[u8]) -> Result<Self, String> {
        let expected = "expected what `waykeeper channels --json` prints";
        let value: serde_json::Value =
            serde_json::from_slice(json).map_err(|error| format!("this is not JSON ({error}); {expected}"))?;
        let format = value.get("format").and_then(serde_json::Value::as_u64);
        let format = format.ok_or_else(|| format!("there is no `format` in it; {expected}"))?;
        if format > u64::from(FORMAT) {
            return Err(format!("found format {format}, written by a newer Waykeeper; this one reads up to {FORMAT}"));
        }
        read_json(&value).map_err(|mistake| format!("this is no table of channels ({}); {expected}", said(mistake)))
    }
}

/// The JSON Schema of a [`ChannelTable`].
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(ChannelTable)
}
