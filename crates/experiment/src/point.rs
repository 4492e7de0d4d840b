//! Where a case stands in the sweeps of its experiment.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use toml::Value;

/// The name of one point of a sweep: a text, or a number written as one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PointLabel(pub String);

impl PointLabel {
    /// The label that a value has by itself: a text or a number as it is, a list with spaces between. `None` for a
    /// table.
    pub fn of(value: &Value) -> Option<Self> {
        Some(Self(match value {
            Value::String(text) => text.clone(),
            Value::Integer(n) => n.to_string(),
            Value::Float(x) => x.to_string(),
            Value::Boolean(b) => b.to_string(),
            Value::Datetime(_) | Value::Table(_) => return None,
            Value::Array(list) => {
                let parts: Option<Vec<String>> = list.iter().map(|v| Some(Self::of(v)?.0)).collect();
                parts?.join(" ")
            }
        }))
    }

    /// Whether it can stand in the name of a case.
    pub fn is_legal(&self) -> bool {
        let fits = (1..=40).contains(&self.0.chars().count()) && self.0.trim() == self.0;
        fits && !self.0.contains(|c: char| c.is_control() || "[],".contains(c))
    }
}

impl AsRef<str> for PointLabel {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Serialize for PointLabel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PointLabel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = PointLabel;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a point: a text or a number")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PointLabel, E> {
                Ok(PointLabel(text.into()))
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<PointLabel, E> {
                Ok(PointLabel(n.to_string()))
            }
            fn visit_f64<E: de::Error>(self, x: f64) -> Result<PointLabel, E> {
                Ok(PointLabel(x.to_string()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for PointLabel {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Label".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"], "description": "The name of a point of a sweep." })
    }
}

/// The point of each sweep that a case depends on, in the order of the sweeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Point(Vec<(String, String)>);

impl Point {
    /// This point, further along another sweep.
    #[must_use]
    pub fn and(&self, sweep: &str, label: &str) -> Self {
        let mut coordinates = self.0.clone();
        coordinates.push((sweep.into(), label.into()));
        Self(coordinates)
    }

    /// This point, whatever the point of that sweep.
    #[must_use]
    pub fn without(&self, sweep: &str) -> Self {
        Self(self.0.iter().filter(|(name, _)| name != sweep).cloned().collect())
    }

    /// The point of that sweep.
    pub fn label(&self, sweep: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == sweep).map(|(_, label)| label.as_str())
    }

    /// Whether all that is said here is said there too.
    pub fn contains(&self, other: &Self) -> bool {
        other.0.iter().all(|coordinate| self.0.contains(coordinate))
    }

    /// Whether no sweep matters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The point of each sweep, by the sweep's name.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        self.0.iter().cloned().collect()
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.0.iter().map(|(sweep, label)| format!("{sweep} {label}")).collect();
        f.write_str(&parts.join(", "))
    }
}
