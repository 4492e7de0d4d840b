//! An experiment as a file describes it.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{self, value::StrDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;
use toml::Table;
use waykeeper_platform::Settings;
use waykeeper_workload::{Nanoseconds, Workload};

use crate::cores::{NeighbourCores, TargetCore};
use crate::excursions::Excursions;
use crate::expectation::Expectation;
use crate::layout::TableLayout;
use crate::published::{Published, ReferenceFigures};
use crate::sampled::Sampled;
use crate::sweep::Sweep;

/// An experiment: targets, neighbours and mitigations on a platform. Every combination of them is a case.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// One line for `waykeeper list`.
    pub title: String,
    /// What results call it: by default the name of its file without the ending. A run writes it into its copy of the
    /// experiment, whose file has another name.
    pub name: Option<String>,
    /// `host` for the machine it runs on, the name of a bundled platform, or the path of a platform file.
    #[serde(default = "host")]
    pub platform: String,
    /// Length of each case and repeat: wall time on the host, simulated time in the simulator.
    #[serde(default = "two_seconds")]
    pub duration: Nanoseconds,
    /// Length in the simulator, where it differs from `duration`.
    pub simulated_duration: Option<Nanoseconds>,
    /// In the simulator a repeat ends with so many samples, if they come before its duration: for targets whose samples
    /// are long, such as whole programs, and for publications that count samples.
    #[schemars(range(min = 1))]
    pub simulated_samples: Option<u64>,
    /// How caches fill in the simulator before the first sample.
    #[serde(default, skip_serializing_if = "WarmUp::is_timed")]
    pub warm_up: WarmUp,
    /// How often each case is run, each time with fresh memory; verdicts need 5 or more.
    #[serde(default = "five", deserialize_with = "repeats")]
    #[schemars(range(min = 1, max = 1000))]
    pub repeats: u32,
    /// Decides placement and phases in the simulator, and the order of random accesses everywhere.
    #[serde(default = "one")]
    pub seed: u64,
    /// The workloads whose latency counts; each is measured in cases of its own.
    pub targets: Vec<Target>,
    /// The workloads that interfere. All of one `group` run at the same time; each group makes cases of its own.
    #[serde(default)]
    pub neighbours: Vec<Neighbour>,
    /// Mitigations under test, by name; `a+b` is both together. No mitigation (`none`) is always measured too.
    #[serde(default)]
    pub mitigations: OneOrMany<String>,
    /// Whether the listed mitigations are measured alone, also all together, or in every combination.
    #[serde(default)]
    pub combine: Combine,
    /// What counts as an excursion.
    #[serde(default)]
    pub excursions: Excursions,
    /// Of a repeat that is longer than this, the longest sample of each such interval is kept with its time: the timeline of
    /// a long run.
    #[serde(default = "five_minutes", skip_serializing_if = "is_five_minutes")]
    pub peak_interval: Nanoseconds,
    /// The least share of its work per time that a neighbour must do, in each repeat, of what it did in the arm that it is
    /// compared with. Where it did less, the mitigation gets no verdict.
    #[serde(default = "nine_tenths", deserialize_with = "share", skip_serializing_if = "is_nine_tenths")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub least_neighbour_work: f64,
    /// Whether each target is also measured without neighbours: slowdowns, costs and verdicts need that. Without neighbours in
    /// the experiment it is, whatever is said here.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub solo: bool,
    /// Whether all targets are measured at the same time, each on its core, with a case for each. They wait for a time, as
    /// `kind = "wakeup"` and cyclictest do; simulated platforms refuse it.
    #[serde(default, skip_serializing_if = "is_no")]
    pub simultaneous: bool,
    /// What times the samples of loops on a machine. In the simulator every sample is exact.
    #[serde(default, skip_serializing_if = "SampleClock::is_counter")]
    pub clock: SampleClock,
    /// Whether a chase over the last-level cache is measured beside the target, as a second witness of the neighbours.
    #[serde(default = "yes")]
    pub sentinel: bool,
    /// Budgets that the run is judged by, such as `max<=10us` or `nl3a+cp: p99.9<=2us`.
    #[serde(default)]
    pub budgets: OneOrMany<String>,
    /// Workloads of this experiment's own; a name that is bundled too is replaced.
    #[serde(default)]
    pub workloads: BTreeMap<String, Workload>,
    /// Mitigations of this experiment's own, for a simulated platform: settings of its controls by name. A name that the
    /// platform has too is replaced.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub assignments: BTreeMap<String, OwnMitigation>,
    /// Where files are that this experiment names by relative paths: the path of each. A run writes it into its copy of
    /// the experiment, which stands in another folder.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Settings that vary over lists: every point of their grid makes cases of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweep: Vec<Sweep>,
    /// What the tables show.
    pub table: Option<TableLayout>,
    /// The set-up that the reference figures belong to.
    pub published: Option<Published>,
    /// Published figures, one entry a case.
    #[serde(default)]
    pub references: Vec<ReferenceFigures>,
    /// What must show, where only directions or bounds are published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expectation>,
}

fn host() -> String {
    "host".into()
}
fn two_seconds() -> Nanoseconds {
    Nanoseconds(2e9)
}
fn five() -> u32 {
    5
}
fn repeats<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let found = i64::deserialize(deserializer)?;
    let legal = u32::try_from(found).ok().filter(|repeats| (1..=1000).contains(repeats));
    legal.ok_or_else(|| de::Error::custom(format!("found {found}; expected 1 to 1000")))
}
fn nine_tenths() -> f64 {
    0.9
}
fn is_nine_tenths(share: &f64) -> bool {
    *share == nine_tenths()
}
fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let found = f64::deserialize(deserializer)?;
    let is_share = (0.0..=1.0).contains(&found);
    is_share.then_some(found).ok_or_else(|| de::Error::custom(format!("found {found:?}; expected a share from 0 to 1")))
}
fn one() -> u64 {
    1
}
fn is_no(value: &bool) -> bool {
    !value
}
fn yes() -> bool {
    true
}

/// One workload whose latency counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name of a workload: one of this file's, or a bundled one.
    pub workload: String,
    /// Keys of the workload that have other values here, such as `size`.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub with: Table,
    /// Its core.
    #[serde(default)]
    pub core: TargetCore,
    /// What counts: the time of each sample, or how much is done in all.
    #[serde(default, skip_serializing_if = "Measure::is_latency")]
    pub measure: Measure,
    /// In the simulator, each pass of a whole program is measured in windows, and its time is an estimate; all of it is
    /// simulated where this is absent, or `false`. On the host programs run in full.
    #[serde(default, skip_serializing_if = "Sampled::is_off")]
    pub sampled: Sampled,
}

/// What of a target counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The time of each sample.
    #[default]
    Latency,
    /// Bytes a second. The simulator then runs the target as it runs neighbours: without reading the counter, which would
    /// wait for everything in flight. On the host it is worked out from the samples.
    Throughput,
}

impl Measure {
    fn is_latency(&self) -> bool {
        *self == Self::Latency
    }
}

/// What times the samples of loops on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SampleClock {
    /// The counter of the processor: TSC, CNTVCT.
    #[default]
    Counter,
    /// AArch64's cycle counter, between the ticks of CNTVCT; the kernel must let programs read it.
    Pmccntr,
}

impl SampleClock {
    fn is_counter(&self) -> bool {
        *self == Self::Counter
    }
}

/// A mitigation of an experiment's own.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[serde(rename = "Assignment")]
pub struct OwnMitigation {
    /// One line: what it does.
    pub title: Option<String>,
    /// The settings, by control, as in a platform file.
    #[serde(default)]
    pub set: Settings,
}

/// Workloads that interfere.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    /// Name of a workload: one of this file's, or a bundled one.
    pub workload: String,
    /// Keys of the workload that have other values here, such as `size`.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub with: Table,
    /// The cores that run it, one instance on each.
    #[serde(default)]
    pub cores: NeighbourCores,
    /// Neighbours of one group run at the same time.
    pub group: Option<String>,
    /// Whose buffer it accesses.
    #[serde(default, skip_serializing_if = "NeighbourBuffer::is_own")]
    pub buffer: NeighbourBuffer,
}

/// Whose buffer a neighbour accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeighbourBuffer {
    /// One of its own.
    #[default]
    Own,
    /// The target's, from its beginning: both access the same lines. On simulated platforms.
    Target,
}

impl NeighbourBuffer {
    /// Whether it is one of its own.
    pub fn is_own(&self) -> bool {
        *self == Self::Own
    }
}

/// One value, or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// A list.
    Many(Vec<T>),
    /// One.
    One(T),
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOrMany<T>, E> {
                T::deserialize(StrDeserializer::new(text)).map(OneOrMany::One)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany<T>, A::Error> {
                let mut many = Vec::new();
                while let Some(value) = list.next_element()? {
                    many.push(value);
                }
                Ok(OneOrMany::Many(many))
            }
        }
        deserializer.deserialize_any(Visitor(PhantomData))
    }
}

impl<T> OneOrMany<T> {
    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// The values as a slice.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::Many(list) => list,
            Self::One(one) => std::slice::from_ref(one),
        }
    }
}

/// How caches fill in the simulator before the first sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarmUp {
    /// All in time.
    #[default]
    Timed,
    /// For the most part without time, where the programs allow it: short stretches in time show how fast each program goes.
    /// Programs meet in other phases afterwards, so compare both kinds for an experiment before its figures are used.
    Functional,
}

impl WarmUp {
    fn is_timed(&self) -> bool {
        *self == Self::Timed
    }
}

/// How mitigations are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// Each entry of the list by itself.
    #[default]
    Alone,
    /// Each by itself, and all of them together.
    Together,
    /// Every combination of the listed ones.
    Cross,
}

fn is_yes(yes: &bool) -> bool {
    *yes
}

fn five_minutes() -> Nanoseconds {
    Nanoseconds(300e9)
}

fn is_five_minutes(interval: &Nanoseconds) -> bool {
    *interval == five_minutes()
}
