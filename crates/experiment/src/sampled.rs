//! Whole programs that are simulated in windows.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use waykeeper_workload::{Nanoseconds, format_ns};

/// How the passes of a whole program are measured in windows, in the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Windows of a pass, spread regularly over it.
    #[serde(default = "windows")]
    #[schemars(range(min = 1))]
    pub windows: u64,
    /// Accesses in each window, as the simulator is shown them.
    #[serde(default = "accesses")]
    #[schemars(range(min = 1))]
    pub accesses: u64,
    /// Simulated time in full detail before each window, in which neighbours take back what they hold of shared caches.
    #[serde(default = "warm_up")]
    pub warm_up: Nanoseconds,
}

fn windows() -> u64 {
    8
}
fn accesses() -> u64 {
    20_000
}
/// Neighbours that bring in 15 GB/s fill 12 MiB three times in 2.5 ms: where chance decides what makes room, a twentieth
/// is left of what was there before. A cache that prefers lines that hit keeps them longer: after four times as long a whole
/// pass and its windows agreed on the CD8180.
fn warm_up() -> Nanoseconds {
    Nanoseconds(10e6)
}

impl Default for Sampling {
    fn default() -> Self {
        Self { windows: windows(), accesses: accesses(), warm_up: warm_up() }
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} windows of {} accesses", self.windows, self.accesses)?;
        match self.warm_up.0 {
            0.0 => Ok(()),
            ns => write!(f, ", each after {} of warm-up", format_ns(ns)),
        }
    }
}

impl Sampling {
    /// The key that has a value out of bounds, and what is wrong with it.
    pub(crate) fn mistake(&self) -> Option<(&'static str, String)> {
        /// More than any pass has room for.
        const MOST: u64 = 1 << 40;
        for (key, count) in [("windows", self.windows), ("accesses", self.accesses)] {
            if !(1..=MOST).contains(&count) {
                let all = "`sampled = false` simulates all of a pass";
                return Some((key, format!("found {count}; expected 1 or more; {all}")));
            }
        }
        let bounds = 0.0..=1e9;
        (!bounds.contains(&self.warm_up.0))
            .then(|| ("warm_up", format!("found {}; expected 0 ns to 1 s, such as `10 ms`", self.warm_up)))
    }

    /// What is wrong for a pass of so many accesses.
    pub(crate) fn does_not_fit(&self, pass: u64) -> Option<String> {
        let Self { windows, accesses, .. } = *self;
        let most = pass / windows.max(1);
        (accesses > most).then(|| match most {
            0 => format!("found {windows} windows; a pass has {pass} accesses, one for each of that many at most"),
            _ => format!(
                "found {windows} windows of {accesses} accesses; a pass has {pass}, so that {windows} of {most}, or {} of \
                 {accesses}, would do",
                pass / accesses
            ),
        })
    }
}

/// What a target says of its passes: [`Sampling`], or `false`, which is the same as nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sampled(pub Option<Sampling>);

impl Sampled {
    pub(crate) fn is_off(&self) -> bool {
        self.0.is_none()
    }
}

impl Serialize for Sampled {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(sampling) => sampling.serialize(serializer),
            None => serializer.serialize_bool(false),
        }
    }
}

impl<'de> Deserialize<'de> for Sampled {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Sampled;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`false`, or a table such as `{ windows = 8, accesses = 20000, warm_up = \"10 ms\" }`")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Sampled, E> {
                if on { Err(E::invalid_value(de::Unexpected::Bool(true), &self)) } else { Ok(Sampled(None)) }
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Sampled, A::Error> {
                Sampling::deserialize(MapAccessDeserializer::new(map)).map(|sampling| Sampled(Some(sampling)))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Sampled {
    fn schema_name() -> Cow<'static, str> {
        "Sampled".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<Sampling>();
        json_schema!({ "anyOf": [{ "const": false }, table] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Sampled, String> {
        #[derive(Deserialize)]
        struct Holder {
            sampled: Sampled,
        }
        toml::from_str::<Holder>(text).map(|holder| holder.sampled).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_table_has_defaults_and_false_is_nothing() {
        assert_eq!(read("sampled = {}").unwrap(), Sampled(Some(Sampling::default())));
        let some = read("sampled = { windows = 3, warm_up = '1 ms' }").unwrap().0.unwrap();
        assert_eq!((some.windows, some.accesses, some.warm_up.0), (3, Sampling::default().accesses, 1e6));
        assert!(read("sampled = false").unwrap().is_off());
        for (text, told) in
            [("true", "`false`, or a table"), ("8", "`false`, or a table"), ("{ window = 8 }", "window")]
        {
            let error = read(&format!("sampled = {text}")).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn what_would_fit_is_told() {
        let sampling = Sampling { windows: 10, accesses: 101, ..Sampling::default() };
        let told = sampling.does_not_fit(1000).unwrap();
        assert!(told.contains("10 of 100, or 9 of 101"), "{told}");
        assert_eq!(Sampling { accesses: 100, ..sampling }.does_not_fit(1000), None);
        assert!(Sampling { windows: 2000, ..sampling }.does_not_fit(1000).unwrap().contains("at most"));
    }
}
