//! What counts as an excursion.

use std::fmt;

use schemars::JsonSchema;
use serde::de;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_workload::Nanoseconds;

/// What counts as an excursion, and which excursions are one event.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Excursions {
    /// A sample this far over the minimum of the unmitigated solo case is an excursion. Where it is `pilot`, or absent, a
    /// short pilot run of that case decides: its median plus three times the distance from there to its 99th percentile.
    #[serde(default, deserialize_with = "over_min")]
    #[schemars(with = "Option<OverMin>")]
    pub over_min: Option<Nanoseconds>,
    /// Excursions within this time of the first one are one event.
    #[serde(default = "gap")]
    pub gap: Nanoseconds,
}

impl Default for Excursions {
    fn default() -> Self {
        Self { over_min: None, gap: gap() }
    }
}

fn gap() -> Nanoseconds {
    Nanoseconds(1e5)
}

/// That a pilot decides, as `excursions.over_min` says it.
pub const PILOT: &str = "pilot";

/// The forms of `excursions.over_min`, for the schema.
#[derive(JsonSchema)]
#[schemars(untagged, rename_all = "snake_case")]
#[allow(dead_code, reason = "a schema is made of the type alone")]
enum OverMin {
    Distance(Nanoseconds),
    Decided(Decided),
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[allow(dead_code, reason = "a schema is made of the type alone")]
enum Decided {
    Pilot,
}

fn over_min<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Nanoseconds>, D::Error> {
    struct Visitor;
    impl de::Visitor<'_> for Visitor {
        type Value = Option<Nanoseconds>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a duration with its unit, such as \"5s\" or \"250 us\", or `{PILOT}`")
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Option<Nanoseconds>, E> {
            if text == PILOT { Ok(None) } else { text.parse().map(Some).map_err(E::custom) }
        }
    }
    deserializer.deserialize_any(Visitor)
}
