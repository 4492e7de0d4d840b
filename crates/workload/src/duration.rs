//! Durations as people write them: `5s`, `10 ms`, `250us`, `57.5 ns`.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Units that are read, smaller ones first. Of two names for one unit the later one is written: `min`, although `m` is read as in
/// systemd and `timeout`, because a reader may take it for metres or milli.
const UNITS: [(&str, f64); 8] =
    [("ns", 1.0), ("µs", 1e3), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("min", 60e9), ("h", 3600e9)];

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a duration: {why}; write a number and a unit (ns, us, ms, s, min or h), such as `5s` or `250 us`"
)]
pub struct BadDuration {
    text: String,
    why: String,
}

/// Reads a duration and returns it in nanoseconds.
///
/// # Errors
/// A text without number or unit, with an unknown unit, or with a value that is negative, not finite, or over 1e18 ns.
pub fn parse_duration_ns(text: &str) -> Result<f64, BadDuration> {
    let bad = |why: &str| BadDuration { text: text.into(), why: why.into() };
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .ok_or_else(|| bad(if trimmed.is_empty() { "it is empty" } else { "the unit is missing" }))?;
    let (number, unit) = trimmed.split_at(split);
    let number: f64 = number.replace('_', "").parse().map_err(|_| bad("it does not begin with a number"))?;
    let unit = unit.trim();
    let scale = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, scale)| scale)
        .ok_or_else(|| bad(&format!("the unit `{unit}` is not known")))?;
    let ns = number * scale;
    if ns.is_finite() && ns <= 1e18 { Ok(ns) } else { Err(bad("it is out of range")) }
}

/// Nanoseconds in the unit that reads best: three significant digits and a unit.
pub fn format_ns(ns: f64) -> String {
    // What would be rounded to 1000 of a unit is one of the next.
    let (scale, unit) = match ns.abs() {
        a if a >= 999.5e6 => (1e9, "s"),
        a if a >= 999.5e3 => (1e6, "ms"),
        a if a >= 999.5 => (1e3, "us"),
        _ => (1.0, "ns"),
    };
    let value = ns / scale;
    let digits = match value.abs() {
        a if a >= 100.0 => 0,
        a if a >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// A duration in a file: written with its unit, held in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Nanoseconds(pub f64);

impl Nanoseconds {
    /// The duration in seconds.
    pub fn seconds(self) -> f64 {
        self.0 / 1e9
    }
}

impl FromStr for Nanoseconds {
    type Err = BadDuration;
    fn from_str(text: &str) -> Result<Self, BadDuration> {
        parse_duration_ns(text).map(Self)
    }
}

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_ns(self.0))
    }
}

impl Serialize for Nanoseconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Not `format_ns`: what is written must read back as the same number, which a division may prevent.
        let units = UNITS.iter().rev().filter(|(_, scale)| self.0 >= *scale);
        let texts = units.map(|(unit, scale)| format!("{} {unit}", self.0 / scale));
        let exact = texts.into_iter().find(|text| text.parse() == Ok(*self));
        serializer.serialize_str(&exact.unwrap_or_else(|| format!("{} ns", self.0)))
    }
}

impl<'de> Deserialize<'de> for Nanoseconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Nanoseconds;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration with its unit, such as \"5s\" or \"250 us\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Nanoseconds, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Nanoseconds {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*(ns|us|µs|ms|s|m|min|h)\s*$",
            "description": "A duration: a number and a unit (ns, us, ms, s, min or h), such as \"5s\" or \"250 us\"."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_what_they_say() {
        for (text, ns) in [
            ("5s", 5e9),
            ("10 ms", 1e7),
            ("250us", 2.5e5),
            ("57.5ns", 57.5),
            ("2 min", 1.2e11),
            ("10m", 6e11),
            ("1h", 3.6e12),
        ] {
            assert_eq!(parse_duration_ns(text).unwrap(), ns, "{text}");
        }
    }

    #[test]
    fn written_units_are_those_of_the_messages() {
        for (text, written) in [("10m", "10 min"), ("250µs", "250 us"), ("90 min", "1.5 h"), ("57.5ns", "57.5 ns")] {
            let duration: Nanoseconds = text.parse().unwrap();
            assert_eq!(toml::Value::try_from(duration).unwrap().as_str(), Some(written), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_duration_is_refused_with_the_reason() {
        for (text, why) in [
            ("5", "unit is missing"),
            ("", "empty"),
            ("5 parsecs", "parsecs"),
            ("-5s", "number"),
            ("1e30s", "unit"),
            ("9999999999999h", "range"),
        ] {
            let error = parse_duration_ns(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn printing_keeps_three_digits() {
        for (ns, text) in [
            (57.5, "57.5 ns"),
            (10780.0, "10.8 us"),
            (1e9, "1 s"),
            (0.37, "0.37 ns"),
            (100.0, "100 ns"),
            (1234567.0, "1.23 ms"),
            // A step of a microsecond by a clock whose frequency was measured.
            (999.998, "1 us"),
            (999.4, "999 ns"),
            (999.6e3, "1 ms"),
            (-999.7e6, "-1 s"),
        ] {
            assert_eq!(format_ns(ns), text);
        }
    }
}
